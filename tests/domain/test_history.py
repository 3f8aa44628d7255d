"""Which terminals are forgotten when there are too many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.terminal.history import Kept, choose_expired

A, B, C = Kept("a", 10, listed=False), Kept("b", 20, listed=True), Kept("c", 30, listed=False)


@pytest.mark.parametrize(
    ("total_bytes", "count", "expired"),
    [
        (60, 2, []),
        (59, 2, [A]),
        (49, 2, [A, B]),
        (0, 2, [A, B, C]),
        (60, 1, [A]),
        (60, 0, [A, C]),
    ],
)
def test_the_longest_ended_go_first(total_bytes: int, count: int, expired: list[Kept]) -> None:
    assert choose_expired([A, B, C], total_bytes, count) == expired


def test_a_terminal_that_its_session_still_shows_is_not_counted_and_goes_only_for_its_output() -> None:
    silent = Kept("s", 0, listed=True)
    assert choose_expired([silent, B], 0, 0) == [B]


@given(
    st.lists(st.builds(Kept, st.uuids().map(str), st.integers(0, 100), st.booleans()), max_size=20),
    st.integers(0, 500),
    st.integers(0, 10),
)
def test_what_stays_is_within_both_bounds(ended: list[Kept], total_bytes: int, count: int) -> None:
    expired = choose_expired(ended, total_bytes, count)
    stays = [each for each in ended if each not in expired]
    assert sum(each.size for each in stays) <= total_bytes
    assert sum(not each.listed for each in stays) <= count
