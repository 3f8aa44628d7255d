"""Actors at rest: nobody has spoken to them for a while, so they have given up their greenlets, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gevent
import pytest

from whisk.actors.actor import Actor
from whisk.actors.cell import Down
from whisk.actors.future import Future, get
from whisk.actors.handle import Handle, Method
from whisk.actors.system import ActorSystem

SECONDS = 5.0


class SleeperActor(Actor):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines
        self._said: list[str] = []

    def on_start(self) -> None:
        self._lines.append("start")

    def on_stop(self) -> None:
        self._lines.append("stop")

    def on_failure(self, *_: object) -> None:
        self._lines.append("failure")

    def say(self, word: str) -> list[str]:
        self._said.append(word)
        return self._said

    def later(self, seconds: float) -> Future[str]:
        done: Future[str] = Future()
        self.timers.start("later", seconds, done.set, "rang")
        return done


class SleeperHandle(Handle):
    say: Method[[str], list[str]]
    later: Method[[float], str]


class Sleeper:
    """One actor in a system that sends it to rest as soon as it is idle."""

    def __init__(self, system: ActorSystem) -> None:
        self.system = system
        self.lines: list[str] = []
        self.handle = system.spawn(SleeperActor, self.lines, name="sleeper", handle=SleeperHandle)
        self.gone: Future[Down] = Future()
        system.watch("sleeper", self.gone.set)
        assert get(self.handle.say.remote("a")) == ["a"]

    @property
    def rests(self) -> bool:
        return self.system._cells["sleeper"].greenlet is None

    def sleep(self) -> None:
        with gevent.Timeout(SECONDS):
            while not self.rests:
                gevent.sleep(0.001)


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    system = ActorSystem(sweep_every=0.005, rest_after=0.0)
    yield Sleeper(system)
    system.close(timeout=SECONDS)


def test_an_actor_at_rest_has_no_greenlet_and_answers_the_next_message_as_the_same_incarnation(
    sleeper: Sleeper,
) -> None:
    for word in "bc":
        sleeper.sleep()
        assert get(sleeper.handle.say.remote(word))[-1] == word
    assert get(sleeper.handle.say.remote("d")) == ["a", "b", "c", "d"]
    assert sleeper.lines == ["start"]
    info = sleeper.system.describe("sleeper")
    assert (info.state, info.incarnation, info.received) == ("alive", 1, 4)


def test_an_actor_is_not_sent_to_rest_before_its_time(system: ActorSystem) -> None:
    sleeper = Sleeper(system)
    system._sweep()
    gevent.sleep(0.01)
    assert not sleeper.rests


def test_messages_to_an_actor_at_rest_keep_their_order(sleeper: Sleeper) -> None:
    sleeper.sleep()
    for number in range(100):
        sleeper.handle.say.tell(str(number))
    assert get(sleeper.handle.say.remote("last")) == ["a", *map(str, range(100)), "last"]


def test_a_message_in_the_moment_of_going_to_rest_is_handled(sleeper: Sleeper) -> None:
    cell = sleeper.system._cells["sleeper"]
    for number in range(100):
        cell.inbox.send_to_rest()
        assert get(sleeper.handle.say.remote(str(number)), timeout=SECONDS)[-1] == str(number)


def test_a_timer_rings_for_an_actor_at_rest(sleeper: Sleeper) -> None:
    ring = sleeper.handle.later.remote(0.05)
    sleeper.sleep()
    assert get(ring) == "rang"


@pytest.mark.parametrize(
    ("end", "reason", "last"),
    [
        (lambda system: system.stop("sleeper"), "stopped", "stop"),
        (lambda system: system.kill("sleeper"), "killed", "failure"),
    ],
    ids=["stop", "kill"],
)
def test_an_actor_at_rest_ends_as_any_other(
    sleeper: Sleeper, end: Callable[[ActorSystem], object], reason: str, last: str
) -> None:
    sleeper.sleep()
    end(sleeper.system)
    assert get(sleeper.gone).reason == reason
    assert sleeper.lines == ["start", last]
    assert sleeper.system.find("sleeper") is None


def test_an_actor_that_is_killed_as_it_is_about_to_wake_ends_once(sleeper: Sleeper) -> None:
    sleeper.sleep()
    answer = sleeper.handle.say.remote("b")
    sleeper.system.kill("sleeper")
    assert get(sleeper.gone).reason == "killed"
    assert answer.error() is not None or answer.get() == ["a", "b"]
    assert sleeper.lines == ["start", "failure"]


def test_an_actor_at_rest_can_be_restarted_and_rests_again(sleeper: Sleeper) -> None:
    sleeper.sleep()
    get(sleeper.system.restart("sleeper"))
    assert get(sleeper.handle.say.remote("b")) == ["b"]
    sleeper.sleep()
    assert sleeper.system.describe("sleeper").incarnation == 2
    assert sleeper.lines == ["start", "stop", "start"]
