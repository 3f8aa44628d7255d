"""Workflow definitions over HTTP: checked, taken in, written out, taken away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gevent
import pytest

from whisk.values import encode
from whisk.work.definition import BUILTIN, content_hash

Call = Any
BASE = "/v1/workflow-definitions"


def definition(**changes: Any) -> dict[str, Any]:
    return {**json.loads(encode(BUILTIN)), "id": "ship", **changes}


BUILTIN_QUESTIONS = definition()["questions"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".whisk" / "workflows" / "ship.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(definition()))
    return path


def names(call: Call) -> list[str]:
    return [f"{each['id']}@{each['version']}" for each in call("GET", BASE).json]


def test_the_builtin_definition_is_listed(call: Call) -> None:
    (record,) = call("GET", BASE).json
    assert (record["id"], record["version"], record["source"]) == ("plan-execute-review", 1, "builtin")
    assert record["contentHash"] == content_hash(BUILTIN)
    assert record["definition"] == json.loads(encode(BUILTIN))
    assert record.keys() == {"id", "version", "source", "contentHash", "definition", "createdAt", "updatedAt"}


def test_a_definition_that_does_not_fit_is_a_report_and_no_error(call: Call) -> None:
    answer = call("POST", f"{BASE}/validate", {"definition": definition()})
    assert (answer.status, answer.json) == (200, {"valid": True, "identity": "ship@1"})
    for wrong in (5, None, [], "x", {}, definition(stages=["a"], version="1")):
        answer = call("POST", f"{BASE}/validate", {"definition": wrong})
        assert (answer.status, answer.json["valid"]) == (200, False), wrong
        assert all(error["message"] for error in answer.json["errors"])
    assert {"path": "version", "message": "must be a whole number, not text"} in answer.json["errors"]
    assert call("POST", f"{BASE}/validate", {}).status == 400


def test_an_import_is_done_once_and_a_second_content_is_a_conflict(call: Call, desk: Any) -> None:
    answer = call("POST", f"{BASE}/import", {"definition": definition()})
    assert (answer.status, answer.json["source"], "sourcePath" in answer.json) == (201, "imported", False)
    assert desk.changes == ["ship@1"]
    again = call("POST", f"{BASE}/import", {"definition": definition(), "source": "file", "sourcePath": "/x"})
    assert (again.status, again.json) == (201, answer.json)
    other = call("POST", f"{BASE}/import", {"definition": definition(gates=[])})
    assert other.status == 400, "it names a gate that it does not have any more"
    silent = definition(questions={**BUILTIN_QUESTIONS, "enabled": False})
    other = call("POST", f"{BASE}/import", {"definition": silent})
    assert (other.status, other.code) == (409, "conflict")
    assert names(call) == ["plan-execute-review@1", "ship@1"]
    assert desk.changes == ["ship@1"]


def test_a_refused_import_names_every_fault_and_changes_nothing(call: Call) -> None:
    faulty = definition(stages=["backlog"], extra=1)
    answer = call("POST", f"{BASE}/import", {"definition": faulty})
    assert (answer.status, answer.code) == (400, "invalid")
    paths = [error["path"] for error in answer.json["details"]["errors"]]
    assert {"extra", "stages", "actions[0].to"} <= set(paths)
    assert call("POST", f"{BASE}/import", {"definition": definition(), "source": "builtin"}).status == 400
    assert names(call) == ["plan-execute-review@1"]


def test_of_two_who_import_different_contents_at_once_one_wins(call: Call) -> None:
    contents = [definition(questions={**BUILTIN_QUESTIONS, "moveToBlocked": each}) for each in (True, False)]
    answers = [gevent.spawn(call, "POST", f"{BASE}/import", {"definition": each}) for each in contents]
    gevent.joinall(answers, timeout=10, raise_error=True)
    assert sorted(each.value.status for each in answers) == [201, 409]


def test_a_file_is_checked_imported_and_written(call: Call, file: Path, tmp_path: Path) -> None:
    assert call("POST", f"{BASE}/validate-file", {"path": str(file)}).json == {"valid": True, "identity": "ship@1"}
    answer = call("POST", f"{BASE}/import-file", {"path": str(file)})
    assert (answer.status, answer.json["source"], answer.json["sourcePath"]) == (201, "file", str(file))
    out = tmp_path / "out.json"
    wanted = {"id": "ship", "version": 1, "path": str(out)}
    assert call("POST", f"{BASE}/export-file", wanted).status == 204
    assert json.loads(out.read_text()) == definition()
    assert call("POST", f"{BASE}/import-file", {"path": str(out)}).json == answer.json
    out.write_text("mine")
    assert call("POST", f"{BASE}/export-file", wanted).status == 400
    assert out.read_text() == "mine"
    assert call("POST", f"{BASE}/export-file", {**wanted, "version": 9}).status == 404


def test_a_file_that_is_none_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    report = call("POST", f"{BASE}/validate-file", {"path": str(tmp_path / "bad.json")})
    assert (report.status, report.json["valid"]) == (200, False)
    for what in ("validate-file", "import-file"):
        for path in ("relative.json", str(tmp_path), str(tmp_path / "none.json"), "/x\0y"):
            assert call("POST", f"{BASE}/{what}", {"path": path}).status == 400
    assert call("POST", f"{BASE}/import-file", {"path": str(tmp_path / "bad.json")}).status == 400
    assert names(call) == ["plan-execute-review@1"]


def test_a_definition_is_deleted_and_the_builtin_one_is_not(call: Call, desk: Any) -> None:
    made = call("POST", f"{BASE}/import", {"definition": definition()}).json
    assert call("POST", f"{BASE}/ship/1/delete").json == made
    assert desk.changes == ["ship@1", "ship@1"]
    for version in ("1", "01", "+1", "9" * 30, "-1", "one"):
        assert call("POST", f"{BASE}/ship/{version}/delete").status == 404
    assert call("POST", f"{BASE}/plan-execute-review/1/delete").status == 400


def test_a_projects_files_say_whether_they_were_imported(call: Call, file: Path, tmp_path: Path) -> None:
    project = call("POST", "/v1/projects", {"name": "App", "rootDir": str(tmp_path)}).json["id"]
    (file.parent / "bad.json").write_text("{}")
    (file.parent / "folder.json").mkdir()

    def states() -> dict[str, str]:
        found = call("GET", f"/v1/projects/{project}/workflow-files").json
        return {Path(each["path"]).name: each["state"] for each in found}

    assert states() == {"bad.json": "invalid", "folder.json": "invalid", "ship.json": "new"}
    call("POST", f"{BASE}/import-file", {"path": str(file)})
    assert states()["ship.json"] == "imported"
    file.write_text(json.dumps(definition(questions={**BUILTIN_QUESTIONS, "enabled": False})))
    assert states()["ship.json"] == "changed"
    found = call("GET", f"/v1/projects/{project}/workflow-files").json
    assert found[2] == {"path": str(file), "state": "changed", "identity": "ship@1"}
    assert all(each["errors"] for each in found[:2])
