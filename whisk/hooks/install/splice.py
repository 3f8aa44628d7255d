"""Changes to JSON text that leave every character alone which they do not have to touch.

`path` leads from the root by keys and indexes. What is put in looks like what is around it: its indentation, its line
ends, one line where the whole file is one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from whisk.hooks.install.json_text import Node, parse

Path = Sequence[str | int]
_DEFAULT_UNIT = "  "


def find(text: str, path: Path) -> Node | None:
    """The node that `path` leads to, or None; raises `InvalidError` when `text` is not JSON."""
    node: Node | None = parse(text)
    for name in path:
        node = node.child(name) if node is not None else None
    return node


def append(text: str, path: Path, value: Any, key: str | None = None) -> str:
    """`value` as the last child of the object or array at `path`; `key` is for objects.

    What stands between the brackets of an empty one is replaced; see `inner`.
    """
    node = _there(text, path)
    look = _Look(text)
    if node.children:
        last = node.children[-1]
        before = node.children[-2].value.end if len(node.children) > 1 else node.start
        space = re.sub(r"^[^,]*,|^[{\[]", "", text[before : last.start])
        base = space[space.rfind("\n") + 1 :] if "\n" in space else None
        if base is None and len(node.children) == 1:
            space = " "
        piece = f",{space}{look.render(value, key, base)}"
        return _cut(text, last.value.end, last.value.end, piece)
    if look.one_line:
        piece = look.render(value, key, None)
    else:
        line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
        outer = line[: len(line) - len(line.lstrip(" \t"))]
        base = outer + look.unit
        piece = f"{look.newline}{base}{look.render(value, key, base)}{look.newline}{outer}"
    return _cut(text, node.start + 1, node.end - 1, piece)


def replace(text: str, path: Path, value: Any) -> str:
    """`value` instead of what is at `path`."""
    node = _there(text, path)
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    base = line[: len(line) - len(line.lstrip(" \t"))] if "\n" in text[: node.start] else None
    return _cut(text, node.start, node.end, _Look(text).render(value, None, base))


def delete(text: str, path: Path) -> str:
    """Without the child at `path`. The last child leaves empty brackets."""
    node = _there(text, path[:-1])
    name = path[-1]
    at = name if isinstance(name, int) else max(i for i, child in enumerate(node.children) if child.key == name)
    child = node.children[at]
    if len(node.children) == 1:
        return _cut(text, node.start + 1, node.end - 1, "")
    if at:
        return _cut(text, node.children[at - 1].value.end, child.value.end, "")
    return _cut(text, child.start, node.children[1].start, "")


def inner(text: str, path: Path) -> str | None:
    """The space between the brackets of an empty object or array; None for anything else."""
    node = find(text, path)
    if node is None or node.kind == "scalar" or node.children:
        return None
    return text[node.start + 1 : node.end - 1]


def refill(text: str, path: Path, space: str) -> str:
    """Put back what `inner` found."""
    node = _there(text, path)
    return _cut(text, node.start + 1, node.end - 1, space)


class _Look:
    """How a file is written."""

    def __init__(self, text: str) -> None:
        root = parse(text)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        body = text[root.start : root.end]
        self.one_line = "\n" not in body and bool(root.children)
        lead = text[root.start + 1 : root.children[0].start] if root.children else ""
        found = lead[lead.rfind("\n") + 1 :] if "\n" in lead else ""
        self.unit = found or _DEFAULT_UNIT

    def render(self, value: Any, key: str | None, base: str | None) -> str:
        """`base` is the indentation of the line it begins on; None writes all of it on one line."""
        if base is None:
            written = json.dumps(value, ensure_ascii=False)
        else:
            written = json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + base)
        return written if key is None else f"{json.dumps(key, ensure_ascii=False)}: {written}"


def _there(text: str, path: Path) -> Node:
    node = find(text, path)
    if node is None:
        raise LookupError(f"nothing at {path!r}")
    return node


def _cut(text: str, start: int, end: int, piece: str) -> str:
    return text[:start] + piece + text[end:]
