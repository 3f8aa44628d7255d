"""Reading what agents write on a hook's stdin: never raise, never invent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.hooks.payload import compact, exact_text, plain, read_payload
from whisk.hooks.provider import PROVIDERS, find_provider
from whisk.values import encode

DOCUMENT = b'{"hook_event_name":"Stop","session_id":"s"}'


@pytest.mark.parametrize(
    "body",
    [
        DOCUMENT,
        b"\xef\xbb\xbf" + DOCUMENT,
        b"\xff\xfe" + DOCUMENT.decode().encode("utf-16-le"),
        b"\xfe\xff" + DOCUMENT.decode().encode("utf-16-be"),
        b"\r\n" + DOCUMENT.replace(b",", b",\r\n") + b"\r\n",
        DOCUMENT + b"\n\nhello, I am a shell banner {",
        DOCUMENT + DOCUMENT,
    ],
)
def test_the_first_object_is_read_whatever_surrounds_it(body: bytes) -> None:
    payload = read_payload(body)
    assert payload.fault is None
    assert payload.data == {"hook_event_name": "Stop", "session_id": "s"}


def test_bytes_that_are_not_utf8_are_replaced_and_noted() -> None:
    payload = read_payload(b'{"prompt":"caf\xe9","hook_event_name":"Stop"}')
    assert payload.data["prompt"] == "caf\ufffd"
    assert payload.notes == ("bytes that are not UTF-8 replaced",)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"not json", "not JSON"),
        (DOCUMENT[:-1], "not JSON"),
        (b"[1]", "not an object"),
        (b'"text"', "not an object"),
        (b'{"a":' + b"9" * 5000 + b"}", "not readable"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested deeper"),
        (b'{"a":' * 100_000, "not readable"),
    ],
)
def test_what_cannot_be_read_is_a_fault_with_its_reason(body: bytes, fault: str) -> None:
    payload = read_payload(body)
    assert payload.data == {}
    assert payload.fault is not None
    assert payload.fault.startswith(fault)


@given(st.binary(max_size=400), st.sampled_from([*PROVIDERS, "unheard-of"]), st.sampled_from(["", "PreToolUse", "X"]))
def test_no_bytes_make_a_provider_raise(body: bytes, name: str, override: str) -> None:
    provider = find_provider(name)
    event = provider.read(read_payload(body), override)
    provider.ask_of(event)
    assert event.provider == name


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_FIELDS = st.sampled_from(
    ["session_id", "tool_name", "tool_input", "questions", "options", "message", "requested_schema", "stop_hook_active"]
)


@given(st.dictionaries(_FIELDS, _JSON), st.sampled_from([name for p in PROVIDERS.values() for name in p.events]))
def test_no_field_of_a_wrong_type_makes_a_provider_raise(data: dict[str, object], name: str) -> None:
    body = json.dumps({**data, "hook_event_name": name}).encode()
    for provider in PROVIDERS.values():
        provider.ask_of(provider.read(read_payload(body), ""))


def test_a_lone_surrogate_is_echoed_exactly_and_repaired_only_for_show() -> None:
    payload = read_payload(rb'{"text":"a\ud83db","n":1e999,"big":123456789012345678901234567890}')
    assert payload.data["text"] == "a\ud83db"
    assert json.loads(compact(payload.data)) == payload.data
    assert json.loads(exact_text(payload.data)) == payload.data
    assert encode(plain(payload.data)).startswith(b'{"text":"a\xef\xbf\xbdb","n":null')


def test_output_is_compact_utf8() -> None:
    assert compact({"a": ["é", 1]}) == '{"a":["é",1]}'.encode()
