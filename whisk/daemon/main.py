"""whiskd: the one place that knows every part, in the order in which they start and, backwards, stop."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import gevent

from whisk.daemon import config
from whisk.daemon.lock import DaemonLock
from whisk.daemon.paths import Paths
from whisk.daemon.ready import Ready
from whisk.daemon.state import is_alive, read_state
from whisk.errors import ConflictError, WhiskError

_USAGE = """whiskd, the daemon of whisk. People start it by `whisk daemon start`.

Usage:
  whiskd [--addr=<addr>] [--allow-remote] [--foreground] [--ready-fd=<fd>]

Options:
  --addr=<addr>      host:port to listen on; port 0 takes a free one.
  --allow-remote     Permit an address that other machines can reach.
  --foreground       Log to stderr as well.
  --ready-fd=<fd>    Write one line of JSON to this descriptor when up, or when it failed.
"""


@dataclass(frozen=True)
class Options:
    """What the command line, the environment and the settings file say together."""

    host: str
    port: int
    foreground: bool
    settings: config.Settings
    paths: Paths
    env: Mapping[str, str]


def main(argv: list[str] | None = None) -> int:
    """Run whiskd until it is told to stop; returns the exit code."""
    from docopt import docopt

    # A crash below Python leaves its traceback where our stderr goes.
    faulthandler.enable()
    given = docopt(_USAGE, sys.argv[1:] if argv is None else argv)
    ready = Ready(int(given["--ready-fd"]) if given["--ready-fd"] else None)
    env = dict(os.environ)
    try:
        options = _options(given["--addr"], given["--allow-remote"], given["--foreground"], env)
        lock = DaemonLock.acquire(options.paths.lock)
    except ConflictError as error:
        ready.failed(_named(error, Paths.from_env(env).state_file))
        return 1
    except WhiskError as error:
        ready.failed(error)
        return 1
    # Not before here: what is heavy would make a refusal slow.
    from whisk.daemon.daemon import Daemon

    try:
        return Daemon(options, ready).run()
    finally:
        lock.release()


def _options(addr: str | None, allow_remote: bool, foreground: bool, env: Mapping[str, str]) -> Options:
    paths = Paths.from_env(env)
    paths.make()
    settings = config.load(paths.config)
    wanted = addr or env.get("WHISKD_ADDR") or settings.daemon.addr
    host, port = config.check_addr(wanted, allow_remote=allow_remote or settings.daemon.allow_remote)
    return Options(host, port, foreground, settings, paths, env)


def _named(error: ConflictError, state_file: Path) -> ConflictError:
    """The refusal with the address of the daemon that holds the lock, as soon as that one has written it down."""
    for _ in range(100):
        state = read_state(state_file)
        if state is not None and is_alive(state):
            return ConflictError(f"already running pid {state.pid} at {state.url}", pid=state.pid, url=state.url)
        gevent.sleep(0.02)
    return error
