"""What a person is told of a matter, and when it is quiet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.captured import NOW
from whisk.errors import InvalidError
from whisk.matters.matter import Matter
from whisk.matters.notice import NotifySettings, notice_of, quiet_minutes

BOTH = ("needs", "done")


def matter(**fields: Any) -> Matter:
    whole = {"type": "prompt.opened", "noun": "approval", "title": "Bash: make", "outcome": "pending"}
    whole |= {"needs_person": True, "done": False, "key": "appr_1", "id": "appr_1", **fields}
    return Matter(seq=1, at=NOW, **whole)


def test_one_who_is_needed_is_told_by_whom_where_and_how_to_answer() -> None:
    told = notice_of(
        matter(who="claude", run_id="run_1", work_item_id="item_1", command="whisk prompt show appr_1", link="http://w/1"),
        BOTH,
    )  # fmt: skip
    assert told is not None
    assert (told.kind, told.key, told.title) == ("needs", "appr_1", "whisk: approval needs you")
    assert told.body.splitlines() == [
        "Bash: make",
        "by claude",
        "item_1 run_1",
        "whisk prompt show appr_1",
        "http://w/1",
    ]


def test_what_is_over_or_not_wanted_is_not_told() -> None:
    over = {"needs_person": False, "outcome": "answered"}
    assert notice_of(matter(**over), BOTH) is None
    assert notice_of(matter(), ("done",)) is None
    ended = matter(**over, noun="run", type="run.ended", done=True)
    assert notice_of(ended, ("needs",)) is None
    assert notice_of(ended, BOTH) is not None


@pytest.mark.parametrize(
    ("spans", "minute", "left"),
    [
        ((), 0, 0),
        (("22:00-07:00",), 21 * 60 + 59, 0),
        (("22:00-07:00",), 22 * 60, 540),
        (("22:00-07:00",), 0, 420),
        (("22:00-07:00",), 6 * 60 + 59, 1),
        (("22:00-07:00",), 7 * 60, 0),
        (("12:00-13:00",), 12 * 60 + 30, 30),
        (("12:00-13:00", "12:30-14:00"), 12 * 60 + 45, 75),
        (("00:00-24:00",), 700, 740),
        (("08:00-08:00",), 480, 0),
    ],
)
def test_it_is_quiet_in_the_hours_that_were_named(spans: tuple[str, ...], minute: int, left: int) -> None:
    assert quiet_minutes(spans, minute) == left


@pytest.mark.parametrize(
    "fields", [{"quiet": ("10-12",)}, {"quiet": ("24:01-25:00",)}, {"link": "http://x/{what}"}, {"link": "{"}]
)
def test_settings_that_mean_nothing_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidError):
        NotifySettings(**fields)
