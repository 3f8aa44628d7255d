"""Finding the detach keys among what a person types, so that they never reach the child.

A terminal may spell a control key in three ways: as the control character, or, when the program in it has switched
on a keyboard protocol (as Claude Code does), as `CSI 93;5u` or `CSI 27;5;93~`. Pasted text is never looked at.
"""

from __future__ import annotations

import re

from whisk.cli.failure import UsageError

DEFAULT = "ctrl-],d"
_CONTROL = re.compile(r"(?:ctrl-|c-|\^)([a-z@\[\\\]^_])", re.IGNORECASE)
_PASTE_START, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_TOKEN = re.compile(
    rb"\x1b\[(?P<code>\d+)(?::\d*)*(?:;(?P<mods>\d*)(?::(?P<event>\d+))?)?(?:;[\d:]*)?u"
    rb"|\x1b\[27;(?P<other_mods>\d+);(?P<other_code>\d+)~"
    rb"|\x1b\[200~|\x1b\[201~"
    rb"|.",
    re.DOTALL,
)
_LOCKS = 64 | 128
_CTRL = 4
_RELEASE = b"3"


def parse_keys(text: str) -> tuple[int, ...]:
    """`ctrl-],d` as the bytes of its keys; `none` as no keys at all. Raises `UsageError`."""
    if text == "none":
        return ()
    keys = []
    for part in text.split(","):
        if (match := _CONTROL.fullmatch(part)) is not None:
            keys.append(ord(match[1].upper()) & 0x1F)
        elif len(part) == 1 and part.isascii() and part.isprintable():
            keys.append(ord(part))
        else:
            raise UsageError(f"detach keys are written like {DEFAULT!r} or 'none', not {text!r}")
    return tuple(keys)


class Detach:
    """A filter of typed bytes. Keys that begin the sequence are held back until it is clear whether they are one."""

    def __init__(self, keys: tuple[int, ...]) -> None:
        self._keys = keys
        self._matched = 0
        self._held = b""
        self._in_paste = False

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """What may go to the child, and whether the sequence was completed; nothing behind it is passed on."""
        if not self._keys:
            return data, False
        passed = bytearray()
        for token in _TOKEN.finditer(data):
            text = token[0]
            key = None if self._in_paste else _key(token)
            if text == _PASTE_START:
                self._in_paste = True
            elif text == _PASTE_END:
                self._in_paste = False
            if self._matched and token["event"] == _RELEASE and not self._in_paste:
                # The release of a key that is held back belongs to it.
                self._held += text
            elif key is not None and key == self._keys[self._matched]:
                self._matched += 1
                self._held += text
                if self._matched == len(self._keys):
                    return bytes(passed), True
            else:
                passed += self._let_go(key, text)
        return bytes(passed), False

    def _let_go(self, key: int | None, text: bytes) -> bytes:
        """It was not the sequence after all. The first key typed twice means that key itself, once."""
        held, count = self._held, self._matched
        self._held, self._matched = b"", 0
        if count == 1 and key == self._keys[0]:
            return text
        if key is not None and key == self._keys[0]:
            self._held, self._matched = text, 1
            return held
        return held + text


def _key(token: re.Match[bytes]) -> int | None:
    """The byte that a key would be without a keyboard protocol; None for what is no such key, or its release."""
    code, mods = token["code"] or token["other_code"], token["mods"] or token["other_mods"] or b"1"
    if code is None:
        return token[0][0] if len(token[0]) == 1 else None
    held = (int(mods) - 1) & ~_LOCKS
    number = int(code)
    if token["event"] == _RELEASE or number > 0x7F or held & ~_CTRL:
        return None
    return ord(chr(number).upper()) & 0x1F if held & _CTRL else number
