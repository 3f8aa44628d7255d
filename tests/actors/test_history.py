"""What is on disk of ended terminals stays within its bounds, and running ones are never touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import pytest

from tests.session_desk import SECONDS, SessionDesk
from whisk.actors.future import get
from whisk.actors.history import HistoryActor, HistoryBounds, HistoryHandle
from whisk.actors.system import ActorSystem
from whisk.errors import NotFoundError
from whisk.storage.transcript import Transcript, find_transcripts


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[SessionDesk]:
    desk = SessionDesk(system, tmp_path, idle=0.05)
    yield desk
    desk.close()


def keep(desk: SessionDesk, total_bytes: int, count: int = 100) -> HistoryHandle:
    bounds = HistoryBounds(total_bytes, count)
    return desk.system.spawn(HistoryActor, desk.book.services.ptys, bounds, name="history", handle=HistoryHandle)


def until(condition: Callable[[], bool]) -> None:
    with gevent.Timeout(SECONDS):
        while not condition():
            gevent.sleep(0.01)  # why: nothing announces it


def sweep(history: HistoryHandle) -> int:
    return get(history.sweep.remote(), timeout=SECONDS)


def ended(desk: SessionDesk, *, close: bool = True) -> str:
    """A terminal that has printed 100 bytes, has ended, and whose actor is at rest."""
    made, pty = desk.shell("printf '%0100d' 0")
    get(pty.wait_exit.remote(), timeout=SECONDS)
    if close:
        desk.book.close(made.session.id)
    until(lambda: pty.name not in desk.system.names())
    return made.pty_id or ""


def kept(desk: SessionDesk) -> set[str]:
    return find_transcripts(desk.book.services.ptys.transcripts)


def test_the_output_of_the_longest_ended_goes_when_there_is_too_much(desk: SessionDesk) -> None:
    first, second, third = ended(desk), ended(desk), ended(desk)
    history = keep(desk, total_bytes=250)
    assert sweep(history) == 1
    assert kept(desk) == {second, third}
    with pytest.raises(NotFoundError):
        desk.book.transcript(first)
    assert [each.id for each in desk.book.history(10)] == [second, third]
    assert sweep(history) == 0


def test_a_terminal_of_an_open_session_loses_its_output_only(desk: SessionDesk) -> None:
    pty_id = ended(desk, close=False)
    assert sweep(keep(desk, total_bytes=0, count=0)) == 1
    assert kept(desk) == set()
    record, transcript = desk.book.transcript(pty_id)
    assert (record.exit_code, transcript.contents().data) == (0, b"")
    assert desk.book.ptys()[0].output_offset == 100


def test_only_so_many_are_remembered_whose_session_is_gone(desk: SessionDesk) -> None:
    ids = [ended(desk) for _ in range(3)]
    assert sweep(keep(desk, total_bytes=10_000, count=1)) == 2
    assert [each.id for each in desk.book.history(10)] == ids[2:]


def test_a_running_terminal_is_never_touched(desk: SessionDesk) -> None:
    made, _ = desk.shell("printf '%0100d' 0; echo; read x")
    desk.expect(made.pty_id, "0\r\n")
    assert sweep(keep(desk, total_bytes=0, count=0)) == 0
    assert kept(desk) == {made.pty_id}


def test_a_transcript_that_belongs_to_no_terminal_goes(desk: SessionDesk) -> None:
    stray = Transcript(desk.book.services.ptys.transcripts / "pty_stray")
    stray.append(0, b"left behind")
    stray.close()
    assert sweep(keep(desk, total_bytes=10_000)) == 1
    assert kept(desk) == set()


def test_each_end_is_looked_at_a_little_later(desk: SessionDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whisk.actors.history._LOOK_SECONDS", 0.01)
    monkeypatch.setattr("whisk.actors.history._AGAIN_SECONDS", 0.01)
    history = keep(desk, total_bytes=0)
    sweep(history)
    pty_id = ended(desk)
    until(lambda: kept(desk) == set())
    assert [each.id for each in desk.book.history(10)] == []
    assert desk.system.describe("history").facts["removed"] == 1
    with pytest.raises(NotFoundError):
        desk.book.pty(pty_id)


def test_two_who_ask_at_once_are_both_answered(desk: SessionDesk) -> None:
    ended(desk)
    history = keep(desk, total_bytes=0)
    asked = [history.sweep.remote(), history.sweep.remote()]
    assert sum(get(each, timeout=SECONDS) for each in asked) in (1, 2)
    assert kept(desk) == set()
