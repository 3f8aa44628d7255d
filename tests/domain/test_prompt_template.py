from __future__ import annotations

import msgspec
import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.work.attachment import Attachment
from whisk.work.item import CreateWorkItem, WorktreeBinding, new_item
from whisk.work.project import CreateProject, new_project
from whisk.work.prompt_template import BUILTIN_TEMPLATES, find_template, place, render
from whisk.work.workflow import builtin_workflow

NOW = Instant(1_800_000_000_000_000_000)
PROJECT = new_project(CreateProject(root_dir="/srv/app", name="App"), project_id="proj_1", now=NOW)


def item(title: str = "Fix it", body: str = "It is broken."):  # type: ignore[no-untyped-def]
    request = CreateWorkItem(project_id="proj_1", title=title, body_markdown=body)
    return new_item(request, PROJECT.workflow, item_id="item_1", number=7, now=NOW)


@pytest.mark.parametrize("template", BUILTIN_TEMPLATES, ids=lambda template: template.id)
def test_a_built_in_prompt_names_the_work_and_leaves_no_placeholder(template) -> None:  # type: ignore[no-untyped-def]
    text = place(render(template, PROJECT, item()), PROJECT, item())
    assert "{{" not in text
    assert "\n\n\n" not in text
    for part in ("App (/srv/app)", "#7: Fix it", "It is broken.", "question ask"):
        assert part in text


def test_text_of_the_item_is_never_expanded() -> None:
    text = render(find_template("plan"), PROJECT, item(title="{{project.name}}", body="{{work_item.title}}"))
    assert "#7: {{project.name}}" in text
    assert "{{work_item.title}}" in text


def test_where_a_run_works_is_known_when_it_is_launched() -> None:
    template = find_template("implement")
    queued = render(template, PROJECT, item())
    assert "Worktree: /srv/app (branch the project's own)" in place(queued, PROJECT, item())
    binding = WorktreeBinding(branch="b", base="main", worktree_path="/srv/b", created_at=NOW)
    bound = msgspec.structs.replace(item(), worktree=binding)
    assert "Worktree: /srv/b (branch b)" in place(queued, PROJECT, bound)
    assert "Worktree: /srv/b (branch b)" in render(template, PROJECT, bound)


def test_attachments_are_listed() -> None:
    note = Attachment(id="att_1", kind="note", scope="project", created_at=NOW, note="mind the gap")
    text = render(find_template("review"), PROJECT, msgspec.structs.replace(item(), attachments=(note,)))
    assert "Attachments:\n- note: mind the gap" in text


def test_every_stage_names_a_template_that_exists() -> None:
    for stage in builtin_workflow().stages:
        if stage.default_prompt_template_id:
            find_template(stage.default_prompt_template_id)


def test_an_unknown_template_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidError) as caught:
        find_template("dance")
    assert caught.value.details["known"] == ["plan", "implement", "review"]


def test_blank_lines_of_the_item_stay_and_the_gap_of_an_empty_one_closes() -> None:
    body = "a = 1\n\n\n\nb = {{c}}"
    assert body in render(find_template("plan"), PROJECT, item(body=body))
    assert "\n\n\n" not in render(find_template("plan"), PROJECT, item(body=""))
