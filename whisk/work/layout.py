"""The split tree of a window: which pane lies beside which.

A tree is a leaf (one pane) or a split with two or more children. A split never holds a split of its own direction:
such children are lifted into it, so `a | b | c` is one row of three. `sizes` are shares of the parent; empty means
equal shares, and every change of the shape makes them equal again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from whisk.errors import InvalidError, NotFoundError
from whisk.values import Record

Direction = Literal["horizontal", "vertical"]


class LayoutNode(Record, frozen=True):
    """A leaf has `pane_id`, a split has `direction` and `children`."""

    kind: Literal["leaf", "split"]
    pane_id: str | None = None
    direction: Direction | None = None
    children: tuple[LayoutNode, ...] = ()
    sizes: tuple[float, ...] = ()


def leaf(pane_id: str) -> LayoutNode:
    return LayoutNode(kind="leaf", pane_id=pane_id)


def parse_direction(text: str) -> Direction:
    """An empty direction is horizontal, as clients of the wire rely on; raises `InvalidError` for an unknown one."""
    if not text:
        return "horizontal"
    for known in get_args(Direction):
        if text == known:
            direction: Direction = known
            return direction
    raise InvalidError(f"unknown split direction {text!r}", field="direction", expected=list(get_args(Direction)))


def panes(node: LayoutNode) -> Iterator[str]:
    """The panes of a tree, in the order in which they are drawn."""
    if node.pane_id is not None:
        yield node.pane_id
    for child in node.children:
        yield from panes(child)


def split_leaf(node: LayoutNode, target: str, direction: Direction, new_pane: str) -> LayoutNode:
    """Put `new_pane` after `target`; raises `NotFoundError` when the tree does not hold `target`."""
    if target not in panes(node):
        raise NotFoundError(f"pane {target} is not in this window", pane=target)
    return _split(node, target, direction, new_pane)


def _split(node: LayoutNode, target: str, direction: Direction, new_pane: str) -> LayoutNode:
    if node.pane_id == target:
        return LayoutNode(kind="split", direction=direction, children=(node, leaf(new_pane)))
    if node.kind == "leaf" or node.direction is None:
        return node
    return _join(node.direction, tuple(_split(child, target, direction, new_pane) for child in node.children), node)


def remove_leaf(node: LayoutNode, target: str) -> LayoutNode | None:
    """The tree without `target`; `None` when nothing is left. A split with one child left becomes that child."""
    if node.pane_id == target:
        return None
    if node.kind == "leaf" or node.direction is None:
        return node
    kept = tuple(child for each in node.children if (child := remove_leaf(each, target)) is not None)
    if len(kept) == 1:
        return kept[0]
    return _join(node.direction, kept, node) if kept else None


def _join(direction: Direction, children: tuple[LayoutNode, ...], before: LayoutNode) -> LayoutNode:
    flat: list[LayoutNode] = []
    for child in children:
        flat.extend(child.children if child.direction == direction else (child,))
    if tuple(flat) == before.children:
        return before
    return LayoutNode(kind="split", direction=direction, children=tuple(flat))
