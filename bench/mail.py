"""Durable sends per second over HTTP, beside the same route without storage: the price of a promise that is kept."""

from __future__ import annotations

from bench.load import Load, Result
from bench.report import Row, show
from bench.whiskd import Whiskd

CLIENTS = {1: 0.3, 8: 0.5, 64: 0.7}
SECONDS = 2.0
ROUNDS = 3
_BODY = "The build is green again; the cache was keyed by a path that differs between the two machines. " * 3


def requests(daemon: Whiskd, clients: int) -> list[bytes]:
    """One message for each client, which writes to the next one, so that everybody is known after the first round."""
    return [
        daemon.request(
            "POST",
            "/v1/mail",
            {
                "from": f"session:bench-{number}",
                "to": [f"session:bench-{(number + 1) % clients}"],
                "type": "status",
                "subject": "progress",
                "body": _BODY,
            },
        )
        for number in range(clients)
    ]


def measure(daemon: Whiskd, clients: int) -> Result:
    result = Load.closed(daemon.host, daemon.port, requests(daemon, clients), SECONDS).result()
    if result.errors:
        raise RuntimeError(f"{result.errors} sends were refused")
    return result


def run() -> None:
    """Both daemons run side by side and are measured in turn; of each the best round counts."""
    rows = []
    with Whiskd() as stored, Whiskd("--unstored") as unstored:
        for clients, aim in CLIENTS.items():
            pairs = [(measure(stored, clients), measure(unstored, clients)) for _ in range(ROUNDS)]
            ours, plain = (max(results, key=lambda result: result.rate) for results in zip(*pairs, strict=True))
            figures = (
                f"{ours.rate:,.0f}/s (p50 {ours.p50 * 1e3:.1f} ms, p99 {ours.p99 * 1e3:.1f} ms) "
                f"against {plain.rate:,.0f}/s"
            )
            rows.append(
                Row(f"{clients} client{'s' * (clients > 1)}", figures, f"{ours.rate / plain.rate:.2f}x", f"≥ {aim:g}x")
            )
    show("Durable mail over HTTP, against the same route without storage", rows)


if __name__ == "__main__":
    run()
