"""Points in time as people are shown them."""

from __future__ import annotations


def moment(text: str) -> str:
    """`2026-11-30T23:48:10.428134076Z` → `2026-11-30T23:48:10Z`: in UTC and to the second, the same everywhere."""
    return f"{text[:19]}Z"
