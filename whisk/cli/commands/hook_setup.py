"""`whisk hook install|check|remove`: whisk's hooks in the settings of agents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, REFUSED, RefusedError

# provider -> the variable that names its folder, the folder in the home
FOLDERS = {"claude": ("CLAUDE_CONFIG_DIR", ".claude"), "codex": ("CODEX_HOME", ".codex")}
_LOCAL = ("127.0.0.1", "localhost", "::1")
_SECONDS = 30.0


def install(context: Context, args: Arguments) -> None:
    _change(context, args, "install")


def remove(context: Context, args: Arguments) -> None:
    _change(context, args, "remove")


def check(context: Context, args: Arguments) -> int:
    """Exit 1 when hooks do not work as they should; not being installed is right unless that agent was asked for."""
    provider = args.text("provider")
    found = [_ask(context, "check", each) for each in ([provider] if provider else FOLDERS)]
    if args.flag("json"):
        context.out.json(found[0] if provider else found)
    else:
        rows = [(each["provider"], each["status"], each["configPath"], each.get("detail")) for each in found]
        context.out.table(["AGENT", "STATUS", "SETTINGS", "DETAIL"], rows)
        for each in found:
            if each.get("mend") and (provider or each["status"] != "missing"):
                context.out.note(f"{each['provider']}: `{each['mend']}` puts it right")
    good = ("current",) if provider else ("current", "missing")
    return OK if all(each["status"] in good for each in found) else REFUSED


def agent_folder(env: Mapping[str, str], provider: str) -> str:
    """The agent's folder as an agent that is started from this shell finds it; empty for one we do not know."""
    if provider not in FOLDERS:
        return ""
    variable, name = FOLDERS[provider]
    chosen = env.get(variable) or os.path.join(env.get("HOME") or os.path.expanduser("~"), name)
    return os.path.abspath(os.path.expanduser(chosen))


def is_local(context: Context) -> bool:
    """Whether the daemon is on this machine, and sees the folders that we do."""
    return context.client.host in _LOCAL


def _change(context: Context, args: Arguments, verb: str) -> None:
    dry = args.flag("diff")
    try:
        done = _ask(context, verb, args.need("provider"), dry=dry)
    except RefusedError as error:
        snippet = error.details.get("snippet")
        if not isinstance(snippet, str) or args.flag("json"):
            raise
        context.out.note(f"whisk: {error}\nThis is what belongs there; merge it by hand:")
        context.out.line(snippet)
        raise RefusedError("not installed", status=error.status, code=error.code) from None
    if args.flag("json"):
        return context.out.json(done)
    if dry:
        return context.out.line(done["diff"].rstrip("\n") if done.get("diff") else "nothing would change")
    context.out.fields(done["provider"], done["status"], done["configPath"])
    if done.get("backupPath"):
        context.out.note(f"what was there before: {done['backupPath']}")
    if done.get("detail"):
        context.out.note(f"{done['provider']}: {done['detail']}")
    return None


def _ask(context: Context, verb: str, provider: str, *, dry: bool = False) -> dict[str, Any]:
    body: dict[str, Any] = {"provider": provider}
    # Another machine has other folders; its daemon knows them.
    folder = agent_folder(context.env, provider) if is_local(context) else ""
    if folder:
        body["configDir"] = folder
    if dry:
        body["dryRun"] = True
    found: dict[str, Any] = context.client.post(f"/v1/agent-hook-integrations/{verb}", body, timeout=_SECONDS)
    return found


INSTALL = Command(
    words="hook install",
    usage="""
Usage:
  whisk hook install [options] <provider>

Puts whisk's hooks into the settings of claude or codex, or brings them up to date. Everything else in those files stays
as it is, byte for byte. The folder is the one that an agent started from this shell would use.

Options:
  --diff            Show what would change, and change nothing.

Examples:
  whisk hook install claude
  whisk hook install codex -diff
""",
    run=install,
)

CHECK = Command(
    words="hook check",
    usage="""
Usage:
  whisk hook check [options] [<provider>]

Ends with 1 when hooks are outdated, modified, untrusted or cannot be read; for one agent also when it has none.

Examples:
  whisk hook check
  whisk hook check codex -json
""",
    run=check,
)

REMOVE = Command(
    words="hook remove",
    usage="""
Usage:
  whisk hook remove [options] <provider>

Takes whisk's hooks out again and leaves the files as they were before the install, but for what changed since.

Options:
  --diff            Show what would change, and change nothing.

Examples:
  whisk hook remove claude
""",
    run=remove,
)
