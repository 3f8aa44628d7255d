from __future__ import annotations

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, RefusedError
from whisk.work.item_link import AddItemLink, ItemLink, new_link

NOW = Instant(1_800_000_000_000_000_000)


def link(source: str, target: str, kind: str = "blocks", known: list[tuple[str, str]] | None = None) -> ItemLink:
    request = AddItemLink(source_work_item_id=source, target_work_item_id=target, type=kind, actor=" ann ")
    return new_link(request, known=known or [], link_id="link_1", project_id="proj_1", now=NOW)


def test_a_link_says_who_made_it() -> None:
    made = link("a", "b", "related")
    assert (made.id, made.project_id, made.type, made.created_by) == ("link_1", "proj_1", "related", "ann")
    assert (made.source_work_item_id, made.target_work_item_id) == ("a", "b")


def test_an_unknown_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidError, match='unknown link type "likes"; there are blocks, parent-child'):
        link("a", "b", "likes")


@pytest.mark.parametrize("kind", ["blocks", "parent-child", "related", "duplicates", "supersedes"])
def test_an_item_is_not_linked_to_itself_or_twice(kind: str) -> None:
    with pytest.raises(RefusedError, match="to itself"):
        link("a", "a", kind)
    with pytest.raises(RefusedError, match="already"):
        link("a", "b", kind, [("a", "b")])


def test_what_is_related_is_so_both_ways() -> None:
    with pytest.raises(RefusedError, match="already"):
        link("a", "b", "related", [("b", "a")])
    assert link("a", "b", "duplicates", [("b", "a")]).type == "duplicates"


@pytest.mark.parametrize("kind", ["blocks", "supersedes"])
def test_a_circle_is_refused_with_its_way(kind: str) -> None:
    with pytest.raises(RefusedError, match="a → b → c → a") as refusal:
        link("a", "b", kind, [("b", "c"), ("c", "a"), ("c", "d")])
    assert refusal.value.details["cycle"] == ["a", "b", "c", "a"]
    with pytest.raises(RefusedError):
        link("a", "b", kind, [("b", "a")])


def test_an_item_has_one_parent_and_is_not_its_own_ancestor() -> None:
    with pytest.raises(RefusedError, match="has a parent already: a"):
        link("b", "c", "parent-child", [("a", "c")])
    with pytest.raises(RefusedError, match="circle"):
        link("c", "a", "parent-child", [("a", "b"), ("b", "c")])
