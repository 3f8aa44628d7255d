"""The ids that a command line may name, asked of the daemon; nobody waits long for a completion."""

from __future__ import annotations

from typing import Any, NamedTuple

from whisk.cli.candidate import Candidate
from whisk.cli.context import Context
from whisk.cli.failure import CommandError
from whisk.cli.output import one_line

SECONDS = 1.0
_ABOUT_LENGTH = 60


class Source(NamedTuple):
    """Where the records of a noun are listed, which field names them, and which say what each is."""

    path: str
    id: str = "id"
    about: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()


SOURCES: dict[str, Source] = {
    "project": Source("/v1/projects", about=("name",)),
    "work-item": Source("/v1/work-items", about=("title", "stageId")),
    "run": Source("/v1/work-item-runs", about=("status", "preset")),
    "session": Source("/v1/sessions", about=("name",)),
    "pty": Source("/v1/ptys", about=("status", "title")),
    "prompt": Source("/v1/agent-prompts", about=("message",), query=(("status", "pending"),)),
    "question": Source("/v1/questions", about=("status", "prompt")),
    "artifact": Source("/v1/artifacts", about=("kind", "status", "title")),
    "gate": Source("/v1/gate-reports", about=("status", "name")),
    "report": Source("/v1/status-events", about=("kind", "message"), query=(("unreadOnly", "true"),)),
    "mail": Source("/v1/mail", about=("subject",), query=(("limit", "50"),)),
    "peer": Source("/v1/peers", about=("runtime", "status", "cwd")),
    "webhook": Source("/v1/webhooks", about=("url",)),
    "policy": Source("/v1/policies", about=("effect", "rule")),
    "agent-profile": Source("/v1/agent-profiles", about=("label",)),
    "provider": Source("/v1/agent-hook-integrations", id="provider", about=("status",)),
    "actor": Source("/v1/actors", id="name", about=("state",)),
}
# Other names under which help texts ask for the same.
_SAME = {
    "item": "work-item",
    "thread": "mail",
    "reply-to": "mail",
    "profile": "agent-profile",
    "source": "work-item",
    "target": "work-item",
}


def ids(context: Context, noun: str) -> list[Candidate]:
    """Those of `noun`, newest last as the daemon lists them; empty when it cannot be asked."""
    source = SOURCES.get(_SAME.get(noun, noun))
    if source is None:
        return []
    try:
        found = context.client.get(source.path, dict(source.query), timeout=SECONDS)
    except CommandError:
        return []
    return [Candidate(str(each[source.id]), _about(each, source.about)) for each in found if source.id in each]


def _about(record: dict[str, Any], fields: tuple[str, ...]) -> str:
    """What a person knows the record by. It is other people's text, shown in a terminal."""
    text = " ".join(str(record[name]) for name in fields if record.get(name))
    return one_line(text)[:_ABOUT_LENGTH]
