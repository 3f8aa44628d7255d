"""Viewers of a terminal over a real WebSocket, with a real child behind."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from tests.session_desk import SECONDS, SessionDesk, run
from tests.websocket_client import Refused, WebSocketClient
from whisk.actors.future import get
from whisk.actors.pty import PtyHandle
from whisk.actors.system import ActorSystem
from whisk.http import viewer, websocket
from whisk.http.routes import pty
from whisk.http.server import Server

from .conftest import TOKEN

Make = Callable[..., Any]
# Prints what it reads with stty's own echo off, so that all output is the program's.
ECHO = "stty -echo; echo up; while read x; do echo got $x; done"


class Stage:
    """A server with one desk behind it, and clients that are closed at the end."""

    def __init__(self, desk: SessionDesk, server: Server) -> None:
        self.desk = desk
        self.server = server
        self.clients: list[WebSocketClient] = []

    def terminal(self, script: str) -> tuple[str, PtyHandle]:
        made = self.desk.create(run("/bin/sh", "-c", script))
        assert made.pty_id is not None
        return made.pty_id, self.desk.book.pty(made.pty_id)

    def view(self, pty_id: str, query: str = "binary=1", **more: Any) -> WebSocketClient:
        target = f"/v1/ptys/{pty_id}/attach?{query}"
        self.clients.append(WebSocketClient(self.server.address, target, **{"token": TOKEN, **more}))
        return self.clients[-1]


@pytest.fixture
def stage(system: ActorSystem, tmp_path: Path, serve: Make) -> Iterator[Stage]:
    desk = SessionDesk(system, tmp_path)
    stage = Stage(desk, serve(pty.ROUTES, system=system, sessions=desk.book, clock=system.clock))
    yield stage
    for client in stage.clients:
        client.close()
    desk.close()


def test_output_comes_from_the_offset_asked_for_and_then_live(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    stage.desk.expect(pty_id, "up")
    client = stage.view(pty_id, "binary=1&from=1")
    first = client.receive()
    assert isinstance(first, bytes)
    assert (first[0], int.from_bytes(first[1:9], "big")) == (1, 1)
    assert first[9:] == b"p\r\n"
    client.send({"type": "input", "data": "it\n"})
    assert client.output(until=b"got it\r\n") == b"got it\r\n"


def test_without_binary_everything_is_text(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    stage.desk.expect(pty_id, "up")
    frame = stage.view(pty_id, "").frame()
    assert (frame["type"], frame["ptyId"], frame["offset"]) == ("output", pty_id, 0)
    assert base64.b64decode(frame["outputBase64"]) == b"up\r\n"


def test_the_screen_comes_first_and_output_goes_on_behind_it(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    stage.desk.expect(pty_id, "up")
    client = stage.view(pty_id, "binary=1&snapshot=true")
    frame = client.frame()
    assert frame["type"] == "snapshot"
    assert frame["offset"] == frame["terminalSnapshot"]["offset"] == 4
    assert "up" in frame["terminalSnapshot"]["viewportAnsi"]
    client.send({"type": "input", "data": "it\n"})
    message = client.receive()
    assert isinstance(message, bytes)
    assert int.from_bytes(message[1:9], "big") == 4


def test_bytes_are_typed_as_they_are_and_text_as_a_person_types_it(stage: Stage) -> None:
    pty_id, _ = stage.terminal("stty raw -echo; echo up; cat -v")
    stage.desk.expect(pty_id, "up")
    client = stage.view(pty_id, "binary=1&from=end")
    client.send({"type": "input", "dataBase64": base64.b64encode(b"\n\xff\x03").decode()})
    client.output(until=b"M-^?^C")
    client.send({"type": "input", "data": "x\n"})
    client.output(until=b"x^M")


def test_the_end_comes_last_with_the_exit_code(stage: Stage) -> None:
    pty_id, _ = stage.terminal("read x; echo bye; exit 3")
    client = stage.view(pty_id)
    client.send({"type": "input", "data": "\n"})
    client.output(until=b"bye\r\n")
    frame = client.frame()
    assert (frame["type"], frame["code"], frame["message"]) == ("exit", 3, "exited")
    assert client.receive() is None
    assert client.close_code == 1000


def test_an_ended_terminal_is_shown_and_ends_at_once(stage: Stage) -> None:
    pty_id, handle = stage.terminal("echo over")
    get(handle.wait_exit.remote(), timeout=SECONDS)
    client = stage.view(pty_id)
    assert client.output(until=b"over\r\n") == b"over\r\n"
    assert client.frame()["type"] == "exit"
    client.receive()
    assert client.close_code == 1000


def test_an_unknown_terminal_is_one_error_frame_and_a_goodbye(stage: Stage) -> None:
    client = stage.view("pty_x")
    frame = client.frame()
    assert (frame["type"], frame["errorCode"]) == ("error", "not_found")
    assert client.receive() is None


def test_an_offset_that_is_none_is_refused_before_the_upgrade(stage: Stage) -> None:
    pty_id, _ = stage.terminal("read x")
    with pytest.raises(Refused) as refusal:
        stage.view(pty_id, "from=x")
    assert (refusal.value.status, refusal.value.code) == (400, "invalid")


def test_two_viewers_see_the_same_and_the_last_to_act_decides_the_size(stage: Stage) -> None:
    pty_id, handle = stage.terminal(ECHO)
    phone, desktop = stage.view(pty_id), stage.view(pty_id)
    phone.send({"type": "resize", "cols": 40, "rows": 20})
    wait_for_size(handle, 40, 20)
    desktop.send({"type": "resize", "cols": 200, "rows": 50})
    wait_for_size(handle, 200, 50)
    phone.send({"type": "input", "data": "hello\n"})
    assert phone.output(until=b"got hello\r\n") == desktop.output(until=b"got hello\r\n")
    wait_for_size(handle, 40, 20)
    desktop.send({"type": "input", "data": "again\n"})
    phone.output(until=b"got again\r\n")
    wait_for_size(handle, 200, 50)


@pytest.mark.parametrize("size", [(0, 0), (65535, 65535), (80, 0), (None, 24)])
def test_a_size_that_no_screen_has_is_refused_and_nothing_changes(stage: Stage, size: tuple[int | None, int]) -> None:
    pty_id, handle = stage.terminal(ECHO)
    client = stage.view(pty_id, "binary=1&from=end")
    client.send({"type": "resize", "cols": size[0], "rows": size[1]})
    frame = error_frame(client)
    assert frame["errorCode"] == "invalid"
    info = get(handle.info.remote())
    assert (info.cols, info.rows) == (80, 24)


def test_frames_that_mean_nothing_are_ignored_or_told_and_the_view_goes_on(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    client = stage.view(pty_id, "binary=1&from=end")
    client.send({"type": "dance"})
    client.send("not json")
    assert error_frame(client)["errorCode"] == "invalid"
    client.send({"type": "input", "dataBase64": "?"})
    assert error_frame(client)["errorCode"] == "invalid"
    client.send({"type": "input", "data": "still\n"})
    client.output(until=b"got still")


def test_a_binary_message_from_a_viewer_closes_the_connection(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    client = stage.view(pty_id)
    client.send(b"\x01raw")
    while client.receive() is not None:
        pass
    assert client.close_code == 1003


def test_a_viewer_that_does_not_read_never_slows_the_child_and_is_told_what_it_missed(stage: Stage) -> None:
    # 20 MB, far more than the ring and the socket's buffers hold together.
    pty_id, handle = stage.terminal("read x; yes 0123456789abcdef | head -c 20000000; echo done; read y")
    slow = stage.view(pty_id, "binary=1&from=end", receive_buffer=4096)
    slow.send({"type": "input", "data": "\n"})
    stage.desk.expect(pty_id, "done")
    at, gaps, seen = None, 0, b""
    while b"done" not in seen:
        message = slow.receive()
        assert message is not None
        if isinstance(message, str):
            frame = slow.parse(message)
            assert frame["type"] == "gap"
            assert at is not None
            assert frame["offset"] == at + frame["skipped"]
            at, gaps = frame["offset"], gaps + 1
            continue
        offset = int.from_bytes(message[1:9], "big")
        assert at in (None, offset), "a hole that nobody spoke of"
        at = offset + len(message) - 9
        seen = (seen + message[9:])[-100:]
    assert gaps >= 1
    assert get(handle.info.remote()).output_offset == at


@pytest.mark.parametrize("how", ["goodbye", "vanish"])
def test_a_viewer_that_leaves_leaves_nothing_behind(stage: Stage, how: str) -> None:
    pty_id, handle = stage.terminal(ECHO)
    client = stage.view(pty_id)
    client.output(until=b"up")
    client.say_goodbye() if how == "goodbye" else client.close()
    wait_until(lambda: stage.server.connections == 0)
    wait_until(lambda: stage.desk.system.describe(handle.name).facts["followers"] == 0)


def test_a_viewer_that_vanishes_while_nothing_can_be_sent_to_it_is_noticed(stage: Stage) -> None:
    pty_id, _ = stage.terminal("while :; do echo 0123456789abcdef; done")
    client = stage.view(pty_id, receive_buffer=4096)
    client.receive()
    client.close()
    wait_until(lambda: stage.server.connections == 0)


def test_a_viewer_whose_connection_takes_nothing_for_long_is_given_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that vanished without a word while output was under way looks like this, and so does one that has stopped."""
    monkeypatch.setattr(websocket, "STALLED", 0.2)
    pty_id, handle = stage.terminal("while :; do echo 0123456789abcdef; done")
    stage.view(pty_id, receive_buffer=4096)
    wait_until(lambda: stage.server.connections == 1)
    wait_until(lambda: stage.server.connections == 0)
    assert get(handle.info.remote()).running


def test_a_viewer_that_comes_back_to_an_offset_that_is_gone_is_told_how_much_it_lost(stage: Stage) -> None:
    # More than the disk keeps of it.
    pty_id, _ = stage.terminal("printf 'first line\\n'; yes 0123456789abcdef | head -c 20000000; echo done; read x")
    stage.desk.expect(pty_id, "done")
    client = stage.view(pty_id, "binary=1&from=6")
    gap = client.frame()
    assert (gap["type"], gap["ptyId"]) == ("gap", pty_id)
    assert gap["offset"] == 6 + gap["skipped"]
    first = client.receive()
    assert isinstance(first, bytes)
    assert int.from_bytes(first[1:9], "big") == gap["offset"]
    # The screen is what it can go on from.
    client = stage.view(pty_id, "binary=1&snapshot=1")
    frame = client.frame()
    assert frame["terminalSnapshot"]["truncated"]
    assert "done" in frame["terminalSnapshot"]["viewportAnsi"]


def test_a_viewer_that_returns_after_long_gets_from_the_disk_what_memory_has_no_more(stage: Stage) -> None:
    pty_id, _ = stage.terminal("read go; seq 1 100000; echo done; read y")
    get(stage.desk.book.pty(pty_id).write.remote(b"\r"))
    stage.desk.expect(pty_id, "done")
    client = stage.view(pty_id, "binary=1&from=2")
    expected = b"".join(b"%d\r\n" % number for number in range(1, 100_001)) + b"done\r\n"
    assert client.output(until=b"done\r\n") == expected
    client.send({"type": "input", "data": "\n"})
    assert client.output(until=b"\r\n") == b"\r\n"


def test_a_viewer_is_told_of_what_the_disk_has_lost(stage: Stage) -> None:
    pty_id, _ = stage.terminal("seq 1 100000; echo done; read y")
    stage.desk.expect(pty_id, "done")
    shutil.rmtree(stage.desk.folder / "ptys" / pty_id)
    client = stage.view(pty_id, "binary=1&from=2")
    gap = client.frame()
    assert (gap["type"], gap["offset"]) == ("gap", 2 + gap["skipped"])
    assert client.output(until=b"done\r\n").endswith(b"\r\n100000\r\ndone\r\n")


def test_an_offset_behind_the_end_is_the_end(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    stage.desk.expect(pty_id, "up")
    client = stage.view(pty_id, "binary=1&from=99999")
    client.send({"type": "input", "data": "it\n"})
    first = client.receive()
    assert isinstance(first, bytes)
    assert int.from_bytes(first[1:9], "big") == 4


def test_a_page_of_somebody_else_sees_nothing(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    for origin in ("https://evil.example", "null"):
        with pytest.raises(Refused) as refusal:
            stage.view(pty_id, headers={"Origin": origin})
        assert (refusal.value.status, refusal.value.code) == (403, "forbidden")


def test_a_browsers_viewer_gives_its_token_in_the_query(stage: Stage) -> None:
    pty_id, _ = stage.terminal(ECHO)
    client = stage.view(pty_id, f"binary=1&access_token={TOKEN}", token=None)
    client.output(until=b"up")
    with pytest.raises(Refused) as refusal:
        stage.view(pty_id, "access_token=wrong", token=None)
    assert refusal.value.status == 401


def test_what_a_program_asks_its_terminal_is_left_to_a_viewer(stage: Stage) -> None:
    pty_id, handle = stage.terminal("stty raw -echo; printf up; head -c 1 >/dev/null; printf '\\033[6n'; cat -v")
    stage.desk.expect(pty_id, "up")
    client = stage.view(pty_id, "binary=1&snapshot=1")
    client.frame()
    wait_until(lambda: stage.desk.system.describe(handle.name).facts["viewers"] == 1)
    client.send({"type": "input", "data": "g"})
    client.output(until=b"\x1b[6n")
    client.send({"type": "input", "dataBase64": base64.b64encode(b"\x1b[9;9R.").decode()})
    assert client.output(until=b".") == b"^[[9;9R."
    client.close()
    wait_until(lambda: stage.desk.system.describe(handle.name).facts["viewers"] == 0)


def test_one_who_only_looks_types_nothing_and_whisk_answers_the_program(stage: Stage) -> None:
    pty_id, handle = stage.terminal("stty raw -echo; printf up; head -c 1 >/dev/null; printf '\\033[6n'; cat -v")
    stage.desk.expect(pty_id, "up")
    client = stage.view(pty_id, "binary=1&from=end&readOnly=true")
    for frame in ({"type": "input", "data": "x"}, {"type": "resize", "cols": 40, "rows": 20}):
        client.send(frame)
        assert client.frame()["errorCode"] == "refused"
    get(handle.write.remote(b"g"))
    client.output(until=b"^[[1;3R")
    assert get(handle.info.remote()).cols == 80


@pytest.mark.slow
def test_a_hundred_megabytes_arrive_or_are_told_to_be_missing(stage: Stage) -> None:
    size, line = 100_000_000, b"0123456789abcde\n"
    flood = f"yes 0123456789abcde | head -c {size - 2}"
    pty_id, _ = stage.terminal(f"stty raw -echo; printf u; head -c 1; {flood}; exit 5")
    stage.desk.expect(pty_id, "u")
    client = stage.view(pty_id)
    client.send({"type": "input", "data": "p"})
    at = seen = missing = 0
    while True:
        message = client.receive()
        assert message is not None
        if isinstance(message, bytes):
            assert int.from_bytes(message[1:9], "big") == at
            assert len(message) - 9 <= viewer.BATCH_BYTES
            # Each byte is where it belongs: the sixteen of a line repeat without end.
            assert at < 2 or message[9:13] == (line * 2)[(at - 2) % 16 :][: min(4, len(message) - 9)]
            at += len(message) - 9
            seen += len(message) - 9
            continue
        frame = client.parse(message)
        if frame["type"] == "exit":
            break
        assert frame["type"] == "gap"
        missing += frame["skipped"]
        at += frame["skipped"]
        assert frame["offset"] == at
    assert (seen + missing, frame["code"], frame["offset"]) == (size, 5, size)


def test_ten_viewers_of_one_terminal_all_see_everything(stage: Stage) -> None:
    pty_id, _ = stage.terminal("read x; seq 1 8000; echo done; read y")
    clients = [stage.view(pty_id, "binary=1&from=end") for _ in range(10)]
    jobs = [gevent.spawn(client.output, until=b"done\r\n") for client in clients]
    clients[0].send({"type": "input", "data": "\n"})
    expected = b"\r\n" + b"".join(b"%d\r\n" % number for number in range(1, 8001)) + b"done\r\n"
    assert all(job.get(timeout=SECONDS) == expected for job in jobs)


def test_a_character_that_was_split_arrives_whole(stage: Stage) -> None:
    pty_id, _ = stage.terminal("stty -echo; printf 'a\\303'; read x; printf '\\251z'; read y")
    client = stage.view(pty_id)
    assert client.output(until=b"a\xc3") == b"a\xc3"
    client.send({"type": "input", "data": "\n"})
    assert client.output(until=b"z") == b"\xa9z"


def test_small_pieces_are_put_together(stage: Stage) -> None:
    pty_id, _ = stage.terminal("read x; for i in 1 2 3 4 5 6 7 8 9; do echo $i; done; read y")
    client = stage.view(pty_id, "binary=1&from=end")
    get(stage.desk.book.pty(pty_id).write.remote(b"\r"))
    frames = 0
    seen = b""
    while b"9\r\n" not in seen:
        message = client.receive()
        assert isinstance(message, bytes)
        seen, frames = seen + message[9:], frames + 1
    assert frames <= 5


def test_a_quiet_viewer_is_asked_for_a_sign_of_life_and_given_up_without_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer, "HEARTBEAT", 0.05)
    monkeypatch.setattr(viewer, "SILENCE", 0.2)
    pty_id, _ = stage.terminal("read x")
    alive, dead = stage.view(pty_id), stage.view(pty_id)
    dead.answers_pings = False
    living = gevent.spawn(alive.receive)
    assert dead.receive() is None
    assert dead.pings >= 1
    assert dead.close_code == 1001
    assert not living.ready()
    living.kill()


def test_a_server_that_stops_says_so_and_the_terminal_lives_on(stage: Stage) -> None:
    pty_id, handle = stage.terminal(ECHO)
    client = stage.view(pty_id)
    client.output(until=b"up")
    stopping = gevent.spawn(stage.server.stop, 5.0)
    assert client.receive() is None
    assert client.close_code == 1001
    assert stopping.get(timeout=SECONDS) == 0
    assert get(handle.info.remote()).running


def error_frame(client: WebSocketClient) -> dict[str, Any]:
    """The next error; output in between is passed over."""
    while True:
        message = client.receive()
        assert message is not None
        if isinstance(message, str) and client.parse(message)["type"] == "error":
            return client.parse(message)


def wait_for_size(handle: PtyHandle, cols: int, rows: int) -> None:
    def fits() -> bool:
        info = get(handle.info.remote())
        return (info.cols, info.rows) == (cols, rows)

    wait_until(fits)


def wait_until(condition: Callable[[], bool]) -> None:
    with gevent.Timeout(SECONDS):
        while not condition():
            gevent.sleep(0.005)
