"""The actor kernel: names, replies, failures, restarts, the tree and the end."""

from __future__ import annotations

import pickle

import gevent
import pykka
import pytest
from gevent.event import Event

from whisk.actors.actor import Actor, control
from whisk.actors.cell import Down
from whisk.actors.future import Future, cancel, get, wait
from whisk.actors.handle import Handle, Method
from whisk.actors.system import ActorSystem
from whisk.errors import (
    ActorCrashedError,
    ActorDeadError,
    BusyError,
    CancelledError,
    ConflictError,
    DeadlineError,
    InvalidError,
    NoSuchActorError,
    RefusedError,
    WouldDeadlockError,
)


class CounterActor(Actor):
    def __init__(self, start: int = 0, log: list[str] | None = None) -> None:
        super().__init__()
        self._n = start
        self._log_lines = log if log is not None else []
        self._held: Future[int] | None = None

    def on_start(self) -> None:
        self._log_lines.append(f"start {self.name}")

    def on_stop(self) -> None:
        self._log_lines.append(f"stop {self.name}")

    def add(self, amount: int) -> int:
        self._n += amount
        return self._n

    def refuse(self) -> None:
        raise RefusedError("not now", why="test")

    def crash(self) -> None:
        raise ValueError("a bug")

    def escape(self, kind: str) -> None:
        raise {"exit": SystemExit(3), "timeout": gevent.Timeout(1), "greenlet": gevent.GreenletExit()}[kind]

    def hold(self) -> Future[int]:
        self._held = Future()
        return self._held

    def release(self) -> None:
        assert self._held is not None
        self._held.set(self._n)

    def was_cancelled(self) -> bool:
        return self._held is not None and isinstance(self._held.error(), CancelledError)

    def block(self, gate: Event) -> str:
        gate.wait()
        return "unblocked"

    @control
    def peek(self) -> int:
        return self._n

    def ask_me(self, name: str) -> int:
        return int(get(self.system.get(name).add.remote(1)))

    def ask_round(self, other: str, me: str) -> int:
        return int(get(self.system.get(other).ask_me.remote(me)))


class CounterHandle(Handle):
    add: Method[[int], int]
    refuse: Method[[], None]
    crash: Method[[], None]
    escape: Method[[str], None]
    hold: Method[[], int]
    release: Method[[], None]
    was_cancelled: Method[[], bool]
    block: Method[[Event], str]
    peek: Method[[], int]


def counter(system: ActorSystem, name: str = "counter:1", **options: object) -> CounterHandle:
    return system.spawn(CounterActor, name=name, handle=CounterHandle, **options)


def test_a_call_is_answered_and_keeps_state(system: ActorSystem) -> None:
    handle = system.spawn(CounterActor, 5, name="c", handle=CounterHandle)
    assert get(handle.add.remote(2)) == 7
    handle.add.tell(1)
    assert get(handle.add.remote(0)) == 8


def test_a_handle_survives_pickling_and_finds_the_actor(system: ActorSystem) -> None:
    handle = pickle.loads(pickle.dumps(counter(system)))
    assert isinstance(handle, CounterHandle)
    assert get(handle.add.remote(1)) == 1


def test_a_refusal_is_a_reply_and_the_actor_lives(system: ActorSystem) -> None:
    handle = counter(system)
    with pytest.raises(RefusedError) as caught:
        get(handle.refuse.remote())
    assert caught.value.details == {"why": "test"}
    assert get(handle.add.remote(1)) == 1
    assert system.describe("counter:1").restarts == 0


def test_an_unknown_message_names_the_known_ones(system: ActorSystem) -> None:
    handle = counter(system)
    with pytest.raises(InvalidError) as caught:
        get(handle.nonsense.remote())
    assert "add" in caught.value.details["known"]
    with pytest.raises(InvalidError):
        get(handle.stop.remote())
    with pytest.raises(InvalidError):
        handle.nonsense.tell()


def test_a_crash_restarts_the_actor_with_its_queue(system: ActorSystem) -> None:
    handle = counter(system)
    get(handle.add.remote(5))
    crashed = handle.crash.remote()
    after = [handle.add.remote(1) for _ in range(3)]
    with pytest.raises(ActorCrashedError) as caught:
        get(crashed)
    assert isinstance(caught.value.__cause__, ValueError)
    # The state is the constructor's again, the queued messages are not lost.
    assert get(after) == [1, 2, 3]
    info = system.describe("counter:1")
    assert (info.restarts, info.incarnation, info.state) == (1, 2, "alive")
    assert info.last_error == "ValueError: a bug"


@pytest.mark.parametrize("kind", ["exit", "timeout"])
def test_no_exception_of_any_kind_reaches_another_actor(system: ActorSystem, kind: str) -> None:
    one, other = counter(system, "one"), counter(system, "other")
    with pytest.raises(ActorCrashedError):
        get(one.escape.remote(kind))
    assert get(other.add.remote(1)) == 1
    assert get(one.add.remote(1)) == 1


def test_a_failing_tell_is_a_crash_that_is_seen(system: ActorSystem) -> None:
    handle = counter(system)
    seen: Future[Down] = Future()
    system.watch("counter:1", seen.set)
    handle.crash.tell()
    down = get(seen)
    assert (down.name, down.restarting) == ("counter:1", True)


def test_too_many_crashes_make_it_failed_and_visible(system: ActorSystem) -> None:
    handle = counter(system, max_restarts=2, within=10.0, backoff=0.001)
    given_up: Future[Down] = Future()
    system.watch("counter:1", lambda down: down.restarting or given_up.set(down))
    for _ in range(3):
        with pytest.raises(ActorCrashedError):
            get(handle.crash.remote())
    assert "ValueError" in get(given_up).reason
    assert system.describe("counter:1").state == "failed"
    with pytest.raises(ActorDeadError):
        get(handle.add.remote(1))
    get(system.restart("counter:1"))
    assert get(handle.add.remote(1)) == 1


def test_a_temporary_actor_is_not_restarted(system: ActorSystem) -> None:
    handle = counter(system, restart="temporary")
    gone: Future[Down] = Future()
    system.watch("counter:1", gone.set)
    handle.crash.tell()
    get(gone)
    with pytest.raises(NoSuchActorError):
        get(handle.add.remote(1))


def test_a_deferred_reply_leaves_the_actor_free(system: ActorSystem) -> None:
    handle = counter(system)
    held = handle.hold.remote()
    assert get(handle.add.remote(4)) == 4
    assert not held.done()
    handle.release.tell()
    assert get(held) == 4


@pytest.mark.parametrize("end", ["crash", "stop", "kill"])
def test_a_deferred_reply_is_not_forgotten_when_the_actor_ends(system: ActorSystem, end: str) -> None:
    handle = counter(system)
    held = handle.hold.remote()
    get(handle.add.remote(0))
    if end == "crash":
        handle.crash.tell()
    else:
        getattr(system, end)("counter:1")
    with pytest.raises(ActorCrashedError if end == "crash" else ActorDeadError):
        get(held, timeout=5.0)


def test_a_deferred_reply_that_another_actor_owes_outlives_this_one(system: ActorSystem) -> None:
    class AgentActor(Actor):
        def pass_on(self) -> Future[int]:
            return self.system.get("owner", CounterHandle).hold.remote()

    owner = counter(system, "owner")
    held = system.spawn(AgentActor, name="agent").pass_on.remote()
    get(owner.add.remote(3))
    while not system.describe("owner").received >= 2:
        gevent.sleep(0)
    get(system.stop("agent"))
    owner.release.tell()
    assert get(held) == 3


def test_cancelling_a_call_tells_whoever_works_on_it(system: ActorSystem) -> None:
    handle = counter(system)
    held = handle.hold.remote()
    get(handle.add.remote(0))
    assert cancel(held)
    with pytest.raises(CancelledError):
        get(held)
    assert get(handle.was_cancelled.remote())


def test_a_cancelled_call_that_is_still_queued_is_not_handled(system: ActorSystem) -> None:
    handle, gate = counter(system), Event()
    blocked = handle.block.remote(gate)
    queued = handle.add.remote(1)
    cancel(queued)
    gate.set()
    get(blocked)
    assert get(handle.add.remote(0)) == 0


def test_a_call_whose_time_has_passed_is_not_handled(system: ActorSystem) -> None:
    handle, gate = counter(system), Event()
    blocked = handle.block.remote(gate)
    late = handle.add.options(timeout=0.01).remote(1)
    with pytest.raises(DeadlineError):
        get(late, timeout=0.02)
    gate.set()
    get(blocked)
    assert get(handle.add.remote(0)) == 0


def test_the_time_of_the_caller_bounds_the_calls_it_makes(system: ActorSystem) -> None:
    first, second, gate = counter(system, "first"), counter(system, "second"), Event()
    blocked = second.block.remote(gate)
    asking = first.ask_me.options(timeout=0.05).remote("second")
    with pytest.raises(DeadlineError) as caught:
        get(asking, timeout=5.0)
    assert caught.value.details["actor"] == "second"
    gate.set()
    get(blocked)


def test_an_actor_that_asks_itself_is_told_at_once(system: ActorSystem) -> None:
    handle = counter(system)
    with pytest.raises(WouldDeadlockError) as caught:
        get(handle.ask_me.remote("counter:1"), timeout=None)
    assert caught.value.details["path"] == ["counter:1", "counter:1"]


def test_a_ring_of_waiting_actors_is_found_at_once(system: ActorSystem) -> None:
    one = counter(system, "one")
    counter(system, "two")
    with pytest.raises(WouldDeadlockError) as caught:
        get(one.ask_round.remote("two", "one"), timeout=None)
    assert caught.value.details["path"] == ["two", "one", "two"]


def test_a_full_inbox_refuses_at_once_but_control_goes_through(system: ActorSystem) -> None:
    handle, gate = counter(system, mailbox=2), Event()
    blocked = handle.block.remote(gate)
    gevent.sleep(0)
    queued = [handle.add.remote(1) for _ in range(2)]
    with pytest.raises(BusyError):
        get(handle.add.remote(1))
    with pytest.raises(BusyError):
        handle.add.tell(1)
    peeked = handle.peek.remote()
    gate.set()
    get(blocked)
    assert get(peeked) == 0, "the control lane is read before the data lane"
    assert get(queued) == [1, 2]


def test_names_are_unique_unless_asked_otherwise(system: ActorSystem) -> None:
    handle = counter(system)
    get(handle.add.remote(3))
    with pytest.raises(ConflictError):
        counter(system)
    assert get(counter(system, get_if_exists=True).add.remote(0)) == 3


def test_labels_select_and_the_tree_has_its_order(system: ActorSystem) -> None:
    counter(system, "top")
    counter(system, "b", parent="top", labels={"project": "p"})
    counter(system, "a", parent="top", labels={"project": "p"})
    assert [info.name for info in system.list(project="p")] == ["a", "b"]
    (root,) = system.tree()
    assert (root.actor.name, [child.actor.name for child in root.children]) == ("top", ["b", "a"])


def test_stop_ends_children_first_and_handles_what_is_queued(system: ActorSystem) -> None:
    lines: list[str] = []
    for name, parent in [("top", None), ("one", "top"), ("two", "top"), ("deep", "one")]:
        system.spawn(CounterActor, 0, lines, name=name, parent=parent)
    queued = system.get("one", CounterHandle).add.remote(1)
    get(system.stop("top"))
    assert get(queued) == 1
    assert lines == [
        "start top",
        "start one",
        "start two",
        "start deep",
        "stop two",
        "stop deep",
        "stop one",
        "stop top",
    ]
    assert system.names() == ()


def test_kill_ends_a_busy_actor_and_its_messages_are_not_lost_silently(system: ActorSystem) -> None:
    handle, gate = counter(system), Event()
    blocked = handle.block.remote(gate)
    gevent.sleep(0)
    asked = handle.add.remote(1)
    handle.add.tell(7)
    system.kill("counter:1")
    with pytest.raises(ActorCrashedError):
        get(blocked)
    with pytest.raises(ActorDeadError):
        get(asked)
    (letter,) = system.dead_letters.list()
    assert (letter.to, letter.method, letter.arguments) == ("counter:1", "add", "7")


def test_kill_ends_an_actor_that_has_not_begun_to_run(system: ActorSystem) -> None:
    handle = counter(system)
    asked = handle.add.remote(1)
    system.kill("counter:1")
    assert system.names() == ()
    with pytest.raises(ActorDeadError):
        get(asked)


def test_a_dead_letter_can_be_replayed_once(system: ActorSystem) -> None:
    Handle("counter:1", system=system).add.tell(5)
    (letter,) = system.dead_letters.list()
    with pytest.raises(NoSuchActorError):
        system.replay(letter.id)
    handle = counter(system)
    system.replay(letter.id)
    assert get(handle.add.remote(0)) == 5
    assert system.dead_letters.list() == ()


def test_dead_letters_are_bounded_and_counted() -> None:
    small = ActorSystem("small", dead_letters=3)
    for number in range(5):
        Handle("nobody", "small").add.tell(number)
    assert [letter.arguments for letter in small.dead_letters.list()] == ["2", "3", "4"]
    assert small.dead_letters.total == 5
    small.close()


def test_rest_for_one_restarts_the_younger_siblings_in_order(system: ActorSystem) -> None:
    lines: list[str] = []
    system.spawn(CounterActor, 0, name="top", strategy="rest_for_one")
    for name in ("a", "b", "c"):
        system.spawn(CounterActor, 0, lines, name=name, parent="top", backoff=0.001)
    with pytest.raises(ActorCrashedError):
        get(system.get("b", CounterHandle).crash.remote())
    assert get(system.get("c", CounterHandle).add.remote(1)) == 1
    assert lines == ["start a", "start b", "start c", "stop c", "start b", "start c"]
    assert system.describe("a").incarnation == 1


def test_an_idle_actor_passes_away_and_a_message_that_slips_in_is_kept(system: ActorSystem) -> None:
    gone: Future[Down] = Future()
    counter(system, idle_after=0.05)
    system.watch("counter:1", gone.set)
    assert get(gone).reason == "stopped"
    assert system.find("counter:1") is None


def test_a_timer_is_a_message_and_dies_with_the_incarnation(system: ActorSystem) -> None:
    class TickActor(Actor):
        def begin(self) -> Future[str]:
            done: Future[str] = Future()
            self.timers.start("tick", 10.0, done.set, "late")
            self.timers.start("tick", 0.001, done.set, "replaced")
            return done

        def crash_with_timer(self, fired: Future[None]) -> None:
            self.timers.start("other", 0.001, fired.set)
            raise ValueError

    handle = system.spawn(TickActor, name="tick")
    assert get(handle.begin.remote()) == "replaced"
    fired: Future[None] = Future()
    handle.crash_with_timer.tell(fired)
    ready, _ = wait([fired], timeout=0.05)
    assert not ready


def test_an_owned_greenlet_that_dies_crashes_its_actor(system: ActorSystem) -> None:
    class OwnerActor(Actor):
        def begin(self) -> None:
            self.spawn_greenlet(self._fail)

        def _fail(self) -> None:
            raise KeyError("lost")

    crashed: Future[Down] = Future()
    handle = system.spawn(OwnerActor, name="owner")
    system.watch("owner", crashed.set)
    handle.begin.tell()
    assert "KeyError" in get(crashed).reason


def test_a_failing_start_is_a_crash_with_back_off(system: ActorSystem) -> None:
    class NeverActor(Actor):
        def on_start(self) -> None:
            raise OSError("no disk")

        def work(self) -> None: ...

    handle = system.spawn(NeverActor, name="never", max_restarts=1, backoff=0.001)
    with pytest.raises(ActorDeadError):
        get(handle.work.remote())
    assert system.describe("never").last_error == "OSError: no disk"


def test_an_actor_may_stop_itself_and_start_children_while_starting(system: ActorSystem) -> None:
    class BriefActor(Actor):
        def on_start(self) -> None:
            self.system.spawn(CounterActor, name="child", parent=self.name)
            self.stop()

    gone: Future[Down] = Future()
    system.spawn(BriefActor, name="brief")
    system.watch("brief", gone.set)
    assert get(gone).reason == "stopped"
    assert system.names() == ()


def test_drain_goes_by_phases_and_reports_what_it_had_to_kill() -> None:
    system, lines, gate = ActorSystem("drained"), list[str](), Event()
    for name in ("journal", "session:1", "session:2"):
        system.spawn(CounterActor, 0, lines, name=name)
    stuck = system.spawn(CounterActor, 0, name="stuck", handle=CounterHandle)
    stuck.block.tell(gate)
    report = system.drain([("session:*",), ("journal",)], timeout=0.3)
    stopped = [line for line in lines if line.startswith("stop")]
    assert (sorted(stopped[:2]), stopped[2:]) == (["stop session:1", "stop session:2"], ["stop journal"])
    assert (report.stopped, [info.name for info in report.left], report.left[0].busy) == (3, ["stuck"], "block")
    assert system.close().left == ()


def test_wait_gives_the_ready_ones_in_order(system: ActorSystem) -> None:
    handle = counter(system)
    held, quick = handle.hold.remote(), handle.add.remote(1)
    assert wait([held, quick], timeout=5.0) == ([quick], [held])
    assert wait([held], timeout=0.001) == ([], [held])


def test_a_plain_pykka_reference_still_works(system: ActorSystem) -> None:
    class HearsActor(Actor):
        def on_receive(self, message: object) -> object:
            return ("heard", message)

    system.spawn(HearsActor, name="hears")
    (reference,) = [r for r in pykka.ActorRegistry.get_all() if r.actor_class is HearsActor]
    assert reference.ask("hello", timeout=5) == ("heard", "hello")
    assert reference.stop(block=True, timeout=5)
    assert system.names() == ()


def test_ten_thousand_actors_come_and_go(system: ActorSystem) -> None:
    handles = [counter(system, f"n:{i}") for i in range(10_000)]
    assert sum(get([h.add.remote(1) for h in handles])) == 10_000
    assert len(pykka.ActorRegistry.get_all()) >= 10_000
    report = system.drain()
    assert (report.stopped, system.names(), pykka.ActorRegistry.get_all()) == (10_000, (), [])
