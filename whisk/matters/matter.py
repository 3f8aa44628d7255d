"""A matter: something that a person may want to hear of. Its number orders it; what is told of it is looked up anew.

Matters are numbered in the transaction of the change itself, so none is lost and none told that did not happen.
"""

from __future__ import annotations

from typing import Literal, get_args

from whisk.clock import Instant
from whisk.hooks.redaction import redact_text
from whisk.values import Record

MatterType = Literal[
    "prompt.opened",
    "prompt.closed",
    "question.asked",
    "question.answered",
    "gate.opened",
    "gate.completed",
    "status.reported",
    "run.ended",
    "mail.escalated",
    "artifact.drafted",
    "item.blocked",
]
MATTER_TYPES: tuple[MatterType, ...] = get_args(MatterType)

TITLE_CHARS = 300


class Numbered(Record, frozen=True):
    """A matter as it is stored: what happened to which thing."""

    seq: int
    type: MatterType
    id: str


class Matter(Record, frozen=True):
    """A matter as it is told, with the thing as it is now: one that was opened may be `outcome` answered meanwhile.

    `noun` and `id` name the thing. `needs_person` says that somebody is still waited for, `done` that work has come to
    an end. `who` acted last: who asked, or who decided. `title` is one line, without what looks like a secret. `link`
    opens it, `command` shows it.
    """

    seq: int
    type: MatterType
    noun: str
    id: str
    at: Instant
    title: str
    outcome: str
    needs_person: bool
    done: bool
    key: str
    """What has one key is one matter to a person: two reports of an agent, or a report and the end of its run."""
    who: str = ""
    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    link: str = ""
    command: str = ""


_COMMANDS = {
    "prompt": "whisk prompt show {id}",
    "approval": "whisk prompt show {id}",
    "question": "whisk question list",
    "gate": "whisk gate list",
    "status": "whisk status list",
    "run": "whisk run list",
    "mail": "whisk mail thread {id}",
    "artifact": "whisk workflow artifacts",
    "item": "whisk work-item show {id}",
}
_LISTED = ("question", "gate", "run", "artifact")
NOUNS: tuple[str, ...] = tuple(_COMMANDS)


def command_for(noun: str, id: str, work_item_id: str = "") -> str:
    """The command that shows the thing, alone or in its list."""
    command = _COMMANDS[noun].format(id=id)
    return f"{command} -work-item {work_item_id}" if noun in _LISTED and work_item_id else command


def title_of(text: str) -> str:
    """One line of `text`, without what looks like a secret."""
    line = " ".join(redact_text(text).split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "\u2026"
