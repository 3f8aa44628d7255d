"""What of a payload goes into the log: no secrets, no endless texts, never more than a bounded size."""

from __future__ import annotations

import re
from typing import Any

import msgspec

STRING_CHARS = 16 * 1024
RAW_BYTES = 64 * 1024
_PREVIEW_CHARS = 4 * 1024
_HIDDEN = "[redacted]"

_SECRET_NAMES = re.compile(
    r"token|api_?-?key|password|passwd|secret|authorization|cookie|credential|private_?key", re.I
)
# Secrets inside a text, above all in command lines. What is found is replaced, the words around it stay readable.
# Nothing in here may run on for the length of the text: agents choose it, and everybody waits while it is searched.
_SECRET_TEXTS = re.compile(
    r"(?P<lead>\b(?:Bearer|Basic)\s+|://[^/\s:@]*:(?=[^/\s@]+@)|(?:TOKEN|API_?KEY|PASSWORD|PASSWD|SECRET)\w{0,64}\s*[=:]\s*['\"]?)"
    r"[^\s'\"@]{4,}"
    r"|\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{10,}"
    r"\.[\w-]+\.[\w-]+)",
    re.I,
)


def redact(value: Any, *, hidden: bool = False) -> Any:
    """A copy of JSON values without secrets: every text below a secret's name, and what looks like one elsewhere.

    Numbers stay: `input_tokens: 1000` is a count. Texts are cut at 16 Ki characters.
    """
    match value:
        case dict():
            return {key: redact(item, hidden=hidden or bool(_SECRET_NAMES.search(key))) for key, item in value.items()}
        case list() | tuple():
            return [redact(item, hidden=hidden) for item in value]
        case str() if hidden:
            return _HIDDEN if value else value
        case str():
            return redact_text(value)
        case _:
            return value


def redact_text(text: str) -> str:
    """`text` without what looks like a secret, cut at 16 Ki characters."""
    # Cut first: the search then costs no more for a text of megabytes.
    cut = text[:STRING_CHARS]
    found = _SECRET_TEXTS.sub(lambda match: (match["lead"] or "") + _HIDDEN, cut)
    return found if len(text) <= STRING_CHARS else f"{found}...[truncated]"


def bounded(raw: dict[str, Any]) -> dict[str, Any]:
    """A redacted payload, or when it is over 64 KiB what it began with."""
    data = msgspec.json.encode(raw)
    if len(data) <= RAW_BYTES:
        return raw
    preview = data[:_PREVIEW_CHARS].decode("utf-8", "ignore")
    return {"whisk_truncated": True, "originalBytes": len(data), "preview": preview}
