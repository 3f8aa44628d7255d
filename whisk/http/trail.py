"""The audit trail of what is not a change of the database alone: files of other programs, terminals, whole folders.

Such a deed cannot share a transaction with its entry, so the entry is written after it, before the answer.
"""

from __future__ import annotations

from typing import Any

from whisk.actors.future import get
from whisk.http.api import Api
from whisk.http.route import Request
from whisk.matters.audit import AuditEntry
from whisk.storage import audit
from whisk.work.person import check_actor


def note(
    api: Api,
    request: Request[Any, Any],
    action: str,
    noun: str,
    id: str,
    outcome: str,
    *,
    about: str = "",
    session_id: str = "",
    pty_id: str = "",
) -> None:
    """Blocks until it is on disk. Who did it is whom the body, else the header `X-Whisk-Actor`, names."""
    entry = AuditEntry(
        at=api.clock.now(),
        who=check_actor(getattr(request.body, "actor", None)) or check_actor(request.who) or "",
        surface=request.surface,
        action=action,
        noun=noun,
        id=id,
        outcome=outcome,
        about=about,
        session_id=session_id,
        pty_id=pty_id,
    )
    get(api.journal.write.remote(lambda db: audit.record(db, entry)))
