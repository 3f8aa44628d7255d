"""Work items: how many are made, read, listed and moved in a second, and what grows when there are very many.

The large stores are written straight into the database before the daemon starts: as many messages as work items, every
tenth item blocked by the one before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from bench.load import Load, Result
from bench.report import Row, percentile, show
from bench.whiskd import Whiskd
from whisk.clock import SystemClock
from whisk.ids import new_id
from whisk.mail.address import parse_address
from whisk.mail.message import SendMailRequest, compose
from whisk.mail.thread import LoopGuard
from whisk.storage import item as item_storage
from whisk.storage import mail as mail_storage
from whisk.storage.database import Store
from whisk.storage.item_link import LINKS
from whisk.storage.journal import GroupWriter
from whisk.storage.project import PROJECTS
from whisk.work.item import CreateWorkItem, new_item
from whisk.work.item_link import ItemLink
from whisk.work.project import CreateProject, new_project

CLIENTS = 8
SECONDS = 2.0
ITEMS_LISTED = 100
SIZES = (1_000, 10_000, 100_000)
ASKED = 10
_GROUP = 500
_SETTLE_SECONDS = 1.0
_BODY = "The build is red since the cache was keyed by a path that differs between the two machines. "
_TITLE = "Mend the cache of the build on the second machine"


class FilledWhiskd(Whiskd):
    """A daemon that finds a project with `count` work items, and as many messages."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def _start(self) -> None:
        self.state_dir.mkdir(parents=True, mode=0o700)
        self.project = fill(self, self._count)
        super()._start()

    def settle(self) -> None:
        """Until it has indexed what it found."""
        while True:
            cpu = self.cpu()
            time.sleep(_SETTLE_SECONDS)
            if self.cpu() - cpu < 0.1:
                return


def fill(daemon: Whiskd, count: int) -> str:
    """Returns the project's id."""
    store, now = Store.open(daemon.state_dir / "whisk.sqlite"), SystemClock().now()
    write = GroupWriter(store).write
    project = new_project(CreateProject(root_dir=str(daemon.home), name="Bench"), project_id=new_id("proj"), now=now)
    write(lambda db: PROJECTS.insert(db, project))
    guard = LoopGuard()
    ids: list[str] = []

    def one(db: object, number: int) -> None:
        request = CreateWorkItem(project_id=project.id, title=f"{_TITLE} {number}", body_markdown=_BODY * 3)
        item = new_item(request, project.workflow, item_id=new_id("item"), number=number, now=now)
        item_storage.insert(db, item)
        ids.append(item.id)
        if number % 10 == 0:
            link = ItemLink(
                id=new_id("link"),
                project_id=project.id,
                source_work_item_id=ids[-2],
                target_work_item_id=ids[-1],
                type="blocks",
                created_at=now,
            )
            LINKS.insert(db, link)
        draft = compose(
            SendMailRequest(
                from_="session:bench", to=["session:other"], type="status", subject=f"about {number}", body=_BODY
            )
        )
        to = (parse_address("session:other"),)
        mail_storage.insert(db, draft, to, id=new_id("mail"), now=now, guard=guard)

    for start in range(1, count + 1, _GROUP):
        numbers = range(start, min(start + _GROUP, count + 1))
        write(lambda db, numbers=numbers: [one(db, number) for number in numbers])
    store.close()
    return project.id


def rates(daemon: Whiskd) -> Iterator[Row]:
    client = daemon.client
    project = client.post("/v1/projects", {"name": "Bench", "rootDir": str(daemon.home)})["id"]
    wanted = {"projectId": project, "title": _TITLE, "bodyMarkdown": _BODY}
    items = [client.post("/v1/work-items", wanted)["id"] for _ in range(max(CLIENTS, ITEMS_LISTED))]

    def row(what: str, requests: list[bytes] | list[list[bytes]]) -> Row:
        one = Load.closed(daemon.host, daemon.port, requests[:1], SECONDS).result()
        many = Load.closed(daemon.host, daemon.port, requests, SECONDS).result()
        return Row(what, f"{_rate(one)} with 1 client, {_rate(many)} with {CLIENTS}")

    for item in items[:CLIENTS]:
        client.post(f"/v1/work-items/{item}/move", {"stageId": "planning"})
    yield row("read one", [daemon.head("GET", f"/v1/work-items/{item}") for item in items[:CLIENTS]])
    listed = daemon.head("GET", f"/v1/work-items?projectId={project}&limit={ITEMS_LISTED}")
    yield row(f"list {ITEMS_LISTED}", [listed] * CLIENTS)
    # To and fro, each client its own item: the stage aside, and back to where it came from.
    yield row("move", [[_move(daemon, item, stage) for stage in ("blocked", "planning")] for item in items[:CLIENTS]])
    yield row("create", [daemon.request("POST", "/v1/work-items", wanted)] * CLIENTS)


def _move(daemon: Whiskd, item: str, stage: str) -> bytes:
    return daemon.request("POST", f"/v1/work-items/{item}/move", {"stageId": stage, "actor": "ann"})


def _rate(result: Result) -> str:
    if result.errors:
        raise RuntimeError(f"{result.errors} requests were refused")
    return f"{result.rate:,.0f}/s (p99 {result.p99 * 1e3:.1f} ms)"


def growth(count: int) -> dict[str, str]:
    """What is asked of a store with so many items and messages, and how long each takes."""
    with FilledWhiskd(count) as daemon:
        found = {"start to healthy": f"{daemon.start_seconds * 1e3:.0f} ms"}
        daemon.settle()
        get, project = daemon.client.get, daemon.project
        asked: dict[str, Callable[[], object]] = {
            "a page of 100 items": lambda: get(f"/v1/work-items?projectId={project}&limit=100"),
            "all items": lambda: get(f"/v1/work-items?projectId={project}", timeout=120.0),
            "project detail": lambda: get(f"/v1/projects/{project}/detail", timeout=120.0),
            "ready work, 100 of each": lambda: get(f"/v1/ready-work?projectId={project}&limit=100", timeout=120.0),
            "ready work, all": lambda: get(f"/v1/ready-work?projectId={project}", timeout=120.0),
            "search all for two words, 20 found": lambda: get("/v1/search?q=cache+machines&limit=20", timeout=120.0),
            "search all for what one has": lambda: get(f"/v1/search?q=about+{count // 2}&limit=20", timeout=120.0),
        }
        for what, ask in asked.items():
            found[what] = _seconds(ask)
        found["memory, after all that"] = f"{daemon.memory() / 2**20:.0f} MiB"
    return found


def _seconds(ask: Callable[[], object]) -> str:
    """The median of some; fewer of what takes long."""
    times: list[float] = []
    while len(times) < ASKED and sum(times) < 5.0:
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return f"{percentile(times, 0.5) * 1e3:,.0f} ms"


def run() -> None:
    with Whiskd() as daemon:
        show("Work items over HTTP", list(rates(daemon)))
    grown = {count: growth(count) for count in SIZES}
    first, *_ = grown.values()
    rows = [Row(what, ", ".join(found[what] for found in grown.values())) for what in first]
    show(f"A store with {', '.join(f'{count:,}' for count in SIZES)} work items, and as many messages", rows)


if __name__ == "__main__":
    run()
