"""Sessions, terminals and profiles over HTTP, with real terminals behind."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from tests.session_desk import SECONDS, SessionDesk
from whisk.actors.system import ActorSystem
from whisk.http.routes import profile, pty, session

from .conftest import Answer, Caller

ROUTES = (*session.ROUTES, *pty.ROUTES, *profile.ROUTES)


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[SessionDesk]:
    desk = SessionDesk(system, tmp_path)
    yield desk
    desk.close()


@pytest.fixture
def call(desk: SessionDesk, caller: Callable[..., Caller]) -> Caller:
    return caller(ROUTES, system=desk.system, sessions=desk.book, journal=desk.journal, clock=desk.system.clock)


def shell(script: str, **more: Any) -> dict[str, Any]:
    return {"command": "/bin/sh", "args": ["-c", script], "exec": True, **more}


def made(call: Caller, desk: SessionDesk, script: str | None = None) -> dict[str, Any]:
    """A `CreatedSession`, with a terminal that runs `script`."""
    body = {"rootDir": str(desk.folder), **({"initialPty": shell(script)} if script is not None else {})}
    answer = call("POST", "/v1/sessions", body)
    assert answer.status == 201, answer.body
    return dict(answer.json)


def expect(call: Caller, pty_id: str, pattern: str, **more: Any) -> Answer:
    return call("POST", f"/v1/ptys/{pty_id}/expect", {"patterns": [pattern], "timeoutMs": 10_000, "from": 0, **more})


def test_a_session_is_created_listed_and_closed(call: Caller, desk: SessionDesk) -> None:
    first, second = made(call, desk), made(call, desk, "read x")
    assert set(first) == {"session", "windowId", "paneId"}
    assert second["ptyId"] == second["mainPtyId"]
    assert [each["id"] for each in call("GET", "/v1/sessions").json] == [
        first["session"]["id"],
        second["session"]["id"],
    ]
    assert call("GET", f"/v1/sessions/{second['session']['id']}").json == second["session"]
    answer = call("DELETE", f"/v1/sessions/{second['session']['id']}")
    assert answer.status == 200
    assert answer.json == [first["session"]]
    assert call("DELETE", f"/v1/sessions/{second['session']['id']}").code == "not_found"


def test_panes_are_split_filled_emptied_and_closed(call: Caller, desk: SessionDesk) -> None:
    one = made(call, desk)
    at, window = f"/v1/sessions/{one['session']['id']}", one["windowId"]
    split = call(
        "POST",
        f"{at}/split",
        {"sessionId": "ignored", "windowId": window, "targetPaneId": one["paneId"], "direction": ""},
    )
    assert split.status == 200
    pane = split.json["paneId"]
    started = call("POST", f"{at}/panes/{pane}/start-pty", {"options": shell("echo up; read x")})
    assert started.status == 201
    pty_id = started.json["ptyId"]
    assert started.json["session"]["panes"][pane]["currentPtyId"] == pty_id
    assert call("POST", f"{at}/panes/{pane}/start-pty", {"options": shell("true")}).code == "refused"
    detached = call("POST", f"{at}/panes/{pane}/detach-pty", {})
    assert (detached.status, detached.json["ptyId"]) == (200, pty_id)
    assert call("POST", f"{at}/panes/{pane}/detach-pty", {}).status == 400
    assert call("POST", f"{at}/panes/{pane}/restart-pty", {"options": shell("true")}).status == 400
    closed = call("POST", f"{at}/windows/{window}/panes/{pane}/close", {})
    assert list(closed.json["panes"]) == [one["paneId"]]
    assert call("POST", f"{at}/windows/{window}/panes/{one['paneId']}/close", {}).code == "refused"
    assert call("GET", f"/v1/ptys/{pty_id}").json["running"] is True


def test_folders_and_the_project_are_changed(call: Caller, desk: SessionDesk) -> None:
    one = made(call, desk)
    at = f"/v1/sessions/{one['session']['id']}"
    (desk.folder / "sub").mkdir()
    target = str(desk.folder / "sub")
    assert call("POST", f"{at}/set-root-dir", {"rootDir": target}).json["rootDir"] == target
    changed = call("POST", f"{at}/panes/{one['paneId']}/set-working-dir", {"workingDir": str(desk.folder)})
    assert changed.json["panes"][one["paneId"]]["workingDir"] == str(desk.folder)
    assert call("POST", f"{at}/set-project", {"projectId": ""}).status == 200
    assert call("POST", f"{at}/set-project", {"projectId": "proj_x"}).code == "not_found"
    assert call("POST", f"{at}/set-root-dir", {"rootDir": "x"}).json["error"] == "root dir must be absolute"


@pytest.mark.parametrize(
    "path", ["/split", "/set-root-dir", "/set-project", "/panes/p/start-pty", "/panes/p/detach-pty"]
)
def test_an_unknown_session_is_not_found(call: Caller, path: str) -> None:
    body = {"targetPaneId": "p", "rootDir": "/", "options": {}}
    assert call("POST", f"/v1/sessions/sess_x{path}", body).code == "not_found"


@pytest.mark.parametrize(
    ("initial", "sentence"),
    [
        ({"cols": 0, "rows": 24}, "cols must be between 1 and 1000, not 0"),
        ({"cols": 80, "rows": 65535}, "rows must be between 1 and 1000, not 65535"),
        ({"cols": "80"}, "Expected `int`"),
        ({"agentProfileId": "nobody"}, 'unknown agent profile "nobody"'),
        ({"exec": True, "command": "no-such-program"}, "no-such-program"),
        ({"agentBridge": {"enabled": True}}, "an agent bridge needs a provider"),
    ],
)
def test_a_terminal_that_cannot_be_is_a_400_and_leaves_no_session(
    call: Caller, desk: SessionDesk, initial: dict[str, Any], sentence: str
) -> None:
    answer = call("POST", "/v1/sessions", {"rootDir": str(desk.folder), "initialPty": initial})
    assert answer.status == 400
    assert sentence in answer.json["error"]
    assert call("GET", "/v1/sessions").json == []


def test_output_is_read_from_any_offset(call: Caller, desk: SessionDesk) -> None:
    pty_id = made(call, desk, "printf 'h\\303\\251llo\\377'; read x")["ptyId"]
    expect(call, pty_id, "llo")
    whole = call("GET", f"/v1/ptys/{pty_id}/output").json
    assert base64.b64decode(whole["outputBase64"]) == b"h\xc3\xa9llo\xff"
    assert whole["output"] == "héllo\ufffd"
    assert (whole["start"], whole["offset"], whole["end"], whole["ended"]) == (0, 7, 7, False)
    part = call("GET", f"/v1/ptys/{pty_id}/output?from=1&limit=2").json
    assert (part["output"], part["offset"], part["end"]) == ("é", 3, 7)
    end = call("GET", f"/v1/ptys/{pty_id}/output?from=end").json
    assert (end["output"], end["offset"]) == ("", 7)
    assert call("GET", f"/v1/ptys/{pty_id}/output?from=99999").json["offset"] == 7
    assert "terminalSnapshot" not in whole


def test_the_texts_of_pieces_join_although_a_character_was_split(call: Caller, desk: SessionDesk) -> None:
    pty_id = made(call, desk, "printf 'h\\303\\251\\342\\202'; read x")["ptyId"]
    expect(call, pty_id, "h")
    parts = [call("GET", f"/v1/ptys/{pty_id}/output?from={at}&limit=1").json["output"] for at in range(5)]
    assert parts == ["h", "", "é", "", ""]


def test_output_comes_with_the_screen_when_asked(call: Caller, desk: SessionDesk) -> None:
    pty_id = made(call, desk, "printf '\\033[1mbold'; read x")["ptyId"]
    expect(call, pty_id, "bold")
    shown = call("GET", f"/v1/ptys/{pty_id}/output?snapshot=1").json["terminalSnapshot"]
    assert (shown["cols"], shown["rows"], shown["offset"]) == (80, 24, 8)
    assert "bold" in shown["viewportAnsi"]


def test_an_empty_answer_can_be_held_until_there_is_output(call: Caller, desk: SessionDesk) -> None:
    pty_id = made(call, desk, "echo one; read x; echo two; read y")["ptyId"]
    expect(call, pty_id, "one")
    at = call("GET", f"/v1/ptys/{pty_id}/output?from=end").json["offset"]
    held = gevent.spawn(call, "GET", f"/v1/ptys/{pty_id}/output?from={at}&wait=20")
    gevent.sleep(0)
    assert call("POST", f"/v1/ptys/{pty_id}/write", {"data": "\n"}).status == 204
    assert base64.b64decode(held.get(timeout=SECONDS).json["outputBase64"]).startswith(b"\r\n")
    expect(call, pty_id, "two\r\n")
    assert call("GET", f"/v1/ptys/{pty_id}/output?from=end&wait=0.01").json["output"] == ""


@pytest.mark.parametrize(
    "query", ["from=-1", "from=x", "from=1.5", "from=²", "limit=0", "wait=61", "wait=x", "snapshot=x"]
)
def test_an_offset_that_is_none_is_refused(call: Caller, desk: SessionDesk, query: str) -> None:
    pty_id = made(call, desk, "read x")["ptyId"]
    assert call("GET", f"/v1/ptys/{pty_id}/output?{query}").code == "invalid"


@pytest.mark.parametrize(
    ("body", "typed"),
    [
        ({"data": "a b\n"}, "a b"),
        ({"data": "é漢\r\n"}, "é漢"),
        ({"dataBase64": base64.b64encode(b"raw\r").decode()}, "raw"),
    ],
)
def test_what_is_written_is_typed(call: Caller, desk: SessionDesk, body: dict[str, str], typed: str) -> None:
    pty_id = made(call, desk, 'read x; echo "<$x>"; read y')["ptyId"]
    assert call("POST", f"/v1/ptys/{pty_id}/write", {"ptyId": pty_id, **body}).status == 204
    assert expect(call, pty_id, "<.*>").json["match"] == f"<{typed}>"


@pytest.mark.parametrize(
    "body", [{}, {"data": "a", "dataBase64": "YQ=="}, {"data": 1}, {"dataBase64": "not base64!"}, {"data": "\ud800"}]
)
def test_what_cannot_be_typed_is_refused(call: Caller, desk: SessionDesk, body: dict[str, Any]) -> None:
    pty_id = made(call, desk, "read x")["ptyId"]
    assert call("POST", f"/v1/ptys/{pty_id}/write", body).code == "invalid"


def test_a_size_is_kept_and_a_wrong_one_refused(call: Caller, desk: SessionDesk) -> None:
    pty_id = made(call, desk, "trap 'stty size' WINCH; echo up; while :; do read x; done")["ptyId"]
    expect(call, pty_id, "up")
    assert call("POST", f"/v1/ptys/{pty_id}/resize", {"cols": 132, "rows": 50}).status == 204
    expect(call, pty_id, "50 132")
    assert call("GET", f"/v1/ptys/{pty_id}").json["cols"] == 132
    for cols, rows in ((0, 0), (65535, 65535), (80, 0), (-1, 24), (1001, 24)):
        assert call("POST", f"/v1/ptys/{pty_id}/resize", {"cols": cols, "rows": rows}).code == "invalid"
    assert call("POST", f"/v1/ptys/{pty_id}/resize", {"cols": 80}).code == "invalid"


def test_a_killed_terminal_says_so_and_can_be_deleted(call: Caller, desk: SessionDesk) -> None:
    pty_id = made(call, desk, "read x")["ptyId"]
    assert call("DELETE", f"/v1/ptys/{pty_id}").code == "refused"
    killed = call("POST", f"/v1/ptys/{pty_id}/kill", {}).json
    assert (killed["id"], killed["status"], killed["running"]) == (pty_id, "killed", False)
    assert call("POST", f"/v1/ptys/{pty_id}/write", {"data": "x"}).status == 400
    assert call("DELETE", f"/v1/ptys/{pty_id}").status == 204
    assert call("GET", f"/v1/ptys/{pty_id}").code == "not_found"
    assert call("GET", "/v1/ptys").json == []


def test_expect_finds_or_says_what_was_there_instead(call: Caller, desk: SessionDesk) -> None:
    pty_id = made(call, desk, "echo one two; read x")["ptyId"]
    found = expect(call, pty_id, r"one (\w+)").json
    assert (found["index"], found["match"], found["groups"]) == (0, "one two", ["two"])
    assert expect(call, pty_id, "one (", exact=True, timeoutMs=10).code == "deadline"
    late = expect(call, pty_id, "three", timeoutMs=10)
    assert (late.status, late.code) == (504, "deadline")
    assert "one two" in late.json["details"]["seen"]
    assert expect(call, pty_id, "one", timeoutMs=10, **{"from": None}).code == "deadline"
    for body in (
        {"patterns": []},
        {"patterns": ["("]},
        {"patterns": ["x"], "timeoutMs": -1},
        {"patterns": ["x"], "from": -1},
    ):
        assert call("POST", f"/v1/ptys/{pty_id}/expect", body).code == "invalid"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/output"),
        ("POST", "/kill"),
        ("POST", "/write"),
        ("POST", "/resize"),
        ("POST", "/expect"),
    ],
)
def test_an_unknown_terminal_is_not_found(call: Caller, method: str, path: str) -> None:
    body = {"data": "x", "cols": 80, "rows": 24, "patterns": ["x"]}
    assert call(method, f"/v1/ptys/pty_x{path}", body if method == "POST" else None).code == "not_found"


def test_profiles_say_which_are_installed(call: Caller) -> None:
    listed = {each["id"]: each for each in call("GET", "/v1/agent-profiles").json}
    assert list(listed)[:2] == ["claude", "claude-plan"]
    assert listed["plain-shell"]["installed"] is True
    assert listed["shown"]["source"] == "config"
    detected = {each["profileId"]: each["path"] for each in call("GET", "/v1/agents/detected").json}
    assert detected["shown"] == listed["shown"]["path"]
    assert all(each["path"] == detected.get(each["id"], each["path"]) for each in listed.values() if "path" in each)
