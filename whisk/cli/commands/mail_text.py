"""Mail as a person reads it: a line in a table, or the whole message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from whisk.cli.moment import moment
from whisk.cli.output import Output, one_line

HEADER = ("ID", "TYPE", "PRIORITY", "FROM", "TO", "SUBJECT")
_CONTEXT = (
    *(("project", "projectId"), ("work item", "workItemId"), ("run", "runId"), ("session", "sessionId")),
    *(("pty", "ptyId"), ("dispatch", "dispatchId")),
)


def table(out: Output, messages: Iterable[dict[str, Any]]) -> None:
    """One row each; on a narrow terminal the subject is cut first."""
    rows = [_row(message) for message in messages]
    out.table(HEADER, rows, flexible=["SUBJECT"])


def whole(message: dict[str, Any]) -> str:
    """The message with its body and payload, headed like a letter."""
    lines = [
        f"{message['id']}  {message['type']}  {message['priority']}  {moment(message['createdAt'])}",
        f"From:     {address(message['from'])}",
        f"To:       {', '.join(_reader(reader) for reader in message['recipients'])}",
    ]
    if message.get("subject"):
        lines.append(f"Subject:  {one_line(message['subject'])}")
    if message.get("replyToId"):
        lines.append(f"Reply to: {one_line(message['replyToId'])}")
    context = [f"{label} {one_line(message[name])}" for label, name in _CONTEXT if message.get(name)]
    if context:
        lines.append(f"About:    {', '.join(context)}")
    if message.get("body"):
        lines += ["", message["body"].rstrip("\n")]
    if "payload" in message:
        lines += ["", "Payload:  " + json.dumps(message["payload"], indent=2, ensure_ascii=False)]
    return "\n".join(lines)


def letters(messages: Sequence[dict[str, Any]]) -> str:
    """Several whole messages, one under the other."""
    return "\n\n----\n\n".join(whole(message) for message in messages)


def address(value: dict[str, Any]) -> str:
    return f"{value['kind']}:{value['id']}"


def _row(message: dict[str, Any]) -> tuple[str, ...]:
    to = ",".join(address(reader["address"]) for reader in message["recipients"])
    sender = address(message["from"])
    return (message["id"], message["type"], message["priority"], sender, to, message.get("subject", ""))


def _reader(reader: dict[str, Any]) -> str:
    marks = ["read"] if reader.get("readAt") else []
    marks += ["unknown"] if reader.get("known") is False else []
    return address(reader["address"]) + (f" ({', '.join(marks)})" if marks else "")
