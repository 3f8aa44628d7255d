"""`GET /metrics`: what the actors, the journal and the server count, in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from whisk.actors.cell import ActorInfo
from whisk.actors.system import ActorSystem
from whisk.http.api import Api
from whisk.http.reply import Text
from whisk.http.route import Request, Route

# name, what it is, how it is read off an actor
_COUNTERS = (
    ("whisk_actor_messages", "Messages handled", lambda info: info.received),
    ("whisk_actor_refusals", "Messages answered with a refusal", lambda info: info.refused),
    ("whisk_actor_failures", "Messages that crashed the actor", lambda info: info.failed),
    ("whisk_actor_restarts", "Restarts", lambda info: info.restarts),
    ("whisk_actor_slow_messages", "Messages that took longer than the limit for the log", lambda info: info.slow),
)
_GAUGES = (
    ("whisk_actor_queue", "Messages waiting", lambda info: info.queue),
    ("whisk_actor_queue_high", "Most messages that ever waited", lambda info: info.queue_high),
    ("whisk_actor_oldest_seconds", "Age of the oldest waiting message", lambda info: (info.oldest_ms or 0.0) / 1000),
    ("whisk_actor_up", "Whether the actor is alive", lambda info: float(info.state == "alive")),
)
_JOURNAL_COUNTERS = {
    "writes": "Writes committed or refused",
    "groups": "Transactions that held them",
    "failed": "Writes that failed",
}
_JOURNAL_GAUGES = {
    "queued": "Writes waiting for the disk",
    "largestGroup": "Writes in the largest transaction",
    "lastCommitMs": "Milliseconds the last commit took",
}


class _Actors(Collector):
    """Reads the actor system at the moment it is asked, so nothing is counted twice."""

    def __init__(self, system: ActorSystem) -> None:
        self._system = system

    def collect(self) -> Iterator[Metric]:
        infos = self._system.list()
        for name, help_text, read in _COUNTERS:
            yield _by_actor(CounterMetricFamily(name, help_text, labels=("actor", "kind")), infos, read)
        for name, help_text, read in _GAUGES:
            yield _by_actor(GaugeMetricFamily(name, help_text, labels=("actor", "kind")), infos, read)
        yield CounterMetricFamily("whisk_dead_letters", "Messages nobody took", value=self._system.dead_letters.total)
        journal = next((info for info in infos if info.name == "journal"), None)
        if journal is not None:
            yield from _journal(journal)


def _by_actor(family: Metric, infos: Iterable[ActorInfo], read: object) -> Metric:
    for info in infos:
        family.add_metric((info.name, info.kind), read(info))  # type: ignore[attr-defined, operator]
    return family


def _journal(info: ActorInfo) -> Iterator[Metric]:
    for fact, help_text in _JOURNAL_COUNTERS.items():
        yield CounterMetricFamily(f"whisk_journal_{fact}", help_text, value=float(info.facts.get(fact, 0)))
    for fact, help_text in _JOURNAL_GAUGES.items():
        yield GaugeMetricFamily(f"whisk_journal_{_snake(fact)}", help_text, value=float(info.facts.get(fact, 0)))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def metrics(api: Api, _request: Request[None, None]) -> Text:
    registry = CollectorRegistry()
    registry.register(_Actors(api.system))
    ProcessCollector(registry=registry)
    return Text(generate_latest(registry) + generate_latest(api.meter.registry), CONTENT_TYPE_LATEST)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/metrics",
        metrics,
        "Counters of actors, journal and server for Prometheus",
        reply=Text,
        operation="getMetrics",
        media="text/plain",
    ),
)
