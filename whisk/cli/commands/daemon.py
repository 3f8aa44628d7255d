"""`whisk daemon …`: the life of whiskd."""

from __future__ import annotations

import os
from typing import Any

from whisk import PROTOCOL_VERSION, __version__
from whisk.cli import launcher, paths, process
from whisk.cli.argument import Arguments
from whisk.cli.client import Client
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, UNREACHABLE, CommandError, RefusedError, UnreachableError, UsageError
from whisk.cli.person import actor

# A drain is bounded below this; see whisk.daemon.main.
_STOP_SECONDS = 20.0
_START_TRIES = 3


def _options(args: Arguments) -> list[str]:
    options = [f"--addr={args.text('addr')}"] if args.given("addr") else []
    return [*options, "--allow-remote"] if args.flag("allow-remote") else options


def run(context: Context, args: Arguments) -> None:
    """Become whiskd."""
    command = launcher.daemon_command("--foreground", *_options(args))
    os.execve(command[0], command, dict(context.env))


def start(context: Context, args: Arguments) -> int:
    state = launcher.written_state(context.env)
    if state is not None:
        running = _ours(context, state["url"])
        if running is not None:
            return _adopt(context, args, running)
    word: dict[str, Any] = {}
    for _ in range(_START_TRIES):
        word = launcher.spawn(context.env, _options(args))
        if "error" not in word:
            return _say_running(context, args, word["url"], __version__, started=True)
        if word.get("code") != "conflict":
            raise CommandError(f"whiskd could not start: {word['error']}")
        # Somebody else is starting one in this very moment. Should that fail, it is our turn again.
        url = launcher.wait_healthy(context.env, word.get("pid"), launcher.START_SECONDS)
        running = launcher.find_running(_client(context, url)) if url else None
        if running is not None:
            return _adopt(context, args, running)
    raise CommandError(f"{word['error']}, but it does not answer; see {paths.log_path(context.env)}")


def status(context: Context, args: Arguments) -> int:
    try:
        running = launcher.find_running(context.client)
        why = None if running else f"whiskd unavailable at {context.url}; start it with `whisk daemon start`"
    except RefusedError as error:
        running, why = None, f"whiskd incompatible at {context.url}: {error}"
    except UnreachableError as error:
        running, why = None, str(error)
    state = launcher.written_state(context.env) or {}
    if args.flag("json"):
        here = running is not None and state.get("url") == running.url
        context.out.json(
            {
                "running": running is not None,
                "url": context.url,
                **({"pid": state.get("pid"), "startedAt": state.get("startedAt")} if here else {}),
                **({"version": running.version, "protocolVersion": running.protocol} if running else {"error": why}),
                "stateDir": paths.state_dir(context.env),
                "log": paths.log_path(context.env),
            }
        )
        return OK if running else UNREACHABLE
    if running is None:
        raise UnreachableError(why or "")
    if skew := _skew(running):
        context.out.note(f"whisk: {skew}")
    context.out.line(f"whiskd running at {running.url}")
    return OK


def stop(context: Context, args: Arguments) -> int:
    """Ask first; a daemon of this state folder that does not answer is ended by its pid."""
    state = launcher.written_state(context.env)
    here = state is not None and state["url"] == context.url
    kept = 0
    try:
        if not args.flag("kill-ptys"):
            kept = _running_ptys(context)
        context.client.post("/v1/shutdown", {"killPtys": args.flag("kill-ptys")}, timeout=5.0)
        asked = True
    except UnreachableError:
        asked = False
    except RefusedError:
        # Our own daemon can still be ended as a process; somebody else's cannot.
        if not here:
            raise
        asked = False
    if state is not None and here:
        _wait_gone(context, state, asked)
    elif asked:
        client = Client(context.url, token=None)
        if not process.wait_until(lambda: not _answers(client), _STOP_SECONDS):
            raise CommandError(f"whiskd at {context.url} did not stop within {_STOP_SECONDS:g} s")
    if args.flag("json"):
        context.out.json({"stopped": True, "url": context.url, "ptysKept": kept})
        return OK
    context.out.line(f"whiskd stopped at {context.url}")
    if kept:
        context.out.note(f"{kept} terminal{'s' * (kept != 1)} kept running; the next whiskd adopts them")
    return OK


def clear(context: Context, args: Arguments) -> int:
    if not args.flag("yes"):
        raise UsageError("daemon clear requires -yes: it ends all terminals and deletes sessions, work and mail")
    counts = context.client.post("/v1/daemon/clear", {"actor": actor(args, context.env)}, timeout=60.0)
    if args.flag("json"):
        context.out.json(counts)
        return OK
    shown = " ".join(
        f"{name}={counts.get(f'{name}Cleared', 0)}"
        for name in ("sessions", "ptys", "projects", "workItems", "forwards")
    )
    context.out.line(f"cleared daemon state: {shown}")
    return OK


def _running_ptys(context: Context) -> int:
    try:
        return sum(1 for pty in context.client.get("/v1/ptys", timeout=2.0) if pty.get("running"))
    except RefusedError:
        # Only a remark depends on it.
        return 0


def _client(context: Context, url: str) -> Client:
    return Client(url, token=context.token())


def _answers(client: Client) -> bool:
    try:
        client.get("/v1/health", timeout=1.0)
    except UnreachableError:
        return False
    return True


def _ours(context: Context, url: str) -> launcher.Running | None:
    """The daemon that the state file names. What answers there may also be a stranger on a port we once had."""
    try:
        return launcher.find_running(_client(context, url))
    except (RefusedError, UnreachableError):
        return None


def _skew(running: launcher.Running) -> str | None:
    """A sentence when the running daemon is of another version than this command."""
    if running.protocol != PROTOCOL_VERSION:
        return (
            f"whiskd {running.version or '?'} at {running.url} speaks protocol {running.protocol}, this whisk"
            f" {__version__} speaks {PROTOCOL_VERSION}; run `whisk daemon stop` and `whisk daemon start`"
        )
    if running.version and running.version != __version__:
        return (
            f"whiskd at {running.url} is version {running.version}, this whisk is {__version__};"
            " `whisk daemon stop` and `whisk daemon start` bring the new one up"
        )
    return None


def _adopt(context: Context, args: Arguments, running: launcher.Running) -> int:
    """One is running already. With a protocol that is not ours it is of no use, and that is a failure."""
    skew = _skew(running)
    if running.protocol != PROTOCOL_VERSION:
        raise CommandError(skew or "")
    if skew:
        context.out.note(f"whisk: {skew}")
    wanted = args.text("addr")
    if wanted and not wanted.endswith(":0") and not running.url.endswith("://" + wanted):
        context.out.note(f"whisk: it keeps its address; -addr {wanted} counts for the next start")
    return _say_running(context, args, running.url, running.version, started=False)


def _say_running(context: Context, args: Arguments, url: str, version: str, *, started: bool) -> int:
    if args.flag("json"):
        pid = (launcher.written_state(context.env) or {}).get("pid")
        context.out.json({"running": True, "url": url, "pid": pid, "version": version, "started": started})
    else:
        context.out.line(f"whiskd running at {url}")
    if remark := context.other_daemon():
        context.out.note(f"whisk: {remark}, which other commands will not use")
    return OK


def _wait_gone(context: Context, state: dict[str, Any], asked: bool) -> None:
    pid, began = state.get("pid"), state.get("processStartTime")
    if not isinstance(pid, int) or not isinstance(began, (int, float)):
        return
    if asked and process.wait_until(lambda: not process.is_alive(pid, began), _STOP_SECONDS):
        return
    if not process.is_alive(pid, began):
        return
    context.out.note(f"whisk: whiskd does not answer; ending process {pid}")
    if not process.end(pid, began, term=_STOP_SECONDS, kill=5.0):
        raise CommandError(f"process {pid} is still there after SIGKILL")


_ADDRESS = """  --addr=<addr>     Where to listen, host:port; port 0 takes a free one. Else $WHISKD_ADDR, else
                    daemon.addr of the settings, else 127.0.0.1:8787.
  --allow-remote    Permit an address that other machines can reach.
"""

RUN = Command(
    words="daemon run",
    usage=f"""
Usage:
  whisk daemon run [options]

Options:
{_ADDRESS}
Examples:
  whisk daemon run -addr 127.0.0.1:9000
""",
    run=run,
    common=(),
)

START = Command(
    words="daemon start",
    usage=f"""
Usage:
  whisk daemon start [options]

Options:
{_ADDRESS}
Examples:
  whisk daemon start
  whisk daemon start -addr 127.0.0.1:0 -json
""",
    run=start,
    common=("json",),
)

STATUS = Command(
    words="daemon status",
    usage="""
Usage:
  whisk daemon status [options]

Examples:
  whisk daemon status
  whisk daemon status -json
""",
    run=status,
)

STOP = Command(
    words="daemon stop",
    usage="""
Usage:
  whisk daemon stop [options]

Options:
  --kill-ptys       End all terminals as well; without it they keep running for the next whiskd.

Examples:
  whisk daemon stop
  whisk daemon stop -kill-ptys
""",
    run=stop,
)

CLEAR = Command(
    words="daemon clear",
    usage="""
Usage:
  whisk daemon clear [options]

Options:
  --yes             You mean it.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk daemon clear -yes
""",
    run=clear,
)
