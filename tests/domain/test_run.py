from __future__ import annotations

from collections.abc import Callable

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, RefusedError
from whisk.values import decode, encode
from whisk.work import run as runs
from whisk.work.run import Run, StartRun

NOW = Instant(1_800_000_000_000_000_000)
LATER = NOW.plus(5)


def queued(**fields: str) -> Run:
    request = StartRun(**{"work_item_id": "item_1", "actor": "ann", **fields})
    return runs.new_run(
        request, run_id="run_1", project_id="proj_1", preset="writer", template_id="implement", prompt="Do", now=NOW
    )


def running() -> Run:
    return runs.mark_running(queued(), session_id="sess_1", pty_id="pty_1", profile_id="claude", actor="ann", now=LATER)


def test_a_run_begins_in_the_queue() -> None:
    made = queued()
    assert (made.status, made.session_id, made.prompt_snapshot, made.ended) == ("queued", None, "Do", False)
    assert [(event.type, event.actor) for event in made.history] == [("queued", "ann")]


def test_a_launched_run_knows_its_terminal_and_that_its_session_was_made_for_it() -> None:
    made = running()
    assert (made.status, made.session_id, made.pty_id, made.agent_profile_id) == (
        "running",
        "sess_1",
        "pty_1",
        "claude",
    )
    assert made.metadata[runs.OWNED_SESSION].flag is True
    assert made.last_seen_at == LATER


def test_only_a_queued_run_is_launched() -> None:
    with pytest.raises(RefusedError, match="is running, not queued"):
        runs.mark_running(running(), session_id="s", pty_id="p", profile_id="claude", actor=None, now=LATER)


def test_a_run_waits_for_an_answer_and_goes_on() -> None:
    waiting = runs.await_input(running(), "agent", "Which?", LATER)
    assert waiting.status == "awaiting_input"
    assert runs.await_input(waiting, "agent", "And?", LATER) is waiting
    resumed = runs.resume(waiting, "ann", LATER)
    assert resumed.status == "running"
    assert [event.type for event in resumed.history] == ["queued", "running", "awaiting_input", "resumed"]
    assert runs.resume(resumed, "ann", LATER) is resumed


def test_a_run_without_a_terminal_returns_to_the_queue() -> None:
    assert runs.resume(runs.await_input(queued(), None, "", LATER), None, LATER).status == "queued"


ENDINGS: dict[str, Callable[[Run], Run]] = {
    "completed": lambda run: runs.complete(run, "agent", "done", LATER),
    "failed": lambda run: runs.fail(run, "runtime", "no", LATER),
    "cancelled": lambda run: runs.cancel(run, "ann", "", LATER),
    "lost": lambda run: runs.lose(run, "gone", LATER),
}


@pytest.mark.parametrize("first", ENDINGS)
@pytest.mark.parametrize("second", ENDINGS)
def test_a_run_ends_once(first: str, second: str) -> None:
    ended = ENDINGS[first](running())
    assert (ended.status, ended.completed_at, ended.ended) == (first, LATER, True)
    with pytest.raises(RefusedError, match=f"already {first}"):
        ENDINGS[second](ended)
    with pytest.raises(RefusedError):
        runs.await_input(ended, "agent", "?", LATER)
    assert runs.resume(ended, None, LATER) is ended
    assert runs.see(ended, LATER) is ended


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ("exited", 0, "completed"),
        ("exited", 3, "failed"),
        ("killed", 137, "cancelled"),
        ("failed", None, "failed"),
        ("lost", -1, "lost"),
    ],
)
def test_the_end_of_the_terminal_is_recorded_as_it_was(status: str, code: int | None, expected: str) -> None:
    ended = runs.end_with_terminal(running(), status, code, LATER, "pty_1")
    assert (ended.status, ended.exit_code) == (expected, code)
    assert ended.history[-1].message


def test_the_end_of_the_terminal_changes_nothing_about_a_run_that_was_done() -> None:
    done = runs.complete(running(), "agent", "done", LATER)
    ended = runs.end_with_terminal(done, "killed", 137, LATER.plus(1), "pty_1")
    assert (ended.status, ended.exit_code, ended.history) == ("completed", 137, done.history)


def test_a_sign_of_life_leaves_no_trace_in_the_history() -> None:
    seen = runs.see(runs.see(running(), LATER.plus(1)), LATER.plus(2))
    assert seen.last_seen_at == LATER.plus(2)
    assert len(seen.history) == 2


def test_event_ids_are_unique() -> None:
    ended = runs.complete(runs.resume(runs.await_input(running(), "a", "?", LATER), "b", LATER), "a", "", LATER)
    assert len({event.id for event in ended.history}) == len(ended.history)


@pytest.mark.parametrize("preset", ["", "boss", "Writer"])
def test_an_unknown_preset_is_refused_with_the_known_ones(preset: str) -> None:
    with pytest.raises(InvalidError, match="reader, writer, reviewer, manager"):
        runs.check_preset(preset)


def test_the_record_survives_the_wire() -> None:
    made = runs.complete(running(), "agent", "done", LATER)
    assert decode(encode(made), Run) == made


def test_the_end_of_another_terminal_means_nothing() -> None:
    run = running()
    assert runs.end_with_terminal(run, "exited", 0, LATER, "pty_2") is run


def test_a_run_that_is_reopened_goes_on_in_its_terminal_if_that_still_runs() -> None:
    again = runs.reopen(runs.complete(running(), "agent", "done", LATER), "ann", "Do more", LATER)
    assert (again.status, again.completed_at, again.prompt_snapshot) == ("running", None, "Do more")
    assert again.history[-1].type == "resumed"
    assert runs.reopen(again, "ann", "More", LATER) is again


@pytest.mark.parametrize(("status", "code"), [("exited", 0), ("exited", 1), ("lost", -1)])
def test_a_run_that_is_reopened_without_a_terminal_waits_to_be_launched(status: str, code: int) -> None:
    ended = runs.end_with_terminal(running(), status, code, LATER, "pty_1")
    again = runs.reopen(ended, "ann", "Do more", LATER)
    assert again.status == "queued"
    # The end of the old terminal, told late, is not the end of the next one.
    assert runs.end_with_terminal(again, status, code, LATER, "pty_1").status == "queued"
    relaunched = runs.mark_running(again, session_id="s2", pty_id="pty_2", profile_id="claude", actor=None, now=LATER)
    assert (relaunched.status, relaunched.pty_id, relaunched.exit_code) == ("running", "pty_2", None)
