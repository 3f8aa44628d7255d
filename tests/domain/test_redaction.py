"""What the hook log never keeps."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.captured import FILES, NOW, load
from whisk.hooks.entry import HookContext, entry_of
from whisk.hooks.payload import read_payload
from whisk.hooks.provider import find_provider
from whisk.hooks.redaction import STRING_CHARS, bounded, redact, redact_text
from whisk.values import encode


def test_texts_below_a_secrets_name_are_hidden_and_counts_stay() -> None:
    given: dict[str, Any] = {
        "apiKey": "k1", "headers": {"Authorization": ["a", {"x": "b"}], "Set-Cookie": "c"}, "empty_token": "",
        "token_usage": {"input_tokens": 7}, "plain": "text",
    }  # fmt: skip
    assert redact(given) == {
        "apiKey": "[redacted]",
        "headers": {"Authorization": ["[redacted]", {"x": "[redacted]"}], "Set-Cookie": "[redacted]"},
        "empty_token": "",
        "token_usage": {"input_tokens": 7},
        "plain": "text",
    }


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("curl -H 'Authorization: Bearer abcdef123456' x", "curl -H 'Authorization: Bearer [redacted]' x"),
        ("git clone https://me:hunter22@host/x", "git clone https://me:[redacted]@host/x"),
        ("OPENAI_API_KEY=abcdef run", "OPENAI_API_KEY=[redacted] run"),
        ("mysql --password='topsecret' db", "mysql --password='[redacted]' db"),
        ("use sk-abcdefghijklmnopqrst now", "use [redacted] now"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", "[redacted]"),
        ("echo out; echo err >&2; exit 3", "echo out; echo err >&2; exit 3"),
        ("http://127.0.0.1:8787/v1/mail", "http://127.0.0.1:8787/v1/mail"),
    ],
)
def test_secrets_in_a_text_are_hidden_and_the_rest_stays_readable(text: str, kept: str) -> None:
    assert redact_text(text) == kept


def test_sizes_are_bounded() -> None:
    assert redact_text("x" * 20_000) == "x" * 16_384 + "...[truncated]"
    cut = bounded({"x": ["y" * 1000] * 100})
    assert cut["whisk_truncated"] is True
    assert cut["originalBytes"] > 100_000
    assert len(encode(cut)) < 8192


@pytest.mark.parametrize(("provider", "path"), FILES, ids=[f"{name}-{path.stem}" for name, path in FILES])
def test_every_captured_payload_has_a_log_entry(provider: str, path: Any) -> None:
    event = find_provider(provider).read(read_payload(path.read_bytes()), "")
    entry = entry_of(event, HookContext(pty_id="pty_1"), "logged", NOW)
    assert (entry.provider, entry.event_name, entry.pty_id) == (provider, event.name, "pty_1")
    assert entry.raw["session_id"] == event.session
    encode(entry)


def test_an_unreadable_payload_says_why_in_the_log() -> None:
    event = find_provider("claude").read(read_payload(b"garbage"), "")
    entry = entry_of(event, HookContext(), "unreadable", NOW)
    assert (entry.event_name, entry.message[:28]) == ("unknown", "unreadable payload: not JSON")


def test_a_question_is_logged_with_its_options() -> None:
    entry = entry_of(load("claude", "PreToolUse-AskUserQuestion"), HookContext(), "prompt_created", NOW)
    assert (entry.kind, entry.title, entry.message) == ("question", "Claude Code question", "Which color?")
    assert [option.label for option in entry.options] == ["Red", "Blue"]


@pytest.mark.parametrize("text", ["TOKEN", "_SECRET", "Bearer ", "://a:", "eyJ.", "token ", "sk-", "api_key"])
def test_no_text_keeps_the_log_busy(text: str) -> None:
    payload = {str(number): text * (STRING_CHARS // len(text)) for number in range(40)}
    started = time.monotonic()
    redact(payload)
    assert time.monotonic() - started < 2
