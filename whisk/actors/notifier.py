"""The notifier: tells a person that they are needed, or that something is done; once, and only while that is so."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gevent
import msgspec
from gevent.event import Event
from peewee import Database

from whisk.actors.actor import Actor, control
from whisk.actors.future import Future, get
from whisk.actors.handle import Handle, Method
from whisk.actors.journal import JournalHandle
from whisk.actors.notify_send import Sender
from whisk.clock import Instant
from whisk.errors import WhiskError
from whisk.matters.matter import Matter, Numbered
from whisk.matters.notice import (
    Notice,
    NotifyResult,
    NotifySettings,
    NotifyState,
    NotifyTarget,
    notice_of,
    quiet_minutes,
)
from whisk.storage import matter as matter_storage
from whisk.storage import notice as storage
from whisk.storage.database import Store

_BATCH = 50
_PAUSES = (1.0, 5.0)
_BREATH = 1.0


def _local_minute() -> int:
    now = time.localtime()
    return now.tm_hour * 60 + now.tm_min


@dataclass(frozen=True)
class NotifierServices:
    """`tell` says how a matter stands now. `minute()` is the minute of the local day."""

    store: Store
    journal: JournalHandle
    settings: NotifySettings
    tell: Callable[[Numbered], Matter | None]
    minute: Callable[[], int] = field(default=_local_minute)
    pauses: tuple[float, ...] = _PAUSES


class NotifierActor(Actor):
    """Named `notifier`; there is one only while addresses are configured."""

    def __init__(self, services: NotifierServices) -> None:
        super().__init__()
        self._services = services
        self._settings = services.settings
        self._sender = Sender(services.settings.urls, services.settings.timeout)
        self._news = Event()
        self._state = NotifyState(enabled=True, installed=self._sender.installed, targets=())
        self._errors: dict[int, str] = {}

    def on_start(self) -> None:
        self._cursor: int = get(self._services.journal.write.remote(storage.begin))
        if not self._sender.installed:
            self.log.warning("notices are configured, but cannot be sent", why="apprise is not installed")
        self._news.set()
        self.spawn_greenlet(self._work)

    def describe(self) -> dict[str, Any]:
        return {"sent": self._state.sent, "failed": self._state.failed, "cursor": self._cursor}

    @control
    def wake(self) -> None:
        """There are new matters."""
        self._news.set()

    def show(self) -> Future[NotifyState]:
        reply: Future[NotifyState] = Future()
        self.spawn_greenlet(self._show, reply)
        return reply

    def test(self) -> Future[list[NotifyResult]]:
        """Send one notice that is about nothing to each target, quiet or not."""
        reply: Future[list[NotifyResult]] = Future()
        self.spawn_greenlet(self._test, reply)
        return reply

    def _show(self, reply: Future[NotifyState]) -> None:
        last = self._services.store.read(matter_storage.last)
        targets = [
            msgspec.structs.replace(target, error=target.error or self._errors.get(number, ""))
            for number, target in enumerate(self._sender.targets())
        ]
        quiet = quiet_minutes(self._settings.quiet, self._services.minute()) > 0
        reply.set(
            msgspec.structs.replace(
                self._state, targets=tuple(targets), quiet=quiet, waiting=max(0, last - self._cursor)
            )
        )

    def _test(self, reply: Future[list[NotifyResult]]) -> None:
        results: list[NotifyResult] = []
        for number, target in enumerate(self._sender.targets()):
            error = self._sender.send(number, "whisk: a test", "whisk can reach you here.")
            results.append(NotifyResult(target=target.url, delivered=not error, error=error))
        reply.set(results)

    # -- telling -----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            try:
                while self._look():
                    pass
            except WhiskError as error:
                self.log.warning("notices wait", why=error.message)
                gevent.sleep(_BREATH)
                self._news.set()

    def _look(self) -> bool:
        """Whether there was anything to look at."""
        found = self._services.store.read(lambda db: matter_storage.after(db, self._cursor, _BATCH))
        for numbered in found:
            notice = self._settle(numbered)
            told = self._send(notice) if notice is not None else False
            self._move(numbered.seq, notice.key if notice is not None and told else "")
        return bool(found)

    def _settle(self, numbered: Numbered) -> Notice | None:
        """What is to be told of it after the delay and outside the quiet hours, if anything still is."""
        matter = self._services.tell(numbered)
        notice = notice_of(matter, self._settings.kinds) if matter is not None else None
        if matter is None or notice is None or self._is_repeated(notice):
            return None
        age = matter.at.seconds_until(self.clock.now())
        # The clock may have been set since; nobody waits longer than was meant.
        gevent.sleep(min(max(self._settings.delay - age, 0.0), self._settings.delay))
        while minutes := quiet_minutes(self._settings.quiet, self._services.minute()):
            gevent.sleep(min(minutes, 5) * 60.0)
        matter = self._services.tell(numbered)
        still = notice_of(matter, self._settings.kinds) if matter is not None else None
        if still is None:
            self._state = msgspec.structs.replace(self._state, withdrawn=self._state.withdrawn + 1)
        return still

    def _is_repeated(self, notice: Notice) -> bool:
        """Whether a person has been told of this already: of what is done ever, of what needs them lately."""
        before = self._services.store.read(lambda db: storage.sent_at(db, notice.key))
        if before is None:
            return False
        return notice.kind == "done" or before.seconds_until(self.clock.now()) < self._settings.cooldown

    def _send(self, notice: Notice) -> bool:
        """To every target; whether at least one of them took it. Who did not is tried again a few times."""
        left = dict.fromkeys(range(len(self._settings.urls)), "")
        for pause in (0.0, *self._services.pauses):
            gevent.sleep(pause)
            for number in list(left):
                error = self._sender.send(number, notice.title, notice.body)
                if error:
                    left[number] = self._errors[number] = error
                else:
                    del left[number]
                    self._errors.pop(number, None)
            if not left:
                break
        taken = len(self._settings.urls) > len(left)
        for number, error in left.items():
            self.log.warning("a notice was not sent", target=number, error=error, about=notice.key)
        counts = {"failed": self._state.failed + len(left), "sent": self._state.sent + taken}
        at: Instant | None = self.clock.now() if taken else self._state.last_sent_at
        self._state = msgspec.structs.replace(self._state, **counts, last_sent_at=at)
        return taken

    def _move(self, seq: int, key: str) -> None:
        now = self.clock.now()

        def write(db: Database) -> None:
            storage.move(db, seq, key, now)

        get(self._services.journal.write.remote(write))
        self._cursor = seq


class NotifierHandle(Handle):
    wake: Method[[], None]
    show: Method[[], NotifyState]
    test: Method[[], list[NotifyResult]]


def disabled(targets: tuple[NotifyTarget, ...] = ()) -> NotifyState:
    """How it stands when nobody is to be told."""
    return NotifyState(enabled=False, installed=Sender((), 1.0).installed, targets=targets)
