"""The audit trail over HTTP: listed, paged, exported; and which way a decision came in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.captured import NOW
from tests.http.conftest import Caller
from whisk.actors.future import get
from whisk.matters.audit import AuditEntry
from whisk.storage import audit

COMMAND_LINE = {"User-Agent": "whisk/0.1.0"}


def record(parts: dict[str, Any], count: int) -> None:
    def write(db: Any) -> None:
        for number in range(count):
            entry = AuditEntry(
                at=NOW.plus(number), who="ada", surface="cli", action="allow", noun="approval", id=f"appr_{number}"
            )
            audit.record(db, entry)

    get(parts["journal"].write.remote(write))


def test_the_whole_trail_is_exported_page_by_page(call: Caller, parts: dict[str, Any]) -> None:
    record(parts, 1201)
    answer = call("GET", "/v1/audit/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = answer.body.decode().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [f"appr_{number}" for number in range(1201)]
    assert len(call("GET", "/v1/audit/export?since=" + NOW.plus(1200).rfc3339()).body.splitlines()) == 1
    assert call("GET", "/v1/audit/export?who=nobody").body == b""


def test_a_list_goes_out_as_json_lines_to_who_asks_for_them(call: Caller, parts: dict[str, Any]) -> None:
    record(parts, 3)
    answer = call("GET", "/v1/audit?limit=2", headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line)["seq"] for line in answer.body.splitlines()] == [2, 3]
    assert call("GET", "/v1/audit?limit=2").json == [json.loads(line) for line in answer.body.splitlines()]


def test_a_page_goes_on_behind_the_number_of_the_last(call: Caller, parts: dict[str, Any]) -> None:
    record(parts, 5)
    first = call("GET", "/v1/audit?after=0&limit=2").json
    second = call("GET", f"/v1/audit?after={first[-1]['seq']}&limit=9").json
    assert [each["seq"] for each in first + second] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("query", ["since=yesterday", "limit=0", "limit=10001", "after=-1", "surface=phone"])
def test_a_filter_that_means_nothing_is_refused(call: Caller, query: str) -> None:
    assert call("GET", f"/v1/audit?{query}").status == 400


def test_a_gate_names_who_completed_it_and_from_where(call: Caller, parts: dict[str, Any], desk: Any) -> None:
    project = call("POST", "/v1/projects", {"name": "Site", "slug": "site", "rootDir": "/"}).json
    item = call("POST", "/v1/work-items", {"projectId": project["id"], "title": "Login"}).json
    mail = {"from": "run:x", "to": [f"work-item:{item['id']}"], "type": "decision_gate", "subject": "Ship it?"}
    assert call("POST", "/v1/mail", mail).status == 201
    (gate,) = call("GET", "/v1/gate-reports").json
    # What a body says of its own way in is not believed.
    body = {"status": "passed", "actor": "ada", "surface": "rule"}
    assert call("POST", f"/v1/gate-reports/{gate['id']}/complete", body, headers=COMMAND_LINE).status == 200
    (entry,) = call("GET", f"/v1/audit?id={gate['id']}").json
    assert (entry["who"], entry["surface"], entry["outcome"], entry["about"]) == ("ada", "cli", "passed", "Ship it?")
    assert entry["workItemId"] == item["id"]
    # Who comes second leaves nothing.
    assert call("POST", f"/v1/gate-reports/{gate['id']}/complete", body).status == 409
    assert len(call("GET", f"/v1/audit?id={gate['id']}").json) == 1


def test_clearing_keeps_the_trail_and_is_in_it(call: Caller, parts: dict[str, Any]) -> None:
    record(parts, 1)
    assert call("POST", "/v1/daemon/clear", {"actor": "ada"}).status == 200
    first, last = call("GET", "/v1/audit").json
    assert first["id"] == "appr_0"
    assert (last["who"], last["surface"], last["action"], last["noun"]) == ("ada", "http", "clear", "daemon")


def test_what_is_deleted_says_by_whom(call: Caller, parts: dict[str, Any]) -> None:
    project = call("POST", "/v1/projects", {"name": "Site", "slug": "site", "rootDir": "/"}).json
    item = call("POST", "/v1/work-items", {"projectId": project["id"], "title": "Login"}).json
    deleted = call(
        "POST", f"/v1/work-items/{item['id']}/delete", {"id": item["id"], "actor": "ada"}, headers=COMMAND_LINE
    )
    assert deleted.status == 200
    assert call("POST", f"/v1/projects/{project['id']}/delete", {"actor": "bob"}).status == 200
    trail = [(each["action"], each["noun"], each["who"], each["surface"]) for each in call("GET", "/v1/audit").json]
    assert trail == [("delete", "work-item", "ada", "cli"), ("delete", "project", "bob", "http")]


def test_who_acts_without_a_body_is_named_by_a_header(call: Caller) -> None:
    by = {"X-Whisk-Actor": "Zo%C3%AB", **COMMAND_LINE}
    assert call("POST", "/v1/agent-hook-log/clear", {}, headers=by).status == 200
    (entry,) = call("GET", "/v1/audit").json
    assert (entry["who"], entry["surface"], entry["action"], entry["noun"]) == ("Zoë", "cli", "clear", "hook-log")


@pytest.mark.parametrize(("name", "kept"), [("a%00b%0Ac", "abc"), ("x" * 300, "x" * 256), ("%FF", "\ufffd")])
def test_a_name_is_kept_as_far_as_it_can_be(call: Caller, name: str, kept: str) -> None:
    assert call("POST", "/v1/agent-hook-log/clear", {}, headers={"X-Whisk-Actor": name}).status == 200
    assert [each["who"] for each in call("GET", "/v1/audit").json] == [kept]


def test_hooks_that_are_put_in_and_taken_out_are_in_the_trail(call: Caller, tmp_path: Any) -> None:
    body = {"provider": "claude", "configDir": str(tmp_path / "claude")}
    (tmp_path / "claude").mkdir()
    assert call("POST", "/v1/agent-hook-integrations/install", body | {"dryRun": True}).status == 200
    assert call("GET", "/v1/audit").json == []
    assert call("POST", "/v1/agent-hook-integrations/install", body).status == 200
    assert call("POST", "/v1/agent-hook-integrations/remove", body).status == 200
    assert [(each["action"], each["noun"], each["id"]) for each in call("GET", "/v1/audit").json] == [
        ("install", "hook", "claude"),
        ("remove", "hook", "claude"),
    ]
