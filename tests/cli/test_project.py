"""`whisk project …` and `whisk workflow definitions …` as processes, against a real server over real actors."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Whisk


def test_a_project_is_changed_attached_to_and_deleted(whisk: Whisk, tmp_path: Path) -> None:
    project = whisk.desk.project().id
    assert whisk("project", "update", project, "-name", "New", "-agent", "writer=codex").stdout == f"{project}\n"
    changed = whisk.json("project", "update", project, "-login-shell", "yes", "-agent=writer=")
    assert (changed["name"], changed["preferences"]["useInteractiveAgentShell"]) == ("New", True)
    assert "defaultPhaseAgents" not in changed["preferences"]
    note = whisk("project", "attach", project, "-kind", "note", "-note", "Mind the gap", "-context").stdout.strip()
    file = whisk("project", "attach", project, "-path", "README.md").stdout.strip()
    assert whisk("project", "attachments", "update", project, note, "-title", "Gap").stdout == f"{note}\n"
    listed = whisk("project", "attachments", project).stdout
    assert "Gap" in listed
    assert str(Path(__file__).parents[2] / "README.md") in listed
    _header, row = whisk("project", "context", project).stdout.splitlines()
    assert row.split() == [note, "note", "inline", "Gap", "Mind", "the", "gap"]
    assert whisk("project", "detach", project, file).stdout == f"{file}\n"
    refused = whisk("project", "delete", project)
    assert (refused.returncode, "requires -yes" in refused.stderr) == (2, True)
    assert whisk("project", "delete", project, "-yes").stdout == f"{project}\n"
    assert whisk.json("project", "list") == []


def test_what_cannot_be_changed_is_a_usage_error(whisk: Whisk) -> None:
    for arguments in (["update", "p"], ["update", "p", "-agent", "x"], ["update", "p", "-login-shell", "maybe"]):
        assert whisk("project", *arguments).returncode == 2
    assert whisk("project", "set-workflow", "p", "ship@x").returncode == 2


def test_a_definition_is_checked_imported_chosen_exported_and_deleted(whisk: Whisk, tmp_path: Path) -> None:
    def definitions(*arguments: str) -> tuple[int, str]:
        done = whisk("workflow", "definitions", *arguments)
        return done.returncode, done.stdout

    project = whisk.desk.item().project_id
    code, text = definitions("show", "plan-execute-review@1")
    file = tmp_path / "ship.json"
    file.write_text(json.dumps({**json.loads(text), "id": "ship"}))
    assert definitions("validate", str(file)) == (0, "ship@1 is valid\n")
    code, text = definitions("import", str(file))
    assert text.split("\t")[:2] == ["ship@1", "file"]
    plan = whisk("project", "migration-plan", project, "ship@1").stdout.splitlines()
    assert plan[0] == "plan-execute-review@1 to ship@1: 1 of 1 work items would fit"
    assert whisk("project", "set-workflow", project, "ship").stdout == f"{project}\n"
    assert definitions("export", "ship@1", str(tmp_path / "out.json")) == (0, f"{tmp_path / 'out.json'}\n")
    assert definitions("delete", "ship@1")[0] == 2
    assert definitions("delete", "ship@1", "-yes")[0] == 1
    assert whisk("project", "set-workflow", project, "plan-execute-review@1").returncode == 0
    assert definitions("delete", "ship@1", "-yes")[0] == 0
    assert [line.split()[0] for line in definitions("list")[1].splitlines()] == ["DEFINITION", "plan-execute-review@1"]
    file.write_text('{"id": "ship"}')
    code, text = definitions("validate", str(file))
    assert (code, "stages: is missing" in text) == (1, True)
    assert definitions("show", "none@1")[0] == 1


def test_a_second_project_for_one_folder_is_warned_of_also_through_a_link(whisk: Whisk, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "link").symlink_to("app")
    first = whisk("project", "create", "-root", str(tmp_path / "app"))
    assert first.stderr == ""
    second = whisk("project", "create", "-root", str(tmp_path / "link"))
    assert second.stderr == f"warning: {first.stdout.strip()} (app) has this folder too\n"
