"""Whether the hook log keeps what agents say is a person's choice, and outlives the daemon."""

from __future__ import annotations

from tests.bridge_house import Build, House
from tests.captured import load
from whisk.actors.future import get
from whisk.hooks.entry import AgentBridgeEvent, HookContext
from whisk.storage import hook_event
from whisk.storage.hook_event import HookLogQuery, HookLogSettings


def entries(house: House) -> list[AgentBridgeEvent]:
    if house.system.find("bridges") is not None:
        # The log is written without waiting; what was queued before is on disk when this is.
        get(house.journal.write.remote(lambda _: None))
    return house.store.read(lambda db: hook_event.select(db, HookLogQuery()))


def test_a_log_that_is_off_keeps_that_an_event_came_and_nothing_that_was_said(build: Build) -> None:
    house = build()
    assert get(house.bridges.set_log.remote(False, None)) == HookLogSettings(enabled=False)
    get(house.bridges.note.remote(load("claude", "Stop"), HookContext(pty_id="pty_1")))
    (entry,) = entries(house)
    assert (entry.event_name, entry.pty_id, entry.raw, entry.message) == ("Stop", "pty_1", {}, "")


def test_a_prompt_is_whole_although_the_log_is_off(build: Build) -> None:
    house = build()
    get(house.bridges.set_log.remote(False, None))
    asked = house.call(house.register(), "PreToolUse-AskUserQuestion-single")
    assert "Proceed?" in str(house.stored(asked).ask)
    # The log is written in its own time.
    (entry,) = house.until(lambda: entries(house))
    assert (entry.request_id, entry.raw) == (asked.request_id, {})


def test_the_choice_holds_after_a_restart_and_can_be_taken_back(build: Build) -> None:
    house = build()
    get(house.bridges.set_log.remote(False, None))
    get(house.system.restart("bridges"), timeout=10.0)
    get(house.bridges.note.remote(load("claude", "Stop"), HookContext()))
    get(house.bridges.set_log.remote(True, None))
    get(house.bridges.note.remote(load("claude", "Stop"), HookContext()))
    assert [bool(each.raw) for each in entries(house)] == [False, True]


def test_a_log_of_one_session_is_emptied_at_its_end_and_not_before(build: Build) -> None:
    house = build()
    assert get(house.bridges.set_log.remote(None, True)) == HookLogSettings(clear_after_session=True)
    get(house.bridges.note.remote(load("claude", "Stop"), HookContext()))
    assert len(entries(house)) == 1
    get(house.system.stop("bridges"), timeout=10.0)
    assert entries(house) == []
