"""Sending notices through apprise, which knows how to reach more services than anybody can count.

It is an extra (`whisk[notify]`), imported when it is first needed, and works with real threads and blocking sockets: so
all of it runs on a thread, and nobody waits for it longer than the time that was given.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from gevent import Timeout, get_hub

from whisk.hooks.redaction import redact_text
from whisk.matters.notice import NotifyTarget

HINT = "apprise is not installed here; install it with: pip install 'whisk[notify]'"
_ERROR_CHARS = 300


class Sender:
    """`targets` are numbered as the addresses were given. Every method blocks the calling greenlet only."""

    def __init__(self, urls: tuple[str, ...], timeout: float) -> None:
        self._urls = urls
        self._timeout = timeout
        self._under_way = 0

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec("apprise") is not None

    def targets(self) -> list[NotifyTarget]:
        """The addresses without their secrets, and which of them cannot be used."""
        if not self.installed:
            return [NotifyTarget(url=_scheme(url), error=HINT) for url in self._urls]
        return self._on_thread(lambda: [_target(url) for url in self._urls], []) or []

    def send(self, number: int, title: str, body: str) -> str:
        """Send to one target; empty when it was taken, else what went wrong."""
        if not self.installed:
            return HINT
        if self._under_way:
            return "an earlier notice is still under way"
        url = self._urls[number]
        late = f"not sent within {self._timeout:g} s"
        return self._on_thread(lambda: _send(url, title, body), late)  # type: ignore[no-any-return]

    def _on_thread(self, function: Any, late: Any) -> Any:
        self._under_way += 1
        result = get_hub().threadpool.spawn(_outcome, function)
        result.rawlink(self._ended)
        try:
            value, error = result.get(timeout=self._timeout)
        except Timeout:
            # The thread goes on until apprise's own time-outs end it; until then nothing else is begun.
            return late
        if error is not None:
            raise error
        return value

    def _ended(self, _: Any) -> None:
        self._under_way -= 1


def _outcome(function: Any) -> tuple[Any, BaseException | None]:
    try:
        return function(), None
    except Exception as error:  # noqa: BLE001 (the pool would print it; it is raised in the calling greenlet instead)
        return None, error


def _plugin(url: str) -> Any:
    apprise = importlib.import_module("apprise")
    asset = apprise.AppriseAsset(app_id="whisk", app_desc="whisk", async_mode=False)
    return apprise.Apprise.instantiate(url, asset=asset, suppress_exceptions=True)


def _target(url: str) -> NotifyTarget:
    plugin = _plugin(url)
    if plugin is None:
        return NotifyTarget(url=_scheme(url), error="apprise does not understand this address")
    return NotifyTarget(url=str(plugin.url(privacy=True)).partition("?")[0])


def _send(url: str, title: str, body: str) -> str:
    apprise = importlib.import_module("apprise")
    plugin = _plugin(url)
    if plugin is None:
        return "apprise does not understand this address"
    with apprise.LogCapture(level=apprise.logging.WARNING, fmt="%(message)s") as said:
        if plugin.notify(title=title, body=body):
            return ""
        text = " ".join(redact_text(said.getvalue()).split())
    return (text or "the service did not take it")[:_ERROR_CHARS]


def _scheme(url: str) -> str:
    return url.partition("://")[0] + "://…"
