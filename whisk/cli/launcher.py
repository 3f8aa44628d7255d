"""Starting whiskd in the background: spawn it, hear from it that it is healthy, or say why it is not."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from whisk.cli import paths
from whisk.cli.client import Client
from whisk.cli.failure import CommandError, RefusedError, UnreachableError
from whisk.cli.process import start_time, wait_until

START_SECONDS = 30.0
_TAIL_LINES = 12


class Running(NamedTuple):
    """A daemon that answers. `version` and `protocol` are what it says about itself."""

    url: str
    version: str
    protocol: int


def daemon_command(*options: str) -> list[str]:
    """The command line of whiskd. It is a program of its own to us: nothing of it is imported."""
    return program_command("whisk.daemon", "whisk.daemon.main", *options)


def program_command(package: str, module: str, *options: str) -> list[str]:
    """The command line that runs `package`, whose `main` is in `module`, with our own Python."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # -P keeps the current folder, which is anybody's, off the path. Installed code is found all the same; code that
    # is run from a checkout that is not installed needs the checkout named.
    if root in sys.path[1:]:
        return [sys.executable, "-P", "-m", package, *options]
    program = f"import sys; sys.path.insert(1, {root!r}); from {module} import main; sys.exit(main())"
    return [sys.executable, "-P", "-c", program, *options]


def written_state(env: Mapping[str, str]) -> dict[str, Any] | None:
    """What the last daemon of this state folder wrote down, whether or not it still runs."""
    try:
        with open(paths.state_path(env), encoding="utf-8") as file:
            state = json.load(file)
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) and isinstance(state.get("url"), str) else None


def find_running(client: Client) -> Running | None:
    """The daemon at the client's address, or None when nothing answers there."""
    try:
        client.get("/v1/health", timeout=2.0)
    except UnreachableError:
        return None
    compat = client.get("/v1/compat", timeout=5.0)
    return Running(client.url, str(compat.get("version", "")), int(compat.get("protocolVersion", 0)))


def spawn(env: Mapping[str, str], options: list[str]) -> dict[str, Any]:
    """Start whiskd detached and wait for its word: `{"url", "pid", …}`, or `{"error", "code", …}`.

    Raises `CommandError` with the end of its output when it ends, or says nothing, without a word.
    """
    folder = paths.state_dir(env)
    output = os.path.join(folder, "whiskd.out")
    reading, writing = os.pipe()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        process = _detach(daemon_command(*options, "--ready-fd", str(writing)), env, output, writing)
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise CommandError(f"cannot use the state folder {folder}: {error.strerror}") from None
    os.close(writing)
    try:
        said = _read_line(reading, START_SECONDS)
    finally:
        os.close(reading)
    if said:
        word = json.loads(said)
        if "error" in word:
            process.wait()
        return dict(word)
    if said is None:
        process.kill()
        process.wait()
        raise CommandError(f"whiskd was not healthy within {START_SECONDS:g} s and was ended{_tail(output)}")
    raise CommandError(f"whiskd ended at once, with exit code {process.wait()}{_tail(output)}")


def _detach(command: list[str], env: Mapping[str, str], output: str, ready: int) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own, so that it outlives us and our terminal."""
    told = dict(env)
    if told.get("WHISK_STATE_DIR"):
        told["WHISK_STATE_DIR"] = paths.state_dir(env)
    with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            pass_fds=(ready,),
            cwd="/",
            env=told,
        )


def wait_healthy(env: Mapping[str, str], pid: int | None, seconds: float) -> str | None:
    """The address of the daemon that somebody else is starting right now, once it answers.

    None when the time is over, or as soon as process `pid`, which was to become that daemon, has ended.
    """
    found: list[str] = []

    def decided() -> bool:
        state = written_state(env)
        if state is not None:
            try:
                Client(state["url"], token=None).get("/v1/health", timeout=1.0)
                found.append(state["url"])
            except (UnreachableError, RefusedError):
                pass
        return bool(found) or (pid is not None and start_time(pid) is None)

    wait_until(decided, seconds, every=0.05)
    return found[0] if found else None


def _read_line(fd: int, seconds: float) -> bytes | None:
    """One line; b"" when the other side closed without one, None when the time is over."""
    deadline = time.monotonic() + seconds
    data = b""
    while not data.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return None
        piece = os.read(fd, 65536)
        if not piece:
            return b""
        data += piece
    return data


def _tail(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()[-_TAIL_LINES:]
    except OSError:
        return ""
    return "; the end of its output:\n  " + "\n  ".join(lines) if lines else f"; {path} says nothing"
