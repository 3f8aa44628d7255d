"""What is remembered of terminals, read from their transcripts."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.session_desk import SECONDS, SessionDesk
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.http.routes import pty_history

from .conftest import Caller


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[SessionDesk]:
    desk = SessionDesk(system, tmp_path)
    yield desk
    desk.close()


@pytest.fixture
def call(desk: SessionDesk, caller: Callable[..., Caller]) -> Caller:
    return caller(pty_history.ROUTES, system=desk.system, sessions=desk.book, clock=desk.system.clock)


def test_a_terminal_is_remembered_when_its_session_is_closed(call: Caller, desk: SessionDesk) -> None:
    made, handle = desk.shell("printf 'h\\303\\251llo\\377\\n'; exit 3")
    get(handle.wait_exit.remote(), timeout=SECONDS)
    desk.book.close(made.session.id)
    (listed,) = call("GET", "/v1/pty-history").json
    assert listed["ptyId"] == made.pty_id
    assert (listed["sessionId"], listed["windowId"], listed["paneId"]) == (
        made.session.id, made.window_id, made.pane_id
    )  # fmt: skip
    assert (listed["workingDir"], listed["status"], listed["exitCode"]) == (str(desk.folder), "exited", 3)
    assert "output" not in listed
    told = call("GET", f"/v1/pty-history/{made.pty_id}").json
    assert {name: told[name] for name in listed} == listed
    assert told["output"] == "héllo\ufffd\r\n"
    assert (told["start"], told["offset"], told["end"]) == (0, 9, 9)
    assert "outputBase64" not in told


def test_reading_wakes_no_actor(call: Caller, desk: SessionDesk) -> None:
    made, handle = desk.shell("echo over")
    get(handle.wait_exit.remote(), timeout=SECONDS)
    desk.book.close(made.session.id)
    before = desk.system.names()
    assert call("GET", f"/v1/pty-history/{made.pty_id}").json["output"] == "over\r\n"
    assert desk.system.names() == before


def test_a_running_terminal_is_read_as_far_as_it_is_and_from_any_byte(call: Caller, desk: SessionDesk) -> None:
    made, _ = desk.shell("printf 'abc\\303\\251'; printf 'end\\342'; read x")
    desk.expect(made.pty_id, "end")
    at = f"/v1/pty-history/{made.pty_id}"
    assert call("GET", at).json["output"] == "abcéend"
    piece = call("GET", f"{at}?from=1&limit=3&base64=true").json
    assert (piece["output"], piece["offset"], piece["end"]) == ("bc", 4, 9)
    assert base64.b64decode(piece["outputBase64"]) == b"bc\xc3"
    assert call("GET", f"{at}?from=4&limit=3").json["output"] == "éen"
    assert call("GET", f"{at}?from=500").json["output"] == ""


def test_the_list_takes_the_newest_of_all_or_of_one_session_oldest_first(call: Caller, desk: SessionDesk) -> None:
    made = [desk.shell("read x")[0] for _ in range(3)]
    ids = [each.pty_id for each in made]
    assert [each["ptyId"] for each in call("GET", "/v1/pty-history").json] == ids
    assert [each["ptyId"] for each in call("GET", "/v1/pty-history?limit=2").json] == ids[1:]
    of_one = call("GET", f"/v1/pty-history?sessionId={made[1].session.id}").json
    assert [each["ptyId"] for each in of_one] == ids[1:2]


@pytest.mark.parametrize("query", ["from=-1", "from=end", "limit=0", "limit=x", "base64=maybe"])
def test_a_range_that_is_none_is_refused(call: Caller, desk: SessionDesk, query: str) -> None:
    made, _ = desk.shell("read x")
    assert call("GET", f"/v1/pty-history/{made.pty_id}?{query}").code == "invalid"
    assert call("GET", "/v1/pty-history?limit=0").code == "invalid"
