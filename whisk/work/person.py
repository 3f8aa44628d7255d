"""Whether somebody is a person. Actors are free text in the records; these names belong to programs."""

from __future__ import annotations

from whisk.errors import RefusedError
from whisk.mail.address import CONCRETE_KINDS
from whisk.values import check_text

ACTOR_LIMIT = 256
RUNTIME = "runtime"
_PROGRAMS = ("agent", "plugin", "daemon", RUNTIME)


def check_actor(actor: str | None) -> str | None:
    """The actor as it is stored: trimmed, `None` when nothing is left."""
    name = check_text(actor or "", "actor", limit=ACTOR_LIMIT).strip()
    return name or None


def is_person(actor: str | None) -> bool:
    """An address (`run:…`) is an agent's or a program's, whoever wrote it; so is a name of the list, also with more
    behind a colon.
    """
    name, colon, _ = (actor or "").strip().lower().partition(":")
    return bool(name) and name not in _PROGRAMS and not (colon and name in CONCRETE_KINDS)


def need_person(actor: str | None, what: str) -> None:
    """Raise `RefusedError`, "<what> requires human actor", unless a person is named."""
    if not is_person(actor):
        raise RefusedError(f"{what} requires human actor", actor=actor)
