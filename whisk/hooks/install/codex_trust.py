"""Codex runs a hook only when `config.toml` holds its hash: `[hooks.state."<hooks.json>:<event>:<group>:<hook>"]`.

The key is a position, so whatever moves a hook must move its entry. The hash covers the hook's own fields; the rules
were found on codex-cli 0.171.0 (`codex app-server`, method `hooks/list`, `currentHash`).
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from tomlkit import dumps, parse
from tomlkit.exceptions import TOMLKitError

from whisk.errors import InvalidError
from whisk.hooks.install.hook_document import Placed

# Seconds: these two events get 1 by default and 3 at most, every other one 600 by default.
_SHORT = frozenset({"session_end", "interrupt"})
_NO_MATCHER = frozenset({"user_prompt_submit", "stop", "interrupt", "pre_model_request", "post_model_request"})
_BOM = "\ufeff"

States = dict[str, dict[str, Any]]


def label_of(event: str) -> str:
    """`PreToolUse` as Codex writes it in keys: `pre_tool_use`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def key_of(hook: Placed, source: str) -> str:
    """`source` is the path of hooks.json as Codex knows it."""
    return f"{source}:{label_of(hook.event)}:{hook.group}:{hook.at}"


def hash_of(hook: Placed) -> str:
    """What Codex calls the hook's current hash."""
    label, given = label_of(hook.event), hook.handler
    timeout = given.get("timeout")
    seconds = timeout if isinstance(timeout, int) else (1 if label in _SHORT else 600)
    seconds = min(max(seconds, 1), 3) if label in _SHORT else max(seconds, 1)
    handler: dict[str, Any] = {
        "type": "command",
        "command": given.get("command", ""),
        "timeout": seconds,
        "async": bool(given.get("async", False)),
    }
    if given.get("statusMessage") is not None:
        handler["statusMessage"] = given["statusMessage"]
    identity: dict[str, Any] = {"event_name": label, "hooks": [handler]}
    if hook.matcher is not None and label not in _NO_MATCHER:
        identity["matcher"] = hook.matcher
    written = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


def states(text: str | None) -> States:
    """The entries of `[hooks.state]` by key. Raises `InvalidError` for what is not TOML."""
    hooks = load(text).get("hooks")
    found = hooks.get("state") if isinstance(hooks, dict) else None
    entries = found if isinstance(found, dict) else {}
    return {key: dict(entry) for key, entry in entries.items() if isinstance(entry, dict)}


def load(text: str | None) -> dict[str, Any]:
    try:
        return tomllib.loads((text or "").removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidError(f"not TOML: {error}") from None


def hooks_are_off(text: str | None) -> bool:
    """Whether the person has switched all hooks of Codex off."""
    features = load(text).get("features")
    return isinstance(features, dict) and features.get("hooks") is False


def wanted_states(before: Iterable[Placed], after: Iterable[Placed], source: str, text: str | None) -> States:
    """The entries of `source` as they should be when its hooks went from `before` to `after`.

    Whisk's own are trusted as they stand now. Everybody else's keep the entry they had, also under a new position.
    """
    old = states(text)
    kept = {key: entry for key, entry in old.items() if not key.startswith(f"{source}:")}
    mine = {key: entry for key, entry in old.items() if key not in kept}
    before, after = list(before), list(after)
    own = {key_of(hook, source): hash_of(hook) for hook in after if hook.ours}
    # What whisk once trusted elsewhere is of no use to anybody.
    digests = {*own.values(), *(hash_of(hook) for hook in before if hook.ours)}
    mine = {key: entry for key, entry in mine.items() if entry.get("trusted_hash") not in digests or key in own}
    used: set[str] = {key_of(hook, source) for hook in before}
    # Entries of no hook that we know of are somebody's memory, and harmless.
    found = {key: entry for key, entry in mine.items() if key not in used}
    theirs = [key_of(hook, source) for hook in before if not hook.ours]
    there = [key_of(hook, source) for hook in after if not hook.ours]
    for key in own:
        found.pop(key, None)
    found |= {new: mine[key] for key, new in zip(theirs, there, strict=True) if key in mine}
    for key, digest in own.items():
        found[key] = {**mine.get(key, {}), "trusted_hash": digest}
        if key in theirs:
            # What stood there was about another hook.
            found[key] = {"trusted_hash": digest}
    return kept | found


def write_states(text: str | None, wanted: Mapping[str, dict[str, Any]]) -> str:
    """`text` with exactly these entries in `[hooks.state]`; nothing else of it changes.

    Raises `InvalidError` when that cannot be done, which leaves the person's own editing.
    """
    given = text or ""
    mark = _BOM if given.startswith(_BOM) else ""
    text = given.removeprefix(_BOM)
    now = states(text)
    # Backwards, so that what was appended last goes first and leaves what was there before.
    for key in reversed([key for key in now if key not in wanted]):
        text = _without(text, key)
    for key, entry in wanted.items():
        if key not in now:
            text = _with(text, key, entry)
        elif now[key] != entry:
            text = _changed(text, key, entry)
    return mark + text


def _with(text: str, key: str, entry: dict[str, Any]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([f"[hooks.state.{_quoted(key)}]", *(f"{name} = {_literal(entry[name])}" for name in entry)])
    # Before the last line end, so that a removal needs no memory of whether there was one.
    tail = newline if text.endswith(newline) else ""
    body = text[: len(text) - len(tail)]
    expected = _expect(text, key, entry)
    candidate = f"{body}{newline * 2}{block}{tail}" if body else f"{block}{newline}{tail}"
    if _reads(candidate, expected):
        return candidate
    return _by_tree(text, key, entry, expected)


def _without(text: str, key: str) -> str:
    expected = _expect(text, key, None)
    header = re.escape(f"[hooks.state.{_quoted(key)}]")
    lines = r"(?:\r?\n(?![ \t]*\[)[^\r\n]*[^\s][^\r\n]*)*"
    for pattern in (rf"(?:\r?\n){{2}}{header}{lines}", rf"\A{header}{lines}\r?\n?", rf"(?:\r?\n)?{header}{lines}"):
        for match in re.finditer(pattern, text):
            candidate = text[: match.start()] + text[match.end() :]
            if _reads(candidate, expected):
                return candidate
    return _by_tree(text, key, None, expected)


def _changed(text: str, key: str, entry: dict[str, Any]) -> str:
    return _by_tree(text, key, entry, _expect(text, key, entry))


def _by_tree(text: str, key: str, entry: dict[str, Any] | None, expected: dict[str, Any]) -> str:
    """By tomlkit, for files in which the entries are written in another way than Codex and whisk do."""
    try:
        document: Any = parse(text)
        state = document.setdefault("hooks", {}).setdefault("state", {})
        if entry is None:
            del state[key]
        elif key in state:
            for name in [name for name in state[key] if name not in entry]:
                del state[key][name]
            for name, value in entry.items():
                state[key][name] = value
        else:
            state[key] = _inline(entry)
        written = dumps(document)
    except (TOMLKitError, KeyError, TypeError, ValueError, AttributeError):
        written = ""
    if not _reads(written, expected):
        raise InvalidError("its [hooks.state] is written in a way that whisk cannot change safely")
    return written


def _inline(entry: dict[str, Any]) -> Any:
    from tomlkit import inline_table

    table = inline_table()
    table.update(entry)
    return table


def _expect(text: str, key: str, entry: dict[str, Any] | None) -> dict[str, Any]:
    """What the file should say after one change."""
    whole = load(text)
    hooks = whole.setdefault("hooks", {})
    state = hooks.setdefault("state", {}) if isinstance(hooks, dict) else None
    if not isinstance(state, dict):
        raise InvalidError("its hooks.state is no table")
    if entry is None:
        state.pop(key, None)
    else:
        state[key] = dict(entry)
    return _pruned(whole)


def _reads(text: str, expected: dict[str, Any]) -> bool:
    try:
        # Compared as text, in which a NaN is equal to itself.
        return _sorted(_pruned(load(text))) == _sorted(expected)
    except InvalidError:
        return False


def _pruned(whole: dict[str, Any]) -> dict[str, Any]:
    """Without `hooks` and `hooks.state` that hold nothing: whether they are there says nothing."""
    hooks = whole.get("hooks")
    if isinstance(hooks, dict):
        if hooks.get("state") == {}:
            del hooks["state"]
        if not hooks:
            del whole["hooks"]
    return whole


def _sorted(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{','.join(f'{key!r}:{_sorted(value[key])}' for key in sorted(value))}}}"
    return f"[{','.join(map(_sorted, value))}]" if isinstance(value, list) else repr(value)


def _quoted(key: str) -> str:
    """A basic string of TOML; JSON's escapes are among TOML's, but for DEL."""
    return json.dumps(key, ensure_ascii=False).replace("\x7f", "\\u007f")


def _literal(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else json.dumps(value)
