"""When a crash loop is given up, whatever its pace, and what an actor may do while it starts."""

from __future__ import annotations

import pytest

from whisk.actors.actor import Actor
from whisk.actors.cell import Down
from whisk.actors.future import Future, get
from whisk.actors.restart import RestartPolicy
from whisk.actors.system import ActorSystem
from whisk.errors import NoSuchActorError, WhiskError


def lives(policy: RestartPolicy, seconds: float, most: int = 1000) -> int:
    """How often something is started that works for so many seconds and then crashes."""
    crashes: list[float] = []
    now = 0.0
    for count in range(1, most):
        now += seconds
        crashes = policy.remembered([*crashes, now], now)
        delay = policy.after_crash(crashes, now)
        if delay is None:
            return count
        assert delay <= policy.cap
        now += delay
    return most


@pytest.mark.parametrize("seconds", [0.0, 0.1, 2.0, 10.0, 25.0])
def test_a_loop_is_given_up_although_each_start_succeeds(seconds: float) -> None:
    policy = RestartPolicy()
    assert 6 <= lives(policy, seconds) <= 21


def test_crashes_that_are_far_apart_are_no_loop() -> None:
    assert lives(RestartPolicy(), 60.0) == 1000


def test_a_loop_costs_little_until_it_is_given_up() -> None:
    policy = RestartPolicy()
    delays = [policy.after_crash([0.0] * count, 0.0) for count in range(1, 6)]
    assert delays == [0.05, 0.1, 0.2, 0.4, 0.8]


def test_an_actor_may_wait_for_a_child_to_stop_while_it_starts(system: ActorSystem) -> None:
    class ParentActor(Actor):
        def on_start(self) -> None:
            self.system.spawn(Actor, name="child", parent=self.name)
            get(self.system.stop("child"))

        def work(self) -> str:
            return "done"

    assert get(system.spawn(ParentActor, name="parent").work.remote()) == "done"
    assert system.names() == ("parent",)


def test_an_actor_that_waits_for_its_own_end_while_it_starts_is_told_and_ends(system: ActorSystem) -> None:
    told: Future[WhiskError] = Future()

    class HastyActor(Actor):
        def on_start(self) -> None:
            try:
                get(self.system.stop(self.name), timeout=0.05)
            except WhiskError as error:
                told.set(error)

        def work(self) -> None: ...

    gone: Future[Down] = Future()
    handle = system.spawn(HastyActor, name="hasty")
    system.watch("hasty", gone.set)
    assert get(told).code == "deadline"
    assert get(gone).reason == "stopped"
    with pytest.raises(NoSuchActorError):
        get(handle.work.remote())


def test_every_call_that_is_under_way_when_an_actor_dies_gets_an_error_of_its_own(system: ActorSystem) -> None:
    class DeskActor(Actor):
        def later(self) -> Future[int]:
            return Future()

        def crash(self) -> None:
            raise ValueError("a bug")

        def count(self) -> int:
            return 1

    handle = system.spawn(DeskActor, name="desk", restart="temporary")
    calls = [handle.later.options(timeout=None).remote() for _ in range(40)]
    calls += [handle.crash.remote(), handle.count.remote(), handle.later.options(timeout=None).remote()]
    outcomes: list[str] = []
    for call in calls:
        with pytest.raises(WhiskError) as refusal:
            get(call, timeout=5.0)
        outcomes.append(refusal.value.code)
        assert refusal.value.details["actor"] == "desk"
    assert outcomes == ["actor_crashed"] * 41 + ["actor_dead"] * 2
