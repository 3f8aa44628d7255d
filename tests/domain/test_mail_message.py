from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError, WhiskError
from whisk.mail.address import MailAddress
from whisk.mail.message import MAIL_TYPES, Draft, MailMessage, SendMailRequest, compose
from whisk.values import decode, encode


def draft(**fields: Any) -> Draft:
    return compose(request(**fields))


def request(**fields: Any) -> SendMailRequest:
    import json

    whole = {"from": "run:a", "to": ["run:b"], "type": "status", "subject": "hello", **fields}
    return decode(json.dumps(whole), SendMailRequest)


def test_a_request_is_brought_into_its_normal_form() -> None:
    found = draft(
        type=" Worker-Done ",
        priority=" HIGH ",
        to=["run:b", {"kind": "pty", "id": "p"}, "RUN:b"],
        subject="hello",
        body="",
        payload={"a": [1, 2.50]},
        runId=" r ",
        sessionId="",
    )
    assert (found.type, found.priority) == ("worker_done", "high")
    assert [str(to) for to in found.to] == ["run:b", "pty:p"]
    assert (found.body, found.run_id, found.session_id) == (None, "r", None)
    assert found.payload == '{"a": [1, 2.5]}'


@pytest.mark.parametrize("type_", MAIL_TYPES)
def test_every_type_is_taken(type_: str) -> None:
    assert draft(type=type_).type == type_


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"type": ""}, "mail type required"),
        ({"type": "gossip"}, 'unsupported mail type "gossip"'),
        ({"priority": "asap"}, 'unsupported mail priority "asap"'),
        ({"to": []}, "mail recipient required"),
        ({"to": None}, "mail recipient required"),
        ({"to": ["run"]}, "mail address must be kind:id"),
        ({"from": "@project:p"}, "from: mail group selector @project must be expanded before storage"),
        ({"from": "nobody"}, "from: mail address must be kind:id"),
        ({"subject": None}, "mail subject required"),
        ({"subject": "  "}, "mail subject required"),
        ({"subject": "a\0b"}, "mail subject holds a NUL at character 1"),
        ({"body": "a\0b"}, "mail body holds a NUL at character 1"),
        ({"runId": "a\0b"}, "runId holds a NUL"),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused_by_name(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidError, match=error):
        draft(**fields)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"subject": "x" * 241}, "mail subject exceeds 240 bytes"),
        ({"subject": "é" * 121}, "mail subject exceeds 240 bytes"),
        ({"body": "x" * 65_537}, "mail body exceeds 65536 bytes"),
        ({"payload": "x" * 65_535}, "mail payload exceeds 65536 bytes"),
        ({"to": [f"run:{i}" for i in range(1_001)]}, "more than 1000 recipients"),
        ({"idempotencyKey": "k" * 201}, "idempotencyKey exceeds 200 bytes"),
    ],
)
def test_what_is_too_large_is_refused_with_its_limit(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(TooLargeError, match=error):
        draft(**fields)


def test_the_limits_themselves_are_allowed() -> None:
    found = draft(subject="é" * 120, body="x" * 65_536, payload="x" * 65_534)
    assert found.body is not None
    assert len(found.body) == 65_536
    assert found.payload is not None
    assert len(found.payload) == 65_536


def test_only_a_heartbeat_needs_no_subject() -> None:
    assert draft(type="heartbeat", subject=None).subject is None


@pytest.mark.parametrize("payload", [b"\xff", b'"\\ud83d"', b"1e999999", b"[" * 3000 + b"]" * 3000])
def test_a_payload_that_is_not_json_text_is_refused(payload: bytes) -> None:
    with pytest.raises(InvalidError):
        compose(
            decode(
                b'{"from":"run:a","to":["run:b"],"type":"status","subject":"s","payload":' + payload + b"}",
                SendMailRequest,
            )
        )


def test_a_payload_keeps_its_own_text_and_null_is_none() -> None:
    text = '{"b": 1, "a": 1.50, "big": 123456789012345678901234567890, "b": 2, "z": "\\u0000"}'
    body = '{"from":"run:a","to":["run:b"],"type":"status","subject":"s","payload":%s}'
    assert compose(decode(body % text, SendMailRequest)).payload == text
    assert compose(decode(body % "null", SendMailRequest)).payload is None


def test_the_same_words_have_the_same_digest_whatever_the_key() -> None:
    first = draft(idempotencyKey="k", strict=True)
    assert first.digest() == draft().digest()
    for other in ({"body": "x"}, {"to": ["run:c"]}, {"priority": "low"}, {"payload": 1}, {"runId": "r"}):
        assert draft(**other).digest() != first.digest()


@given(st.text(), st.text())
def test_any_subject_and_body_are_kept_whole_or_refused(subject: str, body: str) -> None:
    plain = SendMailRequest(from_="run:a", to=["run:b"], type="status", subject=subject, body=body)
    try:
        found = compose(plain)
    except WhiskError:
        assert not subject.strip() or "\0" in subject + body or len(subject.encode("utf-8", "replace")) > 240
    else:
        assert (found.subject, found.body or "") == (subject, body)


def test_a_message_without_a_payload_is_json_and_reads_back() -> None:
    here = MailAddress(kind="run", id="a")
    message = MailMessage(
        id="m", thread_id="m", from_=here, recipients=(), type="status", priority="normal", created_at=Instant(1)
    )
    assert b"payload" not in encode(message)
    assert decode(encode(message), MailMessage) == message
