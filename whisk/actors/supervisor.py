"""The supervisor: the root of the tree. It answers who a selector stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whisk.actors.actor import Actor
from whisk.actors.cell import Down
from whisk.actors.future import wait
from whisk.actors.handle import Handle, Method
from whisk.actors.pty import PtyHandle
from whisk.clock import Instant
from whisk.errors import RefusedError
from whisk.mail.address import MailAddress
from whisk.mail.selector import expand
from whisk.storage import worker
from whisk.storage.database import Store
from whisk.storage.worker import Standing, Worker

ASK_SECONDS = 1.0


class SupervisorActor(Actor):
    """Everything that lives as long as the daemon is below it; what it knows of workers, it reads from storage."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._given_up: list[str] = []

    def expand(self, recipients: Sequence[MailAddress]) -> tuple[MailAddress, ...]:
        """Put in place of `@project:`, `@work-item:` and `@idle:` one concrete address per current worker.

        Raises `NotFoundError` for an unknown project or item and `RefusedError` when a selector stands for nobody.
        Blocks this actor for the reads.
        """
        return expand(recipients, self._workers)

    def on_down(self, down: Down) -> None:
        self._given_up = [*self._given_up[-99:], down.name]
        self.log.error("a part of the daemon has failed", failed=down.name, reason=down.reason)

    def describe(self) -> dict[str, object]:
        return {"givenUp": list(self._given_up)}

    def _workers(self, selector: MailAddress) -> list[MailAddress]:
        if selector.kind == "@work-item":
            return [w.address for w in self._store.read(lambda db: worker.of_work_item(db, selector.id))]
        workers = self._store.read(lambda db: worker.of_project(db, selector.id))
        if selector.kind == "@project":
            return [w.address for w in workers]
        return [self._idle(selector, workers)]

    def _idle(self, selector: MailAddress, workers: Sequence[Worker]) -> MailAddress:
        """One idle worker, the longest idle first; who has not said that it is idle is not known to be."""
        told = self._store.read(lambda db: worker.standing(db, workers))
        found = Standing(idle=(*told.idle, *self._idle_by_report(told.untold)), untold=()).longest_idle()
        if found is None:
            # Guessing from a title or the screen would send work into the middle of somebody's turn.
            raise RefusedError(
                f"no worker of {selector.id} is known to be idle",
                selector=str(selector),
                workers=[str(w.address) for w in workers],
                hint=f"send to @project:{selector.id} or to one of the workers",
            )
        return found.address

    def _idle_by_report(self, untold: Sequence[Worker]) -> Iterator[tuple[Instant, Worker]]:
        """Those without hooks whose program itself has told its terminal that it is idle."""
        asked = [
            (each, handle.info.remote())
            for each in untold
            if (handle := self.system.find(f"pty:{each.pty_id}", handle=PtyHandle)) is not None
        ]
        wait([info for _, info in asked], num_returns=len(asked), timeout=ASK_SECONDS)
        for each, info in asked:
            status = info.get().agent_status if info.done() and info.error() is None else None
            if status is None or status.source != "osc9999" or status.state != "idle":
                continue
            if status.since is not None:
                yield status.since, each


class SupervisorHandle(Handle):
    expand: Method[[Sequence[MailAddress]], tuple[MailAddress, ...]]
