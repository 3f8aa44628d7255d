"""Whether somebody is a person. Actors are free text in the records; these names belong to programs."""

from __future__ import annotations

from whisk.errors import RefusedError
from whisk.values import check_text

ACTOR_LIMIT = 256
RUNTIME = "runtime"
_PROGRAMS = ("agent", "plugin", "daemon", RUNTIME)


def check_actor(actor: str | None) -> str | None:
    """The actor as it is stored: trimmed, `None` when nothing is left."""
    name = check_text(actor or "", "actor", limit=ACTOR_LIMIT).strip()
    return name or None


def is_person(actor: str | None) -> bool:
    name = (actor or "").strip().lower()
    return bool(name) and name.partition(":")[0] not in _PROGRAMS


def need_person(actor: str | None, what: str) -> None:
    """Raise `RefusedError`, "<what> requires human actor", unless a person is named."""
    if not is_person(actor):
        raise RefusedError(f"{what} requires human actor", actor=actor)
