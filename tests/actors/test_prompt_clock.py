"""A prompt's time while somebody sets the wall clock: neither ended by it nor made longer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge_house import DEADLINE, House
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.bridges.setting import PromptSettings
from whisk.clock import Instant, SystemClock
from whisk.errors import DeadlineError

HOUR = 3600.0


class SetClock(SystemClock):
    """The real clock, whose hands a person moves."""

    moved = 0.0

    def now(self) -> Instant:
        return super().now().plus(self.moved)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def system(clock: SetClock) -> Iterator[ActorSystem]:
    system = ActorSystem(clock=clock)
    yield system
    assert not system.close(timeout=5.0).left


def open_house(system: ActorSystem, path: Path, seconds: float) -> House:
    return House(system, path, PromptSettings(limit=seconds, orphan_grace=30.0))


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_set_while_somebody_waits_changes_nothing(
    system: ActorSystem, clock: SetClock, tmp_path: Path, hours: int
) -> None:
    house = open_house(system, tmp_path / "whisk.sqlite3", 1.0)
    asked = house.call(house.register(), "PermissionRequest-Bash")
    output = house.wait_for(asked)
    assert get(house.actor(asked).show.remote()).state == "pending"
    clock.moved = hours * HOUR
    with pytest.raises(DeadlineError):
        get(output, timeout=0.05)
    began = time.monotonic()
    assert get(output, timeout=DEADLINE) == ""
    assert time.monotonic() - began < 5
    assert house.stored(asked).state == "timed_out"
    house.close()


def test_a_clock_that_was_set_back_before_a_restart_makes_no_wait_longer(
    system: ActorSystem, clock: SetClock, tmp_path: Path
) -> None:
    house = open_house(system, tmp_path / "whisk.sqlite3", 0.3)
    asked = house.call(house.register(), "PermissionRequest-Bash")
    house.close()
    clock.moved = -HOUR
    later = open_house(system, tmp_path / "whisk.sqlite3", 0.3)
    later.until_state(asked, "timed_out")
    later.close()
