"""Events of agents that come late, twice, in another order, or from another terminal: the state is right in the end."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.bridge_house import DEADLINE, Build, House
from whisk.actors.future import get
from whisk.bridges.bridge import BridgeCredentials
from whisk.bridges.request import BridgeRequest
from whisk.bridges.resolution import Resolution
from whisk.storage import bridge as bridge_storage

CALL = ("PreToolUse-Bash", "PermissionRequest-Bash", "PostToolUseFailure-Bash", "Stop")


def tell(house: House, bridge: BridgeCredentials, names: tuple[str, ...], session: str) -> None:
    for name in names:
        house.call(bridge, name, session_id=session)


@pytest.mark.parametrize("next_event", ["UserPromptSubmit", "SessionEnd-other"])
def test_in_whatever_order_a_calls_events_come_nothing_waits_in_the_end(build: Build, next_event: str) -> None:
    house = build()
    bridge = house.register()
    for number, names in enumerate(permutations(CALL)):
        tell(house, bridge, (*names, next_event), f"session {number}")
    closed = house.until(lambda: _closed(house))
    assert len(closed) == 24
    assert {each.state for each in closed} == {"withdrawn"}, "nobody answered, so nobody is said to have"
    assert {each.closing.by for each in closed if each.closing} == {"agent"}


@pytest.mark.parametrize("word", ["allow", "deny"])
def test_in_whatever_order_the_later_events_come_an_answer_stays_what_it_was(build: Build, word: str) -> None:
    house = build()
    bridge = house.register()
    for number, names in enumerate(permutations((CALL[0], *CALL[2:]))):
        asked = house.call(bridge, CALL[1], session_id=f"session {number}")
        get(house.actor(asked).resolve.remote(Resolution(answer=word, actor="ada")))
        tell(house, bridge, (*names, "UserPromptSubmit"), f"session {number}")
    closed = house.store.read(bridge_storage.list_requests)
    assert {(each.closing.by, each.closing.action) for each in closed if each.closing} == {("ada", word)}
    for each in closed:
        # That it ran is known where its report came before the end of the turn; it never counts as the other answer.
        assert not (each.applied_at and each.overruled_at and word == "allow")


def test_an_event_that_is_told_twice_closes_one_request(build: Build) -> None:
    house = build()
    bridge = house.register()
    first, second = (house.call(bridge, "PermissionRequest-Bash", tool_input={"command": word}) for word in "ab")
    for _ in range(3):
        house.call(bridge, "PostToolUseFailure-Bash", tool_input={"command": "a"})
    house.until_state(first, "withdrawn")
    assert house.stored(second).state == "pending"


@pytest.mark.parametrize("name", ["PostToolUseFailure-Bash", "Stop", "SessionEnd-other", "UserPromptSubmit"])
def test_an_event_of_one_terminal_proves_nothing_about_another_with_the_same_conversation(
    build: Build, name: str
) -> None:
    """One conversation resumed in two terminals has one session id in both."""
    house = build()
    one, other = house.register(pty="pty_1"), house.register(pty="pty_2")
    mine, theirs = house.call(one, "PermissionRequest-Bash"), house.call(other, "PermissionRequest-Bash")
    output = house.wait_for(theirs)
    house.call(other, name)
    assert get(output, timeout=DEADLINE) == ""
    house.until_state(theirs, "withdrawn")
    assert house.stored(mine).state == "pending"


def _closed(house: House) -> list[BridgeRequest]:
    found = house.store.read(bridge_storage.list_requests)
    return found if all(each.closing is not None for each in found) else []
