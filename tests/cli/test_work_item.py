"""`whisk work-item …` as processes, against a real server over real actors of work."""

from __future__ import annotations

import pytest

from tests.cli.conftest import HERE, Whisk
from whisk.actors.future import get
from whisk.work.item import CreateWorkItem, WorkItem


@pytest.fixture
def item(whisk: Whisk) -> WorkItem:
    return whisk.desk.item()


def test_an_item_is_shown_with_its_history(whisk: Whisk, item: WorkItem) -> None:
    whisk("work-item", "update", item.id, "-title", "Mend it", "-body", "- why\n- how")
    whisk("work-item", "attach-file", item.id, "docs/plan.md")
    lines = whisk("work-item", "show", item.id).stdout.splitlines()
    assert lines[0] == f"{item.id}  #1 Mend it"
    assert "stage     backlog  (plan-execute-review@1)" in lines
    assert "attached  file docs/plan.md" in lines
    assert lines[lines.index("- why") :][:2] == ["- why", "- how"]
    assert [line.split()[1:3] for line in lines[-2:]] == [["updated", "ann"], ["attachment_added", "ann"]]
    assert whisk.json("work-item", "show", item.id)["title"] == "Mend it"


def test_a_list_is_narrowed_and_read_in_parts(whisk: Whisk, item: WorkItem) -> None:
    request = CreateWorkItem(project_id=item.project_id, title="Then this", stage_id="ready")
    other = get(whisk.desk.work.project(item.project_id).create_item.remote(request))
    assert [each["id"] for each in whisk.json("work-item", "list", "-stage", "ready")] == [other.id]
    assert [each["id"] for each in whisk.json("work-item", "list", "-limit", "1")] == [item.id]
    assert [each["id"] for each in whisk.json("work-item", "list", "-after", item.id)] == [other.id]


def test_only_what_is_given_is_updated(whisk: Whisk, item: WorkItem) -> None:
    done = whisk("work-item", "update", item.id, "-body", "-", stdin="notes\n")
    assert done.stdout == f"{item.id}\t#1\tbacklog\n"
    assert whisk.json("work-item", "show", item.id)["title"] == "Fix it"
    assert whisk.json("work-item", "update", item.id, "-body", "")["bodyMarkdown"] == ""
    refused = whisk("work-item", "update", item.id)
    assert (refused.returncode, "-title, -body or both" in refused.stderr) == (2, True)


def test_a_worktree_is_bound_and_listed(whisk: Whisk, item: WorkItem) -> None:
    done = whisk("work-item", "bind-worktree", item.id, "-branch", "fix", "-path", "tests", "-base", "main")
    assert done.stdout == f"{item.id}\t#1\tbacklog\n"
    _, row = whisk("work-item", "list").stdout.splitlines()
    assert row.split()[-1] == str(HERE / "tests")
    again = whisk("work-item", "bind-worktree", item.id, "-branch", "other", "-path", "/src")
    assert (again.returncode, "already has the worktree" in again.stderr) == (1, True)
    assert whisk("work-item", "bind-worktree", item.id, "-branch", "fix").returncode == 2


def test_a_file_from_anywhere_is_attached_with_its_whole_path(whisk: Whisk, item: WorkItem) -> None:
    made = whisk.json("work-item", "attach-file", item.id, "tests/conftest.py", "-scope", "external", "-title", "Setup")
    [attachment] = made["attachments"]
    assert (attachment["path"], attachment["title"]) == (str(HERE / "tests/conftest.py"), "Setup")
    assert whisk("work-item", "attach-file", item.id, "../x").returncode == 1


def test_an_item_is_deleted_by_who_means_it(whisk: Whisk, item: WorkItem) -> None:
    refused = whisk("work-item", "delete", item.id)
    assert (refused.returncode, "requires -yes" in refused.stderr) == (2, True)
    assert whisk("work-item", "delete", item.id, "-yes").stdout == f"{item.id}\t#1\tbacklog\n"
    assert whisk("work-item", "show", item.id).returncode == 1


def test_items_are_linked_and_what_is_ready_is_told(whisk: Whisk, item: WorkItem) -> None:
    project = whisk.desk.work.project(item.project_id)
    request = CreateWorkItem(project_id=item.project_id, title="Then this")
    other = get(project.create_item.remote(request))
    link, *rest = whisk("work-item", "link", item.id, other.id).stdout.strip().split("\t")
    assert rest == [item.id, "blocks", other.id]
    header, row = whisk("work-item", "links", other.id).stdout.splitlines()
    assert (header.split(), row.split()) == (["ID", "SOURCE", "TYPE", "TARGET"], [link, item.id, "blocks", other.id])
    circle = whisk("work-item", "link", other.id, item.id)
    assert (circle.returncode, "circle" in circle.stderr) == (1, True)
    told = whisk("work-item", "ready", "-project", item.project_id)
    head, ready, blank, blocked_head, blocked = told.stdout.splitlines()
    assert head.split() == ["ID", "NO", "TITLE", "STAGE", "WAITING_FOR_IT"]
    assert ready.split() == [item.id, "#1", "Fix", "it", "backlog", "1"]
    assert (blank, blocked_head.split()[-1]) == ("", "WAITS_FOR")
    assert blocked.split() == [other.id, "#2", "Then", "this", "backlog", "#1", "Fix", "it"]
    assert told.stderr == "1 ready, 1 blocked\n"
    assert whisk.json("work-item", "ready", "-limit", "1")["summary"]["totalReady"] == 1
    assert whisk("work-item", "unlink", link).returncode == 0
    assert whisk.json("work-item", "ready")["summary"] == {"totalReady": 2, "totalBlocked": 0, "cycleCount": 0}
