from __future__ import annotations

from typing import Any

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, RefusedError
from whisk.mail.address import MailAddress, parse_address
from whisk.mail.delivery import want
from whisk.mail.message import MailMessage, MailRecipient, compose
from whisk.mail.thread import LoopGuard, ReplyMailRequest, reply_request


def message(**fields: Any) -> MailMessage:
    whole: dict[str, Any] = {
        "id": "mail_1",
        "thread_id": "mail_0",
        "from_": MailAddress(kind="run", id="a"),
        "recipients": (MailRecipient(address=MailAddress(kind="pty", id="p")),),
        "type": "dispatch",
        "priority": "urgent",
        "subject": "build",
        "created_at": Instant(1),
        **fields,
    }
    return MailMessage(**whole)


def reply(original: MailMessage, **fields: Any) -> Any:
    return compose(reply_request(original, ReplyMailRequest(from_="pty:p", **fields)))


def test_a_reply_goes_to_the_sender_in_the_same_thread_and_context() -> None:
    original = message(project_id="P", work_item_id="W", run_id="R", session_id="S", pty_id="T", dispatch_id="D")
    answer = reply(original, body="done")
    assert [str(to) for to in answer.to] == ["run:a"]
    assert (answer.thread_id, answer.reply_to_id) == ("mail_0", "mail_1")
    assert (answer.type, answer.priority) == ("status", "normal")
    context = (answer.project_id, answer.work_item_id, answer.run_id, answer.session_id)
    assert (*context, answer.pty_id, answer.dispatch_id) == ("P", "W", "R", "S", "T", "D")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [("build", "Re: build"), ("Re: build", "Re: build"), ("rE: build", "rE: build"), (None, "Re: mail_1")],
)
def test_the_subject_gets_one_prefix(subject: str | None, expected: str) -> None:
    assert reply(message(subject=subject)).subject == expected


@pytest.mark.parametrize("letter", ["x", "é", "名", "🙂"])
def test_a_subject_that_has_no_room_for_the_prefix_is_cut_between_characters(letter: str) -> None:
    subject = letter * (240 // len(letter.encode()))
    found = reply(message(subject=subject)).subject
    assert len(found.encode()) <= 240
    assert found.startswith("Re: " + letter)
    assert found.endswith("…")


def test_a_given_subject_type_and_priority_are_kept() -> None:
    answer = reply(message(), subject="other", type="handoff", priority="low")
    assert (answer.subject, answer.type, answer.priority) == ("other", "handoff", "low")


def test_the_guard_stops_a_deep_or_a_fast_thread_and_can_be_switched_off() -> None:
    guard = LoopGuard(max_hops=3, max_per_minute=5)
    guard.check("mail_0", hops=3, within_minute=4)
    with pytest.raises(RefusedError, match="4 messages deep, the limit is 3"):
        guard.check("mail_0", hops=4, within_minute=0)
    with pytest.raises(RefusedError, match="5 messages within a minute") as refusal:
        guard.check("mail_0", hops=1, within_minute=5)
    assert refusal.value.details["retryAfter"] == 60
    LoopGuard(max_hops=0, max_per_minute=0).check("mail_0", hops=10_000, within_minute=10_000)


def test_a_reader_wants_any_type_but_heartbeats_unless_it_names_them() -> None:
    here = [parse_address("pty:p")]
    assert want(here).fits(message())
    assert not want(here).fits(message(type="heartbeat"))
    assert want(here, types=["heartbeat"]).fits(message(type="heartbeat"))
    assert not want(here, types=["status", "worker-done"]).fits(message())
    assert not want(here, project_id="P").fits(message())
    assert want(here, project_id="P").fits(message(project_id="P"))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"addresses": []}, "mail check recipient required"),
        ({"ack": True, "claim": 5.0}, "exclude each other"),
        ({"claim": -1.0}, "up to 600 seconds"),
        ({"claim": 601.0}, "up to 600 seconds"),
        ({"types": ["gossip"]}, "unsupported mail type"),
        ({"addresses": [parse_address("@project:p")]}, "must be expanded before storage"),
    ],
)
def test_a_reader_that_asks_for_the_impossible_is_refused(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidError, match=error):
        want(**{"addresses": [parse_address("pty:p")], **fields})
