"""What `whisk doctor` asks the daemon and finds in this shell. The rest comes from `whisk.daemon.survey`.

A finding is what the survey prints: `{"section", "name", "grade", "detail", "mend"}`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from whisk import PROTOCOL_VERSION, __version__
from whisk.cli import launcher
from whisk.cli.context import Context
from whisk.cli.failure import RefusedError, UnreachableError

Finding = dict[str, str]

_SURVEY_SECONDS = 40.0
_VITAL = ("supervisor", "journal", "events", "pty-host", "bridges", "post-office")
# What a terminal of whisk is told of itself; WHISK_ACTOR and WHISK_PROJECT_ID may be a person's own settings.
_OF_A_TERMINAL = frozenset(
    f"WHISK_{name}"
    for name in (
        *("SESSION", "SESSION_ID", "PTY_ID", "PROJECT_ROOT", "WORK_ITEM_ID", "RUN_ID", "AGENT_PROFILE"),
        *("AGENT_BRIDGE_ID", "AGENT_BRIDGE_TOKEN", "AGENT_BRIDGE_PROVIDER"),
    )
)
_COMPLETIONS = {
    "bash": (".local/share/bash-completion/completions/whisk", "whisk completion bash >"),
    "zsh": (".zfunc/_whisk", "whisk completion zsh >"),
    "fish": (".config/fish/completions/whisk.fish", "whisk completion fish >"),
}


def finding(section: str, name: str, grade: str, detail: str, mend: str = "") -> Finding:
    made = {"section": section, "name": name, "grade": grade, "detail": detail}
    return made | ({"mend": mend} if mend else {})


def look_at_daemon(context: Context) -> Iterator[Finding]:
    """Whether it runs, is of our version, takes our token, and all of it is alive."""
    client = context.client
    try:
        client.get("/v1/health", timeout=3.0)
    except UnreachableError as error:
        yield finding("daemon", "running", "broken", str(error).partition(";")[0], "whisk daemon start")
        return
    except RefusedError as error:
        yield finding("daemon", "running", "broken", f"what answers at {client.url} is not whiskd: {error}", "-url")
        return
    try:
        compat = client.get("/v1/compat", timeout=5.0)
    except RefusedError as error:
        said = f"{client.url} does not take the control token of this state folder: {error}"
        yield finding("daemon", "token", "broken", said, "whisk daemon stop && whisk daemon start")
        return
    except UnreachableError as error:
        yield finding("daemon", "running", "broken", f"it does not answer in time: {error}", "whisk daemon stop")
        return
    state = launcher.written_state(context.env) or {}
    pid = f", pid {state['pid']}" if state.get("url") == client.url and "pid" in state else ""
    yield finding("daemon", "running", "ok", f"{client.url}{pid}")
    yield _version(compat)
    yield from _actors(context)


def look_at_shell(context: Context) -> Iterator[Finding]:
    """Variables that lead whisk astray, and completion."""
    env = context.env
    ours = sorted(name for name in env if name.startswith(("WHISK_", "WHISKD_")))
    if pty := env.get("WHISK_PTY_ID"):
        yield _terminal(context, pty, [name for name in ours if name in _OF_A_TERMINAL])
    elif leaked := [name for name in ours if name in _OF_A_TERMINAL]:
        said = f"{', '.join(leaked)}: of a terminal of whisk, which this is not"
        yield finding("shell", "environment", "look", said, f"unset {' '.join(leaked)}")
    else:
        yield finding("shell", "environment", "ok", f"sets {', '.join(ours)}" if ours else "nothing of whisk's is set")
    if remark := context.other_daemon():
        yield finding("shell", "address", "look", remark, "unset WHISKD_URL")
    yield _command(env)
    yield _completion(env)


def survey(context: Context) -> Iterator[Finding]:
    """The findings of `whisk.daemon.survey`, as they come."""
    command = launcher.program_command("whisk.daemon.survey", "whisk.daemon.survey.__main__")
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(context.env),
            timeout=_SURVEY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        yield finding("state", "survey", "broken", f"could not look: {error}", "install whisk anew")
        return
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        found: Finding = json.loads(line)
        yield found
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        yield finding("state", "survey", "broken", f"ended early: {last}", "install whisk anew")


def _version(compat: dict[str, Any]) -> Finding:
    version, protocol = str(compat.get("version", "?")), compat.get("protocolVersion")
    mend = "whisk daemon stop && whisk daemon start"
    if protocol != PROTOCOL_VERSION:
        said = f"whiskd {version} speaks protocol {protocol}, this whisk {__version__} speaks {PROTOCOL_VERSION}"
        return finding("daemon", "version", "broken", said, mend)
    if version != __version__:
        said = f"whiskd is {version}, this whisk is {__version__}; terminals go on over a restart"
        return finding("daemon", "version", "look", said, mend)
    return finding("daemon", "version", "ok", f"{version}, as this command")


def _actors(context: Context) -> Iterator[Finding]:
    try:
        actors = {each["name"]: each for each in context.client.get("/v1/actors", timeout=10.0)}
    except (RefusedError, UnreachableError) as error:
        yield finding("daemon", "actors", "broken", str(error), "whisk daemon stop && whisk daemon start")
        return
    failed = [name for name, each in actors.items() if each.get("state") == "failed"]
    for name in _VITAL:
        if name not in actors:
            yield finding("daemon", name, "broken", "not there", "whisk daemon stop && whisk daemon start")
    for name in failed:
        said = f"failed: {actors[name].get('lastError', 'it says not why')}"
        yield finding("daemon", name, "broken", said, f"whisk actor restart {name}")
    if not failed:
        yield finding("daemon", "actors", "ok", f"{len(actors)} alive, journal and pty host among them")


def _terminal(context: Context, pty: str, told: list[str]) -> Finding:
    try:
        known = any(each["id"] == pty for each in context.client.get("/v1/ptys", timeout=5.0))
    except (UnreachableError, RefusedError):
        return finding("shell", "environment", "off", f"says it is terminal {pty}; no daemon to ask")
    if known:
        return finding("shell", "environment", "ok", f"this is terminal {pty} of whisk")
    said = f"says it is terminal {pty}, which this daemon does not know: an outer session's variables"
    return finding("shell", "environment", "look", said, f"unset {' '.join(told)}")


def _command(env: Mapping[str, str]) -> Finding:
    """Which whisk a person gets who types it."""
    found = shutil.which("whisk", path=env.get("PATH"))
    mine = os.path.join(os.path.dirname(sys.executable), "whisk")
    if found is None:
        return finding("shell", "command", "off", f"no whisk on the PATH; this one is {mine}")
    if os.path.exists(mine) and not os.path.samefile(found, mine):
        said = f"{found} is what the PATH finds, and this is {mine}"
        return finding("shell", "command", "look", said, f"put {os.path.dirname(mine)} first on the PATH")
    return finding("shell", "command", "ok", found)


def _completion(env: Mapping[str, str]) -> Finding:
    shell = os.path.basename(env.get("SHELL") or "")
    if shell not in _COMPLETIONS:
        return finding("shell", "completion", "off", f"there is none for {shell or 'an unknown shell'}")
    place, command = _COMPLETIONS[shell]
    home = env.get("HOME") or os.path.expanduser("~")
    if os.path.exists(os.path.join(home, place)):
        return finding("shell", "completion", "ok", f"{shell}, ~/{place}")
    return finding(
        "shell", "completion", "off", f"not where whisk's manual puts it for {shell}", f"{command} ~/{place}"
    )
