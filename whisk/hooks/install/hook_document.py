"""Whisk's hooks in the JSON document of Claude Code (`settings.json`) or Codex (`hooks.json`).

Both hold `{"hooks": {"<Event>": [{"matcher"?, "hooks": [{"type": "command", "command": …}]}]}}`. Whisk adds one group
at the end of each event's list. A hook is whisk's when its command runs whisk's helper, and not because a name in it
looks like one.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from whisk.errors import InvalidError
from whisk.hooks.install import splice
from whisk.hooks.install.json_text import Node, line_of, parse, value_at
from whisk.values import Record

HELPER_NAME = "whisk-hook-helper"
Group = dict[str, Any]


class Trace(Record, frozen=True):
    """What a removal needs to leave a file as it was before the first install.

    `blank` is the file's text where that held nothing (None: there was no file), `was_blank` says that it did.
    `inner` is the space between the brackets of objects and arrays that were empty, by their place.
    """

    was_blank: bool = False
    blank: str | None = None
    inner: dict[str, str] = {}


class Placed(NamedTuple):
    """A hook and where it stands: the event, the index of its group, its index `at` in the group."""

    event: str
    group: int
    at: int
    matcher: str | None
    handler: dict[str, Any]

    @property
    def ours(self) -> bool:
        return is_ours(self.handler)


def is_ours(handler: object) -> bool:
    """Whether this is a hook that whisk put there: its program is the helper, called as whisk calls it."""
    command = handler.get("command") if isinstance(handler, dict) else None
    if not isinstance(command, str) or HELPER_NAME not in command:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return words[0].rpartition("/")[2] == HELPER_NAME and words[1:3] == ["agent-bridge", "hook"]


def is_blank(text: str | None) -> bool:
    return text is None or not text.removeprefix("\ufeff").strip()


def placed(text: str | None) -> list[Placed]:
    """Every hook of the document in order. What is not shaped like one is passed over."""
    if text is None or is_blank(text):
        return []
    found = []
    for event, at, group in _groups(text):
        handlers = group.child("hooks") if group.kind == "object" else None
        matcher = group.child("matcher") if group.kind == "object" else None
        told = value_at(text, matcher) if matcher is not None else None
        for index, handler in enumerate(handlers.children if handlers is not None else ()):
            value = value_at(text, handler.value)
            if isinstance(value, dict):
                found.append(Placed(event, at, index, told if isinstance(told, str) else None, value))
    return found


def install(text: str | None, wanted: Mapping[str, Group], trace: Trace | None = None) -> tuple[str, Trace]:
    """`text` with exactly the groups of `wanted` as whisk's, and the trace for the removal.

    A group of whisk's that is there already is brought up to date in its place. `trace` is that of an install before.
    Raises `InvalidError` for a document that is not JSON or not shaped as the agent reads it; nothing is guessed.
    """
    trace = trace or Trace()
    lists = {event: [group] for event, group in wanted.items()}
    if text is None or is_blank(text):
        mark = "\ufeff" if text and text.startswith("\ufeff") else ""
        return f"{mark}{json.dumps({'hooks': lists}, indent=2, ensure_ascii=False)}\n", Trace(
            was_blank=True, blank=text
        )
    check(text, wanted)
    text = _tidy(text, wanted)
    inner = dict(trace.inner)
    if "hooks" not in parse(text).keys:
        if (space := splice.inner(text, ())) is not None:
            inner.setdefault("", space)
        return splice.append(text, (), lists, "hooks"), _with_inner(trace, inner)
    for event, group in wanted.items():
        events = splice.find(text, ("hooks",))
        assert events is not None
        if (space := splice.inner(text, ("hooks",))) is not None:
            inner.setdefault("hooks", space)
        if events.child(event) is None:
            text = splice.append(text, ("hooks",), [group], event)
            continue
        if (space := splice.inner(text, ("hooks", event))) is not None:
            inner.setdefault(f"hooks/{event}", space)
        at = _own_group(text, event)
        if at is None:
            text = splice.append(text, ("hooks", event), group)
        elif value_at(text, _node(text, "hooks", event, at)) != group:
            text = splice.replace(text, ("hooks", event, at), group)
    return text, _with_inner(trace, inner)


def remove(text: str | None, trace: Trace | None = None) -> str | None:
    """`text` without whisk's hooks; None when the file should not be there at all, as before.

    Lists and objects that held nothing else go too, unless `trace` says that they were there. Raises `InvalidError`.
    """
    trace = trace or Trace()
    if text is None or is_blank(text):
        return text
    check(text, {})
    for event in dict.fromkeys(each.event for each in placed(text) if each.ours):
        text = _drop(text, event, keep=None)
        if splice.inner(text, ("hooks", event)) is not None:
            if (space := trace.inner.get(f"hooks/{event}")) is not None:
                text = splice.refill(text, ("hooks", event), space)
            else:
                text = splice.delete(text, ("hooks", event))
        if splice.inner(text, ("hooks",)) is not None:
            if (space := trace.inner.get("hooks")) is not None:
                text = splice.refill(text, ("hooks",), space)
            else:
                text = splice.delete(text, ("hooks",))
                if splice.inner(text, ()) is not None:
                    return trace.blank if trace.was_blank else splice.refill(text, (), trace.inner.get("", ""))
    return text


def check(text: str, wanted: Mapping[str, Any]) -> None:
    """Raises `InvalidError` when whisk could not add hooks here without guessing what was meant."""
    root = parse(text)
    if root.kind != "object":
        raise InvalidError(f"line {line_of(text, root.start)} begins no JSON object")
    _once(text, root, "hooks")
    events = root.child("hooks")
    if events is None:
        return
    if events.kind != "object":
        raise InvalidError(f'"hooks" at line {line_of(text, events.start)} is no object')
    own = {each.event for each in placed(text) if each.ours}
    for event in {*wanted, *own}:
        _once(text, events, event)
        node = events.child(event)
        if node is not None and node.kind != "array":
            raise InvalidError(f'"hooks.{event}" at line {line_of(text, node.start)} is no list')


def _once(text: str, node: Node, key: str) -> None:
    lines = [line_of(text, child.start) for child in node.children if child.key == key]
    if len(lines) > 1:
        raise InvalidError(
            f'"{key}" stands there twice, at lines {lines[0]} and {lines[-1]}; agents read the last only, so merge them'
        )


def _tidy(text: str, wanted: Mapping[str, Any]) -> str:
    """Without what is whisk's and should not be: other events, second groups, hooks inside of others' groups."""
    for event in dict.fromkeys(each.event for each in placed(text) if each.ours):
        text = _drop(text, event, keep=_own_group(text, event) if event in wanted else None)
        if event not in wanted and splice.inner(text, ("hooks", event)) is not None:
            text = splice.delete(text, ("hooks", event))
    return text


def _drop(text: str, event: str, keep: int | None) -> str:
    """Without whisk's hooks of an event, but for those in the group `keep`."""
    for each in reversed(placed(text)):
        if each.event != event or not each.ours or each.group == keep:
            continue
        text = splice.delete(text, ("hooks", event, each.group, "hooks", each.at))
        if splice.inner(text, ("hooks", event, each.group, "hooks")) is not None:
            text = splice.delete(text, ("hooks", event, each.group))
    return text


def _own_group(text: str, event: str) -> int | None:
    """The first group of an event in which every hook is whisk's."""
    hooks: dict[int, list[bool]] = {}
    for each in placed(text):
        if each.event == event:
            hooks.setdefault(each.group, []).append(each.ours)
    return next((at for at, ours in hooks.items() if all(ours)), None)


def _groups(text: str) -> Iterator[tuple[str, int, Node]]:
    root = parse(text)
    events = root.child("hooks") if root.kind == "object" else None
    if events is None or events.kind != "object":
        return
    for event in dict.fromkeys(events.keys):
        groups = events.child(event)
        if groups is not None and groups.kind == "array":
            yield from ((event, at, child.value) for at, child in enumerate(groups.children))


def _node(text: str, *path: str | int) -> Node:
    node = splice.find(text, path)
    assert node is not None
    return node


def _with_inner(trace: Trace, inner: dict[str, str]) -> Trace:
    return Trace(was_blank=trace.was_blank, blank=trace.blank, inner=inner)
