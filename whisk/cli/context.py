"""What every command is given: the environment, the daemon's client, and where to print."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from whisk.cli import paths
from whisk.cli.output import Output

if TYPE_CHECKING:
    from whisk.cli.client import Client

DEFAULT_URL = "http://127.0.0.1:8787"


class Context:
    """One invocation. `chosen_url` and `json_wanted` are set by dispatch from the common options."""

    def __init__(self, env: Mapping[str, str], out: Output) -> None:
        self.env = env
        self.out = out
        self.chosen_url: str | None = None
        self.json_wanted = False
        self._usual_url = DEFAULT_URL

    @cached_property
    def url(self) -> str:
        """`-url`, else $WHISKD_URL, else what the daemon of this state folder wrote down, else the default."""
        return self.chosen_url or self.env.get("WHISKD_URL") or self._written_url() or self._usual_url

    @cached_property
    def client(self) -> Client:
        from whisk.cli.client import Client
        from whisk.cli.person import name

        return Client(self.url, token=self.token(), actor=name(self.env))

    def fresh(self) -> Context:
        """The same invocation, for a daemon that may have come back at another address."""
        again = Context(self.env, self.out)
        again.chosen_url, again.json_wanted = self.chosen_url, self.json_wanted
        # Until it is back, what listens at the usual address is another one.
        again._usual_url = self.url
        return again

    def read_stdin(self) -> str:
        """All of stdin as text; bytes that are not UTF-8 become U+FFFD, a BOM is dropped."""
        return sys.stdin.buffer.read().decode("utf-8-sig", "replace")

    def token(self) -> str | None:
        # A missing file is not an error here: the daemon's 401 says it better.
        try:
            with open(paths.token_path(self.env), encoding="ascii") as file:
                return file.read().strip() or None
        except (OSError, ValueError):
            return None

    def other_daemon(self) -> str | None:
        """A remark for when nobody answers at an address that was asked for, while this state folder has a daemon."""
        written = self._written_url()
        if written is None or written == self.url:
            return None
        source = "-url" if self.chosen_url else "$WHISKD_URL"
        return f"{source} names {self.url}; the daemon of this state folder is at {written}"

    def _written_url(self) -> str | None:
        import json

        try:
            with open(paths.state_path(self.env), encoding="utf-8") as file:
                written = json.load(file)
        except (OSError, ValueError):
            return None
        url = written.get("url") if isinstance(written, dict) else None
        return url if isinstance(url, str) else None
