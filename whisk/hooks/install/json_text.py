"""JSON read with its places, so that a change can touch a few characters and leave every other one as it is.

Strict RFC 8259: comments and trailing commas are refused with their line, since the programs that own these files
refuse them too, or read something else than we would.
"""

from __future__ import annotations

import functools
import json
import re
from json import decoder
from typing import Any, Literal, NamedTuple

from whisk.errors import InvalidError

MAX_DEPTH = 200
# The standard library's own, which is not in its stubs.
_scan_string = decoder.scanstring  # type: ignore[attr-defined]
_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)", re.ASCII)


class Node(NamedTuple):
    """A value and where it stands: `text[start:end]`. Children of an object carry their key."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    children: tuple[Child, ...] = ()

    def child(self, name: str | int) -> Node | None:
        """The value at a key or an index; of equal keys the last, which is the one that programs read."""
        if isinstance(name, int):
            return self.children[name].value if self.kind == "array" and name < len(self.children) else None
        return next((child.value for child in reversed(self.children) if child.key == name), None)

    @property
    def keys(self) -> list[str]:
        """The keys of an object as they stand there, repeated ones too."""
        return [child.key for child in self.children if child.key is not None]


class Child(NamedTuple):
    """`start` is where its key begins, or the value in an array; it ends with the value."""

    key: str | None
    start: int
    value: Node


# One change asks for the same text a dozen times.
@functools.lru_cache(maxsize=2)
def parse(text: str) -> Node:
    """The whole of `text`; raises `InvalidError` that says the line and what stands there."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, at, 0)
    rest = _skip(text, node.end)
    if rest < len(text):
        raise _unexpected(text, rest, "the end of the file")
    return node


def value_at(text: str, node: Node) -> Any:
    """The Python value of a node."""
    return json.loads(text[node.start : node.end])


def line_of(text: str, at: int) -> int:
    """The number of the line, from 1."""
    return text.count("\n", 0, at) + 1


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise _fault(text, at, f"nested more than {MAX_DEPTH} deep")
    mark = text[at : at + 1]
    if mark == "{":
        return _object(text, at, depth)
    if mark == "[":
        return _array(text, at, depth)
    if mark == '"':
        return Node("scalar", at, _string(text, at)[1])
    found = _SCALAR.match(text, at)
    if found is None:
        raise _unexpected(text, at, "a value")
    return Node("scalar", at, found.end())


def _object(text: str, start: int, depth: int) -> Node:
    children: list[Child] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}" or children:
        if text[at : at + 1] != '"':
            raise _unexpected(text, at, "a key in quotes")
        key, end = _string(text, at)
        colon = _skip(text, end)
        if text[colon : colon + 1] != ":":
            raise _unexpected(text, colon, "a colon")
        value = _value(text, _skip(text, colon + 1), depth + 1)
        children.append(Child(key, at, value))
        at = _skip(text, value.end)
        if text[at : at + 1] == "}":
            break
        at = _comma(text, at)
    return Node("object", start, at + 1, tuple(children))


def _array(text: str, start: int, depth: int) -> Node:
    children: list[Child] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]" or children:
        value = _value(text, at, depth + 1)
        children.append(Child(None, at, value))
        at = _skip(text, value.end)
        if text[at : at + 1] == "]":
            break
        at = _comma(text, at)
    return Node("array", start, at + 1, tuple(children))


def _comma(text: str, at: int) -> int:
    """Where the next child begins."""
    if text[at : at + 1] != ",":
        raise _unexpected(text, at, "a comma or the closing bracket")
    following = _skip(text, at + 1)
    if text[following : following + 1] in ("}", "]"):
        raise _fault(text, at, "a comma stands before a closing bracket")
    return following


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        found, end = _scan_string(text, at + 1, True)
    except json.JSONDecodeError as error:
        raise _fault(text, error.pos, f"a broken string ({error.msg.lower()})") from None
    return found, end


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _unexpected(text: str, at: int, wanted: str) -> InvalidError:
    if text.startswith(("//", "/*", "#"), at):
        return _fault(text, at, "a comment, which JSON does not have")
    shown = json.dumps(text[at : at + 1], ensure_ascii=False) if at < len(text) else "the end of the file"
    return _fault(text, at, f"{shown} where {wanted} should be")


def _fault(text: str, at: int, what: str) -> InvalidError:
    line = line_of(text, at)
    return InvalidError(f"not JSON at line {line}: {what}", line=line, column=at - text.rfind("\n", 0, at))
