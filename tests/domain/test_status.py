"""What follows from the ids that a report names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError
from whisk.terminal.pty import PtyRecord, PtySpec, new_record
from whisk.work.run import Run, StartRun, new_run
from whisk.work.status import ReportStatus, StatusEvent, Surroundings, mark_read, new_event

NOW = Instant(1_800_000_000_000_000_000)


def terminal(**ids: str) -> PtyRecord:
    return new_record("pty_1", PtySpec(argv=("claude",), working_dir="/src", env={}, **ids), NOW)  # type: ignore[arg-type]


def run(session_id: str = "sess_1", pty_id: str = "pty_1") -> Run:
    request = StartRun(work_item_id="item_1", session_id=session_id, pty_id=pty_id)
    return new_run(
        request, run_id="run_1", project_id="proj_1", preset="writer", template_id="implement", prompt="", now=NOW
    )


def report(around: Surroundings | None = None, **fields: Any) -> StatusEvent:
    asked = ReportStatus(**{"kind": "question", "message": "Which?", "actor": "agent", **fields})
    return new_event(asked, around or Surroundings(), event_id="stat_1", now=NOW)


@pytest.mark.parametrize(
    ("ids", "scope"),
    [
        ({"run_id": "run_1", "pty_id": "pty_1", "session_id": "sess_1", "work_item_id": "item_1"}, "run"),
        ({"pty_id": "pty_1", "session_id": "sess_1", "work_item_id": "item_1"}, "pty"),
        ({"session_id": "sess_1", "work_item_id": "item_1"}, "session"),
        ({"work_item_id": "item_1"}, "work-item"),
    ],
)
def test_the_scope_is_the_most_particular_thing_that_is_named(ids: dict[str, str], scope: str) -> None:
    assert report(**ids).scope == scope


@pytest.mark.parametrize("ids", [{}, {"project_id": "proj_1"}, {"pane_id": "pane_1"}])
def test_a_report_about_nothing_in_particular_is_refused(ids: dict[str, str]) -> None:
    with pytest.raises(InvalidError, match=r"^status context required"):
        report(**ids)


@pytest.mark.parametrize(
    ("kind", "attention", "severity"),
    [("question", True, "attention"), ("blocked", True, "warning"), ("done", False, "info")],
)
def test_a_kind_says_how_urgent_it_is(kind: str, attention: bool, severity: str) -> None:
    event = report(kind=kind, session_id="sess_1")
    assert (event.requires_attention, event.notification_severity) == (attention, severity)


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(InvalidError, match=r"^unsupported status kind stuck; there are question, done, blocked$"):
        report(kind="stuck", session_id="sess_1")


def test_a_report_of_a_run_knows_its_work_and_its_place() -> None:
    event = report(Surroundings(run=run(), terminal=terminal(session_id="sess_1", pane_id="pane_1")), run_id="run_1")
    assert (event.project_id, event.work_item_id, event.run_id) == ("proj_1", "item_1", "run_1")
    assert (event.session_id, event.pane_id, event.pty_id) == ("sess_1", "pane_1", "pty_1")


def test_a_run_beats_what_the_environment_says_of_the_work() -> None:
    event = report(Surroundings(run=run()), run_id="run_1", work_item_id="item_9", project_id="proj_9")
    assert (event.project_id, event.work_item_id) == ("proj_1", "item_1")


def test_a_report_of_a_terminal_knows_its_pane_and_project() -> None:
    around = Surroundings(terminal=terminal(session_id="sess_1", pane_id="pane_1", project_id="proj_1"))
    event = report(around, pty_id="pty_1")
    assert (event.session_id, event.pane_id, event.project_id, event.run_id) == ("sess_1", "pane_1", "proj_1", None)


def test_an_empty_message_is_the_kind_and_a_long_one_is_refused() -> None:
    assert report(message="  ", session_id="sess_1").message == "question"
    with pytest.raises(TooLargeError, match="message exceeds 65536 bytes"):
        report(message="x" * 65_537, session_id="sess_1")


def test_reports_of_one_matter_share_a_key_and_others_do_not() -> None:
    around = Surroundings(run=run(), terminal=terminal(session_id="sess_1", pane_id="pane_1"))
    keys = [
        report(around, run_id="run_1").notification_key,
        report(session_id="sess_1", pty_id="pty_2").notification_key,
        report(session_id="sess_1").notification_key,
        report(session_id="sess_1", kind="done", actor=None).notification_key,
        report(work_item_id="item_1").notification_key,
        report(work_item_id="item_2").notification_key,
        report(Surroundings(run=run("", "")), run_id="run_1").notification_key,
    ]
    assert keys == [
        "status|session:sess_1|pane:pane_1|actor:agent|kind:question",
        "status|session:sess_1|pty:pty_2|actor:agent|kind:question",
        "status|session:sess_1|session|actor:agent|kind:question",
        "status|session:sess_1|session|actor:|kind:done",
        "status|work-item:item_1|actor:agent|kind:question",
        "status|work-item:item_2|actor:agent|kind:question",
        "status|run:run_1|actor:agent|kind:question",
    ]
    again = report(around, run_id="run_1", message="Really, which?")
    assert again.notification_key == keys[0]


def test_a_second_reader_changes_nothing() -> None:
    first = mark_read(report(session_id="sess_1"), NOW)
    assert first == msgspec.structs.replace(report(session_id="sess_1"), read_at=NOW)
    assert mark_read(first, NOW.plus(5)) is first
