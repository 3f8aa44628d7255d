"""In whose name a command acts."""

from __future__ import annotations

from collections.abc import Mapping

from whisk.cli.argument import Arguments

_INSIDE = ("WHISK_PTY_ID", "WHISK_RUN_ID", "WHISK_SESSION_ID")


def actor(args: Arguments, env: Mapping[str, str]) -> str:
    """`-actor`, else $WHISK_ACTOR; else `agent` inside a terminal of whisk, and the person's login name elsewhere."""
    return args.text("actor") or name(env)


def name(env: Mapping[str, str]) -> str:
    """In whose name commands are given that have no `-actor`."""
    if named := env.get("WHISK_ACTOR"):
        return named
    if any(env.get(name) for name in _INSIDE):
        return "agent"
    return env.get("USER") or env.get("LOGNAME") or "human"
