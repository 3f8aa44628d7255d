"""The split tree of a window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.errors import InvalidError, NotFoundError
from whisk.values import decode, encode
from whisk.work.layout import LayoutNode, leaf, panes, parse_direction, remove_leaf, split_leaf


def test_a_split_puts_the_new_pane_after_its_target() -> None:
    tree = split_leaf(leaf("a"), "a", "horizontal", "b")
    assert tree.kind == "split"
    assert tree.direction == "horizontal"
    assert list(panes(tree)) == ["a", "b"]


def test_splits_of_one_direction_become_one_row() -> None:
    tree = split_leaf(split_leaf(leaf("a"), "a", "horizontal", "b"), "a", "horizontal", "c")
    assert [child.pane_id for child in tree.children] == ["a", "c", "b"]


def test_a_split_across_nests() -> None:
    tree = split_leaf(split_leaf(leaf("a"), "a", "horizontal", "b"), "b", "vertical", "c")
    assert [child.kind for child in tree.children] == ["leaf", "split"]
    assert tree.children[1].direction == "vertical"


def test_closing_all_but_one_child_leaves_that_child_alone() -> None:
    tree = split_leaf(split_leaf(leaf("a"), "a", "horizontal", "b"), "b", "vertical", "c")
    shrunk = remove_leaf(tree, "c")
    assert shrunk is not None
    assert [child.pane_id for child in shrunk.children] == ["a", "b"]
    assert remove_leaf(shrunk, "a") == leaf("b")
    assert remove_leaf(leaf("b"), "b") is None


def test_closing_a_divider_joins_the_rows_around_it() -> None:
    row = LayoutNode(kind="split", direction="horizontal", children=(leaf("c"), leaf("d")))
    column = LayoutNode(kind="split", direction="vertical", children=(leaf("b"), row))
    tree = remove_leaf(LayoutNode(kind="split", direction="horizontal", children=(leaf("a"), column)), "b")
    assert tree == LayoutNode(kind="split", direction="horizontal", children=(leaf("a"), leaf("c"), leaf("d")))


def test_sizes_are_reset_by_a_change_and_kept_without_one() -> None:
    row = LayoutNode(kind="split", direction="horizontal", children=(leaf("a"), leaf("b")), sizes=(0.7, 0.3))
    assert split_leaf(row, "b", "horizontal", "c").sizes == ()
    tree = LayoutNode(kind="split", direction="vertical", children=(row, leaf("c")))
    changed = split_leaf(tree, "c", "horizontal", "d")
    assert changed.children[0].sizes == (0.7, 0.3)


def test_an_unknown_pane_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="pane x"):
        split_leaf(leaf("a"), "x", "horizontal", "b")


def test_no_direction_means_horizontal_and_an_unknown_one_is_refused() -> None:
    assert parse_direction("") == "horizontal"
    assert parse_direction("vertical") == "vertical"
    with pytest.raises(InvalidError, match="unknown split direction"):
        parse_direction("diagonal")


def test_the_tree_reads_back_from_its_json() -> None:
    tree = split_leaf(split_leaf(leaf("a"), "a", "horizontal", "b"), "b", "vertical", "c")
    assert decode(encode(tree), LayoutNode) == tree
    assert encode(leaf("a")) == b'{"kind":"leaf","paneId":"a"}'


Step = tuple[bool, int, bool]


def _sound(node: LayoutNode) -> None:
    if node.kind == "leaf":
        assert node.pane_id is not None
        assert node.children == ()
        return
    assert len(node.children) >= 2
    for child in node.children:
        assert child.direction != node.direction
        _sound(child)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 50), st.booleans()), max_size=30))
def test_any_run_of_splits_and_closes_keeps_the_tree_sound(steps: list[Step]) -> None:
    tree = leaf("p0")
    for number, (is_split, choice, horizontal) in enumerate(steps, 1):
        before = list(panes(tree))
        target = before[choice % len(before)]
        if is_split:
            tree = split_leaf(tree, target, "horizontal" if horizontal else "vertical", f"p{number}")
            before.insert(before.index(target) + 1, f"p{number}")
        else:
            rest = remove_leaf(tree, target)
            before.remove(target)
            if rest is None:
                assert before == []
                return
            tree = rest
        assert list(panes(tree)) == before
        _sound(tree)
