"""Who counts as a person."""

from __future__ import annotations

import pytest

from whisk.errors import RefusedError
from whisk.work.person import is_person, need_person


@pytest.mark.parametrize("name", ["human", "ada", "Ada Lovelace", "run", "session", "http://x", "agents"])
def test_a_name_is_a_persons(name: str) -> None:
    assert is_person(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "agent",
        "Agent",
        "agent:claude",
        "plugin",
        "plugin:x",
        "daemon",
        "runtime",
        "run:run_1",
        "pty:p",
        "work-item:i",
        "peer:p",
    ],
)
def test_programs_and_addresses_are_no_persons(name: str) -> None:
    assert not is_person(name)
    with pytest.raises(RefusedError, match="gate completion requires human actor"):
        need_person(name, "gate completion")
