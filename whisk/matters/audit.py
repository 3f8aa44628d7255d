"""One line of the audit trail: who decided what, when, by which rule. Never the secret text of an answer."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from whisk.clock import Instant
from whisk.hooks.redaction import redact_text
from whisk.values import Record

Surface = Literal["cli", "http", "hook", "mail", "rule", "whiskd", ""]
"""Which way a decision came in: a person's or program's request (`cli`, `http`), what an agent reported (`hook`,
`mail`), a policy (`rule`), or the daemon by itself (`whiskd`)."""
SURFACES: tuple[Surface, ...] = get_args(Surface)

REASON_CHARS = 2000


class AuditEntry(Record, frozen=True):
    """`noun` and `id` name the thing, `action` is what was done to it and `outcome` what became of it.

    `who` is the actor as it was given; `rule_id` the policy that spoke. `seq` is the entry's number, given when it is
    stored: numbers only grow, and have holes where old entries were deleted.
    """

    at: Instant
    who: str
    surface: Surface
    action: str
    noun: str
    id: str
    outcome: str = ""
    rule_id: str = ""
    reason: str = ""
    about: str = ""
    """What kind of thing, in one line: a tool's name, a rule's text, a gate's name."""
    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    seq: int = 0


class AuditFilter(Record, frozen=True):
    """Empty fields do not narrow. `since` is included, `until` is not.

    Without `after`, the newest `limit` entries; with it, the first `limit` behind that number. Oldest first each way.
    """

    who: str = ""
    noun: str = ""
    id: str = ""
    action: str = ""
    outcome: str = ""
    surface: str = ""
    project_id: str = ""
    since: Instant | None = None
    until: Instant | None = None
    after: int | None = None
    limit: int = 200


def presentable(entry: AuditEntry) -> AuditEntry:
    """The entry as it is stored: what looks like a secret is hidden, and endless texts are cut."""
    reason = redact_text(entry.reason[:REASON_CHARS])
    about = " ".join(redact_text(entry.about[:REASON_CHARS]).split())
    return msgspec.structs.replace(entry, reason=reason, about=about)
