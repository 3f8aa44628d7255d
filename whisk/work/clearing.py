"""What `daemon clear` took away."""

from __future__ import annotations

from typing import ClassVar

from whisk.values import Record


class Cleared(Record, frozen=True):
    """Forwards are part of the wire; whisk has none."""

    wire_name: ClassVar[str] = "ClearDaemonResponse"

    sessions_cleared: int
    ptys_cleared: int
    projects_cleared: int
    work_items_cleared: int
    forwards_cleared: int
