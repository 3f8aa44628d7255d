"""Changes of a project, as functions from record to record."""

from __future__ import annotations

from typing import Any

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, NotFoundError, TooLargeError, WhiskError
from whisk.values import decode
from whisk.work.attachment import MetadataValue
from whisk.work.project import CreateProject, Project, new_project
from whisk.work.project_change import (
    ATTACHMENTS_LIMIT,
    AttachToProject,
    UpdateAttachment,
    UpdateProject,
    attach,
    delete_attachment,
    update_attachment,
    update_project,
)
from whisk.work.project_context import CONTEXT_BYTES, read_context

NOW = Instant(1_800_000_000_000_000_000)
LATER = NOW.plus(60)
AGENTS = {"claude", "codex"}


def project() -> Project:
    return new_project(CreateProject(root_dir="/src/app", name="App", description="Old"), project_id="proj_1", now=NOW)


def change(old: Project | None = None, **fields: Any) -> Project:
    return update_project(old or project(), UpdateProject(**fields), AGENTS, LATER)


def with_attachment(old: Project | None = None, id: str = "att_1", **fields: Any) -> Project:
    return attach(old or project(), AttachToProject(**fields), attachment_id=id, now=LATER)


def test_only_what_is_given_changes() -> None:
    changed = change(name=" New ", use_interactive_agent_shell=True)
    assert (changed.name, changed.description, changed.slug) == ("New", "Old", "app")
    assert (changed.preferences.use_interactive_agent_shell, changed.preferences.complete_runs_on_stop) == (True, None)
    assert (changed.created_at, changed.updated_at) == (NOW, LATER)


def test_a_change_that_changes_nothing_is_none() -> None:
    old = project()
    assert change(old) is old
    assert change(old, name="App", description="Old", slug="app", default_phase_agents={"writer": ""}) is old


def test_a_blank_slug_is_made_anew_and_a_blank_description_goes() -> None:
    changed = change(slug="", name="Zwölf Äpfel", description="")
    assert (changed.slug, changed.description) == ("zwlf-pfel", None)
    assert change(slug="My App_v2").slug == "my-app-v2"
    assert change(slug="", name="日本").slug == "project"


def test_default_agents_are_merged_and_blank_ones_are_taken_out() -> None:
    first = change(default_phase_agents={"writer": "claude", "reader": "codex"})
    second = change(first, default_phase_agents={"reader": " ", "manager": " codex "})
    assert second.preferences.default_phase_agents == {"writer": "claude", "manager": "codex"}


@pytest.mark.parametrize(
    ("fields", "kind", "part"),
    [
        ({"name": " "}, InvalidError, "project name required"),
        ({"name": "x" * 513}, TooLargeError, "exceeds 512"),
        ({"description": "a\0"}, InvalidError, "NUL"),
        ({"description": "x" * 65_537}, TooLargeError, "exceeds"),
        ({"default_phase_agents": {"boss": "claude"}}, InvalidError, 'unknown run preset "boss"'),
        ({"default_phase_agents": {"writer": "nobody"}}, InvalidError, 'unknown agent profile "nobody"'),
    ],
)
def test_a_change_that_cannot_be_is_refused(fields: dict[str, Any], kind: type[WhiskError], part: str) -> None:
    with pytest.raises(kind, match=part):
        change(**fields)


def test_attachments_are_added_changed_and_taken_away() -> None:
    one = with_attachment(kind="note", note="Mind the gap", title="Gap", include_in_context=True)
    two = with_attachment(one, id="att_2", kind="url", url="https://example.org")
    changed = update_attachment(two, "att_1", UpdateAttachment(project_id="", note="Mind", title=""), LATER)
    (note, link) = changed.attachments
    assert (note.id, note.kind, note.note, note.title, note.include_in_context) == ("att_1", "note", "Mind", None, True)
    assert link == two.attachments[1]
    off = update_attachment(changed, "att_1", UpdateAttachment(project_id="", include_in_context=False), LATER)
    assert not off.attachments[0].include_in_context
    assert [each.id for each in delete_attachment(off, "att_1", LATER).attachments] == ["att_2"]
    assert update_attachment(off, "att_2", UpdateAttachment(project_id=""), LATER) is off


@pytest.mark.parametrize(
    ("fields", "scope", "path"),
    [
        ({"path": "docs/./plan.md"}, "project", "docs/plan.md"),
        ({"path": "/etc/hosts"}, "external", "/etc/hosts"),
        ({"path": "notes.md", "scope": "worktree"}, "worktree", "notes.md"),
    ],
)
def test_a_files_scope_says_what_its_path_is_relative_to(fields: dict[str, str], scope: str, path: str) -> None:
    (made,) = with_attachment(kind="file", **fields).attachments
    assert (made.scope, made.path) == (scope, path)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"kind": "poem"}, 'unknown attachment kind "poem"'),
        ({"kind": "file"}, "file attachment needs path"),
        ({"kind": "file", "path": "../x"}, "leads out of the project"),
        ({"kind": "file", "path": "/x", "scope": "project"}, "needs the scope external"),
        ({"kind": "url"}, "url attachment needs url"),
        ({"kind": "note"}, "note attachment needs note"),
        ({"kind": "external", "provider": "jira"}, "external attachment needs target"),
        ({"kind": "note", "note": "x", "scope": "moon"}, 'unknown attachment scope "moon"'),
    ],
)
def test_an_attachment_without_what_it_needs_is_refused(fields: dict[str, str], part: str) -> None:
    with pytest.raises(InvalidError, match=part):
        with_attachment(**fields)


def test_an_attachment_never_becomes_one_that_could_not_be_made() -> None:
    made = with_attachment(kind="note", note="x")
    with pytest.raises(InvalidError, match="needs note"):
        update_attachment(made, "att_1", UpdateAttachment(project_id="", note=""), LATER)
    for action in (lambda: update_attachment(made, "att_9", UpdateAttachment(project_id=""), LATER),):
        with pytest.raises(NotFoundError, match="attachment att_9 not found in project proj_1"):
            action()
    with pytest.raises(NotFoundError):
        delete_attachment(made, "att_9", LATER)


def test_there_is_an_end_to_attachments() -> None:
    full = project()
    for number in range(ATTACHMENTS_LIMIT):
        full = with_attachment(full, id=f"att_{number}", kind="note", note="x")
    with pytest.raises(TooLargeError, match="at most 100 attachments"):
        with_attachment(full, kind="note", note="x")


META = '{"jira/key": {"type": "string", "string": "ABC-1"}, "n/x": {"type": "number", "number": 1.5}, \
"b/x": {"type": "bool", "bool": false}, "j/x": {"type": "json", "json": {"a": [null]}}, "j/0": {"type": "json"}}'


def test_metadata_are_typed_facts_with_namespaced_keys() -> None:
    meta = decode(META, dict[str, MetadataValue])
    (made,) = with_attachment(kind="note", note="x", meta=meta).attachments
    assert made.meta == meta
    renamed = with_attachment(kind="note", note="x", meta=meta)
    replaced = update_attachment(renamed, "att_1", UpdateAttachment(project_id="", meta={}), LATER)
    assert replaced.attachments[0].meta == {}


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("key", MetadataValue(type="string", text="x"), "is not namespace/key"),
        ("a/b/c", MetadataValue(type="string", text="x"), "is not namespace/key"),
        ("a/ü", MetadataValue(type="string", text="x"), "is not namespace/key"),
        ("a/b\n", MetadataValue(type="string", text="x"), "is not namespace/key"),
        ("a/b", MetadataValue(type="string"), "needs the field string, alone"),
        ("a/b", MetadataValue(type="number", text="1"), "needs the field number, alone"),
        ("a/b", MetadataValue(type="bool", flag=True, number=1), "needs the field bool, alone"),
        ("a/b", MetadataValue(type="json", text="x"), "needs the field json, alone"),
        ("a/b", MetadataValue(type="string", text="x" * 65_537), "exceeds 65536 bytes"),
        ("a/b", MetadataValue(type="json", raw=["x" * 65_537]), "exceeds 65536 bytes"),
    ],
)
def test_metadata_that_are_not_what_they_say_are_refused(key: str, value: MetadataValue, part: str) -> None:
    with pytest.raises(WhiskError, match=part):
        with_attachment(kind="note", note="x", meta={key: value})


def test_the_context_has_notes_whole_and_the_rest_by_name() -> None:
    made = project()
    for id, fields in {
        "att_1": {"kind": "note", "note": "# Rules", "title": "Rules"},
        "att_2": {"kind": "url", "url": "https://example.org"},
        "att_3": {"kind": "file", "path": "docs/plan.md"},
        "att_4": {"kind": "file", "path": "/etc/hosts"},
        "att_5": {"kind": "external", "provider": "jira", "target": "ABC-1"},
    }.items():
        made = attach(made, AttachToProject(include_in_context=True, **fields), attachment_id=id, now=NOW)
    made = with_attachment(made, id="att_6", kind="note", note="not for agents")
    context = read_context(made)
    assert context.project_id == "proj_1"
    assert [(each.attachment_id, each.delivery) for each in context.items] == [
        ("att_1", "inline"),
        ("att_2", "reference"),
        ("att_3", "reference"),
        ("att_4", "reference"),
        ("att_5", "skipped"),
    ]
    note, link, inside, outside, external = context.items
    assert (note.content, note.content_type, note.title) == ("# Rules", "text/markdown", "Rules")
    assert (link.source_url, inside.target, outside.target) == (
        *("https://example.org", "/src/app/docs/plan.md"),
        "/etc/hosts",
    )
    assert (external.provider, external.target, external.error) == ("jira", "ABC-1", "no trusted resolver configured")


def test_notes_that_are_too_much_together_are_left_out_with_a_reason() -> None:
    made = project()
    for number in range(6):
        fields = {"kind": "note", "note": "é" * 25_000}
        made = attach(made, AttachToProject(include_in_context=True, **fields), attachment_id=f"att_{number}", now=NOW)
    made = with_attachment(made, id="att_7", kind="note", note="short", include_in_context=True)
    deliveries = [each.delivery for each in read_context(made).items]
    assert deliveries == ["inline"] * 5 + ["skipped", "inline"]
    assert sum(len((each.content or "").encode()) for each in read_context(made).items) <= CONTEXT_BYTES
    assert "use up" in (read_context(made).items[5].error or "")
