"""A notice: what is sent to a person's phone or screen. Once for each matter, and only while it still matters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.matters.matter import Matter
from whisk.values import Record

_SPAN = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)-([01]?\d|2[0-4]):([0-5]\d)")
DAY_MINUTES = 24 * 60

NoticeKind = Literal["needs", "done"]


class NotifySettings(Record, frozen=True):
    """Where notices go (apprise's addresses), of which kinds, and when. Seconds.

    A matter is told `delay` after it came up, if it still waits then. Of one key nothing is told twice within
    `cooldown`. In the hours of `quiet` (`22:00-07:00`, local time) nothing is told until they are over. `link` opens a
    thing: `{noun}` and `{id}` are replaced.
    """

    urls: tuple[str, ...] = ()
    kinds: tuple[NoticeKind, ...] = ("needs", "done")
    delay: float = 3.0
    cooldown: float = 60.0
    quiet: tuple[str, ...] = ()
    timeout: float = 30.0
    link: str = ""

    def __post_init__(self) -> None:
        """Raises `InvalidError` for hours that are none, and for a link with an unknown place in it."""
        for span in self.quiet:
            parse_span(span)
        try:
            self.link.format(noun="", id="")
        except (KeyError, IndexError, ValueError) as error:
            raise InvalidError(f"the link takes {{noun}} and {{id}} alone: {error!r}", field="link") from None


class Notice(Record, frozen=True):
    kind: NoticeKind
    key: str
    title: str
    body: str


class NotifyTarget(Record, frozen=True):
    """`url` without its secrets; `error` says why it cannot be used, or how the last try failed."""

    url: str
    error: str = ""


class NotifyState(Record, frozen=True):
    """`waiting`: matters that are still to be looked at. `withdrawn`: over before anybody was told."""

    enabled: bool
    installed: bool
    targets: tuple[NotifyTarget, ...]
    quiet: bool = False
    sent: int = 0
    withdrawn: int = 0
    failed: int = 0
    waiting: int = 0
    last_sent_at: Instant | None = None


class NotifyResult(Record, frozen=True):
    """What became of one try at one target."""

    target: str
    delivered: bool
    error: str = ""


_NEEDS = {
    "status": "an agent needs you ({outcome})",
    "artifact": "a draft needs you",
    "item": "a work item is {outcome}",
}


def notice_of(matter: Matter, kinds: Sequence[NoticeKind]) -> Notice | None:
    """What a person is told of it; None when it wants nobody (any more), or is not of these kinds."""
    if matter.needs_person:
        kind: NoticeKind = "needs"
        what = _NEEDS.get(matter.noun, f"{matter.noun} needs you").format(outcome=matter.outcome)
    elif matter.done:
        kind, what = "done", matter.outcome if matter.noun == "run" else "done"
    else:
        return None
    if kind not in kinds:
        return None
    return Notice(kind=kind, key=matter.key, title=f"whisk: {what}", body=_body(matter))


def _body(matter: Matter) -> str:
    where = " ".join(each for each in (matter.work_item_id, matter.run_id or matter.session_id) if each)
    lines = (matter.title, f"by {matter.who}" if matter.who else "", where, matter.command, matter.link)
    return "\n".join(line for line in lines if line)


def parse_span(text: str) -> tuple[int, int]:
    """First and last minute of the day of `22:00-07:00`; raises `InvalidError`."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise InvalidError(f"quiet hours are written 22:00-07:00, not {text!r}", field="quiet")
    start, end = (int(match[at]) * 60 + int(match[at + 1]) for at in (1, 3))
    if max(start, end) > DAY_MINUTES:
        raise InvalidError(f"a day ends at 24:00: {text!r}", field="quiet")
    return start, end


def quiet_minutes(spans: Sequence[str], minute: int) -> int:
    """For how many more minutes it is quiet at this minute of the day; 0 when it is not."""
    left = 0
    for start, end in map(parse_span, spans):
        if start <= end:
            inside, until = start <= minute < end, end
        else:
            inside, until = minute >= start or minute < end, end + (DAY_MINUTES if minute >= start else 0)
        left = max(left, until - minute if inside else 0)
    return left
