"""An agent that is gone without a word takes its own waiting prompts with it, and nobody else's."""

from __future__ import annotations

from tests.bridge_house import Build


def test_an_agent_that_is_gone_withdraws_what_waited_for_it(build: Build) -> None:
    house = build()
    asked = house.call(house.register(pty="pty_1"), "PreToolUse-AskUserQuestion-single")
    request = house.stored(asked)
    house.bridges.agent_gone.tell("claude", request.provider_session, "pty_1")
    closing = house.until_state(asked, "withdrawn").closing
    assert closing is not None
    assert closing.reason == "agent_gone"


def test_the_same_session_in_another_terminal_goes_on_waiting(build: Build) -> None:
    """A conversation may be taken up elsewhere before the end of its first process is noticed."""
    house = build()
    first = house.call(house.register(pty="pty_1"), "PreToolUse-AskUserQuestion-single")
    second = house.call(house.register(pty="pty_2"), "PreToolUse-AskUserQuestion-single")
    session = house.stored(second).provider_session
    assert session == house.stored(first).provider_session
    house.bridges.agent_gone.tell("claude", session, "pty_1")
    house.until_state(first, "withdrawn")
    assert house.stored(second).state == "pending"
