"""One line of the doctor's page."""

from __future__ import annotations

from typing import Literal

from whisk.values import Record

Grade = Literal["ok", "off", "look", "broken"]
"""`off` is not set up, which is right unless somebody wants it; `look` works now and may not for long."""


class Finding(Record, frozen=True):
    """`mend` is the command that puts it right, or what to do where no command can."""

    section: str
    name: str
    grade: Grade
    detail: str
    mend: str = ""
