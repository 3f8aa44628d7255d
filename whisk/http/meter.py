"""What the HTTP server counts about itself, for `GET /metrics`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

# Waits of minutes are normal here, so the buckets reach far; the interesting ones are the first.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 300.0)


class Meter:
    """Requests by route and status, their duration, and how many are being served; one per application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "whisk_http_requests", "Requests answered", ("route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "whisk_http_request_seconds",
            "From routing to the answer, waits included",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._running = Gauge("whisk_http_requests_running", "Requests being served now", registry=self.registry)

    def begin(self) -> None:
        self._running.inc()

    def end(self, route: str, status: int, seconds: float) -> None:
        self._running.dec()
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
