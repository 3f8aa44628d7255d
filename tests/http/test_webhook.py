"""Webhooks over HTTP: the secret is shown once, and what is sent can be checked with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gevent
import pytest

from tests.http.conftest import Caller
from tests.receiver import Receiver, hang
from whisk.matters.webhook import signature


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def add(call: Caller, receiver: Receiver, **fields: Any) -> tuple[str, str]:
    answer = call("POST", "/v1/webhooks", {"url": receiver.url, "actor": "ada", **fields})
    assert answer.status == 201
    return answer.json["webhook"]["id"], answer.json["secret"]


def escalate(call: Caller, subject: str) -> None:
    mail = {"from": "run:x", "to": ["run:y"], "type": "escalation", "subject": subject}
    assert call("POST", "/v1/mail", mail).status == 201


def test_the_secret_is_shown_once(call: Caller, receiver: Receiver) -> None:
    webhook, secret = add(call, receiver)
    shown = [call("GET", "/v1/webhooks"), call("GET", f"/v1/webhooks/{webhook}"), call("GET", "/v1/audit")]
    shown.append(call("POST", f"/v1/webhooks/{webhook}/pause", {}))
    assert all(secret.encode() not in answer.body for answer in shown)
    renewed = call("POST", f"/v1/webhooks/{webhook}/rotate", {}).json["secret"]
    assert renewed != secret
    assert call("POST", f"/v1/webhooks/{webhook}/test", {}).json["delivered"] is True
    (got,) = receiver.got
    assert got.headers["x-whisk-signature"] == signature(renewed, got.headers["x-whisk-timestamp"], got.body)


def test_a_webhook_from_its_beginning_to_its_end(call: Caller, receiver: Receiver) -> None:
    webhook, _ = add(call, receiver, types=["mail.escalated"])
    escalate(call, "help")
    assert receiver.until(1)[0].event["title"] == "help"
    paused = call("POST", f"/v1/webhooks/{webhook}/pause", {"actor": "ada"}).json
    assert paused["paused"] is True
    escalate(call, "more")
    assert call("GET", f"/v1/webhooks/{webhook}").json["behind"] == 1
    assert call("POST", f"/v1/webhooks/{webhook}/resume", {"actor": "ada"}).json["paused"] is False
    assert receiver.until(2)[1].event["title"] == "more"
    assert call("DELETE", f"/v1/webhooks/{webhook}?actor=ada").json["id"] == webhook
    assert call("GET", "/v1/webhooks").json == []
    assert call("GET", f"/v1/webhooks/{webhook}").status == 404
    trail = call("GET", f"/v1/audit?id={webhook}").json
    assert [each["action"] for each in trail] == ["add", "pause", "resume", "remove"]
    assert {(each["who"], each["surface"]) for each in trail} == {("ada", "http")}


def test_dead_letters_are_listed_and_sent_again_until_one_fails(call: Caller, receiver: Receiver) -> None:
    webhook, _ = add(call, receiver)
    receiver.script.extend([500] * 6)
    for number in range(2):
        escalate(call, f"number {number}")
    receiver.until(6)
    where = f"/v1/webhooks/{webhook}/dead-letters"
    with gevent.Timeout(10):
        while len(letters := call("GET", where).json) < 2:
            gevent.sleep(0.001)
    assert [letter["attempts"] for letter in letters] == [3, 3]
    receiver.script.append(500)
    (failed,) = call("POST", f"{where}/redeliver", {}).json
    assert failed["attempt"]["delivered"] is False
    done = call("POST", f"{where}/redeliver", {}).json
    assert [each["attempt"]["delivered"] for each in done] == [True, True]
    assert call("GET", where).json == []
    assert call("POST", f"{where}/{letters[0]['id']}/redeliver", {}).status == 404


def test_a_receiver_that_hangs_is_said_so_by_a_test(call: Caller, receiver: Receiver) -> None:
    webhook, _ = add(call, receiver)
    receiver.script.append(hang)
    tried = call("POST", f"/v1/webhooks/{webhook}/test", {}).json
    assert tried["delivered"] is False
    assert "no whole answer" in tried["error"]


@pytest.mark.parametrize(
    "body",
    [
        *({"url": "ftp://x/"}, {"url": "http://u:p@x/"}),
        *({"url": "http://x/", "types": ["dreams"]}, {"url": "http://x/", "secret": "short"}),
    ],
    ids=range(4),
)  # fmt: skip
def test_what_will_not_do_is_refused(call: Caller, body: dict[str, Any]) -> None:
    assert call("POST", "/v1/webhooks", body).status == 400
    assert call("GET", "/v1/webhooks").json == []


def test_plain_http_to_another_machine_is_marked(call: Caller) -> None:
    made = call("POST", "/v1/webhooks", {"url": "http://192.0.2.1/x"}).json
    assert made["webhook"]["insecure"] is True
