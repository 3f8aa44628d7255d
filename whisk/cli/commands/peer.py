"""`whisk peer …`: the agent sessions that whisk knows of, whoever started them."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, RefusedError
from whisk.cli.feed import Feed
from whisk.cli.moment import moment

_FILTERS = {
    "runtime": "runtime",
    "pty": "ptyId",
    "run": "runId",
    "work-item": "workItemId",
    "project": "projectId",
    "provider-session": "providerSessionId",
}


def list_peers(context: Context, args: Arguments) -> None:
    query: dict[str, Any] = {field: args.text(option) for option, field in _FILTERS.items()}
    query["status"] = None if args.flag("all") else "online"
    found = context.client.get("/v1/peers", query)
    if args.flag("json"):
        return context.out.json(found)
    header = ["ID", "RUNTIME", "STATE", "MODEL", "WHERE", "SEEN", "DIR"]
    rows = [
        (
            each["id"], each["runtime"], _state(each), _model(each), _where(each),
            moment(each["lastSeenAt"]), each.get("cwd", ""),
        )
        for each in found
    ]  # fmt: skip
    return context.out.table(header, rows, flexible=["DIR", "MODEL"], optional=["SEEN", "DIR"])


def show(context: Context, args: Arguments) -> None:
    peer = context.client.get(path("peers", args.need("peer")))
    if args.flag("json"):
        return context.out.json(peer)
    handoff = peer.get("handoff")
    facts = {
        "peer": peer["id"],
        "runtime": peer["runtime"],
        "state": _state(peer),
        "since": moment(peer["stateAt"]),
        "model": _model(peer),
        "session": peer["providerSessionId"],
        "resume with": peer.get("resumeId", ""),
        "started by": peer.get("parent", ""),
        "where": _where(peer),
        "process": _process(peer),
        "dir": peer.get("cwd", ""),
        "run": peer.get("runId", ""),
        "work item": peer.get("workItemId", ""),
        "project": peer.get("projectId", ""),
        "first seen": moment(peer["createdAt"]),
        "last seen": moment(peer["lastSeenAt"]),
        **({} if handoff and peer["status"] == "offline" else _said(peer)),
    }
    _print(context, facts)
    if handoff:
        word = handoff["reason"] or handoff["cause"]
        context.out.line(f"handoff at {moment(handoff['at'])}, {word}, after {handoff['seconds']:.0f} s")
        _print(context, {"session": handoff["providerSessionId"], "model": handoff.get("model", "")} | _said(handoff))
    return None


def watch(context: Context, args: Arguments) -> int:
    feed = Feed(context, ["peers.changed"])
    try:
        for event in feed.follow():
            if event["type"] == "missed":
                context.out.note("some changes were missed: whisk peer list shows what is")
            elif (peer := _read(context, event["id"])) is not None:
                context.out.json_lines([peer]) if args.flag("json") else context.out.fields(
                    peer["id"], peer["runtime"], _state(peer), _model(peer), _where(peer)
                )
            context.out.flush()
    except KeyboardInterrupt:
        # That is how one ends it.
        return OK
    return OK


def _read(context: Context, peer_id: str) -> dict[str, Any] | None:
    try:
        return dict(context.client.get(path("peers", peer_id)))
    except RefusedError:
        # It ended long ago, and went to make room.
        return None


def _state(peer: dict[str, Any]) -> str:
    if peer["status"] == "online":
        return str(peer["state"])
    return f"offline ({peer['handoff']['cause']})" if peer.get("handoff") else "offline"


def _model(peer: dict[str, Any]) -> str:
    return str(peer["model"]["name"]) if peer.get("model") else ""


def _where(peer: dict[str, Any]) -> str:
    return peer.get("ptyId") or (f"tmux {peer['tmuxPane']}" if peer.get("tmuxPane") else "")


def _process(peer: dict[str, Any]) -> str:
    if not (process := peer.get("process")):
        return ""
    unwatched = peer["status"] == "online" and not peer.get("watched")
    return f"{process['pid']} (not seen on this machine)" if unwatched else str(process["pid"])


def _said(record: dict[str, Any]) -> dict[str, str]:
    return {
        "prompt": record.get("lastPrompt", ""),
        "said": record.get("lastMessage", ""),
        "asks": record.get("openQuestion", ""),
        "error": record.get("lastError", ""),
    }


def _print(context: Context, facts: dict[str, str]) -> None:
    for name, value in facts.items():
        if value:
            context.out.fields(name, value)


LIST = Command(
    words="peer list",
    usage="""
Usage:
  whisk peer list [options]

Lists the agent sessions that are online, whoever started them.

Options:
  --all                      Also those that have ended.
  --runtime=<name>           Only of this agent, such as claude.
  --pty=<id>                 Only in this terminal.
  --run=<id>                 Only of this run.
  --work-item=<id>           Only of this work item.
  --project=<id>             Only of this project.
  --provider-session=<id>    Only the one in this session of the agent's own.

Examples:
  whisk peer list
  whisk peer list -all -runtime claude -json
""",
    run=list_peers,
)

SHOW = Command(
    words="peer show",
    usage="""
Usage:
  whisk peer show [options] <peer>

Shows what is known of an agent session, and what it last said and did.

Examples:
  whisk peer show peer_01
""",
    run=show,
)

WATCH = Command(
    words="peer watch",
    usage="""
Usage:
  whisk peer watch [options]

Prints a line for each change of an agent session from now on, until Ctrl-C. -json prints JSON lines.

Examples:
  whisk peer watch
""",
    run=watch,
)
