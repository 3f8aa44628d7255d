"""Mail over HTTP: the contract's shapes, and what whisk adds to them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import gevent
import pytest

from tests.http.conftest import Caller, Client
from tests.mail_desk import SECONDS, MailDesk, until
from whisk.actors.future import get
from whisk.http.routes.mail import ROUTES

A, B = {"kind": "run", "id": "a"}, {"kind": "run", "id": "b"}


@pytest.fixture
def post(call: Caller) -> Callable[..., Any]:
    def post(**fields: Any) -> Any:
        return call("POST", "/v1/mail", {"from": A, "to": [B], "type": "status", "subject": "hello", **fields})

    return post


@pytest.fixture
def client(parts: dict[str, Any], serve: Any, connect: Any) -> Callable[[], Client]:
    """A client with a connection of its own to a real server of these routes."""
    server = serve(ROUTES, **parts)
    return lambda: connect(server)


def test_the_round_trip_of_the_contract(post: Any, call: Caller) -> None:
    answer = post(priority="high", type="dispatch", body="b", payload={"x": [1, None]}, runId="R")
    assert answer.status == 201
    sent = answer.json
    assert {key: sent[key] for key in ("from", "type", "priority", "subject", "body", "payload", "runId")} == {
        "from": A,
        "type": "dispatch",
        "priority": "high",
        "subject": "hello",
        "body": "b",
        "payload": {"x": [1, None]},
        "runId": "R",
    }
    assert sent["recipients"] == [{"address": B, "known": False}]
    (listed,) = call("GET", "/v1/mail?to=run:b&unread=true&types=dispatch,status").json
    assert listed == {key: value for key, value in sent.items() if key != "warnings"}
    assert call("GET", "/v1/mail/next?to=run:b").json == {"message": listed, "address": B}
    read = call("POST", f"/v1/mail/{sent['id']}/read", {"to": B}).json
    assert read["recipients"][0]["readAt"].endswith("Z")
    assert call("GET", "/v1/mail/next?to=run:b&timeoutMs=0").json == {"timeout": True}
    assert call("GET", "/v1/mail?unread=1").json == []
    reply = call("POST", f"/v1/mail/{sent['id']}/reply", {"from": B, "body": "ok"})
    assert reply.status == 201
    assert (reply.json["replyToId"], reply.json["threadId"], reply.json["subject"]) == (
        sent["id"],
        sent["id"],
        "Re: hello",
    )
    thread = call("GET", f"/v1/mail/{reply.json['id']}/thread").json
    assert [one["id"] for one in thread] == [sent["id"], reply.json["id"]]
    assert call("GET", f"/v1/mail/{sent['id']}").json["id"] == sent["id"]


def test_addresses_may_be_text_everywhere(post: Any, call: Caller) -> None:
    sent = post(**{"from": "RUN:a", "to": ["workitem:i", B]}).json
    assert sent["from"] == A
    assert [one["address"]["kind"] for one in sent["recipients"]] == ["run", "work-item"]
    assert call("POST", f"/v1/mail/{sent['id']}/read", {"to": "work_item:i"}).status == 200
    assert call("POST", f"/v1/mail/{sent['id']}/reply", {"from": "run:b"}).status == 201


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"type": "gossip"}, 400, "invalid"),
        ({"from": {"kind": "RUN", "id": "a"}}, 400, "invalid"),
        ({"to": []}, 400, "invalid"),
        ({"to": "run:b"}, 400, "invalid"),
        ({"to": ["@project:nope"]}, 404, "not_found"),
        ({"to": ["run:nope"], "strict": True}, 404, "not_found"),
        ({"subject": "x" * 241}, 413, "too_large"),
        ({"body": "x" * 65_537}, 413, "too_large"),
        ({"body": "a\0b"}, 400, "invalid"),
        ({"body": 7}, 400, "invalid"),
        ({"payload": "x" * 65_536}, 413, "too_large"),
    ],
)
def test_a_refused_message_has_its_status_and_is_not_stored(
    post: Any, call: Caller, fields: dict[str, Any], status: int, code: str
) -> None:
    answer = post(**fields)
    assert (answer.status, answer.code) == (status, code)
    assert call("GET", "/v1/mail").json == []


def test_lone_surrogates_are_refused_wherever_they_hide(call: Caller) -> None:
    whole = '{"from":"run:a","to":["run:b"],"type":"status","subject":"s","body":"x","payload":"y","runId":"z"}'
    for letter in "sxyz":
        raw = whole.replace(f'"{letter}"', '"\\ud83d"').encode()
        answer = call("POST", "/v1/mail", raw=raw)
        assert (answer.status, answer.code) == (400, "invalid")
    assert call("GET", "/v1/mail").json == []


@pytest.mark.parametrize("body", ["\x1b[2J`id` $(id) \"!' \r\n\t--", "x" * 65_536, "\x01" * 65_536, "🙂" * 16_384])
def test_a_body_comes_back_as_it_was_sent(post: Any, call: Caller, body: str) -> None:
    sent = post(body=body)
    assert sent.status == 201
    assert call("GET", f"/v1/mail/{sent.json['id']}").json["body"] == body


def test_an_idempotency_key_in_the_body_or_the_header(post: Any, call: Caller) -> None:
    first, again = post(idempotencyKey="k"), post(idempotencyKey="k")
    assert (again.status, again.json["id"]) == (201, first.json["id"])
    conflict = post(idempotencyKey="k", body="other")
    assert (conflict.status, conflict.code) == (409, "conflict")
    assert conflict.json["details"]["mailId"] == first.json["id"]
    body = {"from": "run:a", "to": ["run:b"], "type": "status", "subject": "hello"}
    third = call("POST", "/v1/mail", body, headers={"Idempotency-Key": "k"})
    assert third.json["id"] == first.json["id"]
    replies = [
        call("POST", f"/v1/mail/{first.json['id']}/reply", {"from": "run:b"}, headers={"Idempotency-Key": "r"})
        for _ in range(2)
    ]
    assert replies[0].json["id"] == replies[1].json["id"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/mail/mail_x", 404),
        ("/v1/mail/mail_x/thread", 404),
        ("/v1/mail?limit=-1", 400),
        ("/v1/mail?limit=x", 400),
        ("/v1/mail?unread=maybe", 400),
        ("/v1/mail?to=@project:p", 400),
        ("/v1/mail?types=gossip", 400),
        ("/v1/mail?before=mail_x", 404),
        ("/v1/mail/next?to=run", 400),
        ("/v1/mail/next?ack=true", 400),
        ("/v1/mail/next?to=run:b&timeoutMs=-1", 400),
        ("/v1/mail/next?to=run:b&claim=601", 400),
        ("/v1/mail/next?to=run:b&claim=5&ack=true", 400),
        ("/v1/mail/search?q=%00", 400),
        ("/v1/mail/search?q=" + "+".join(str(i) for i in range(201)), 413),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(call: Caller, path: str, status: int) -> None:
    assert call("GET", path).status == status


def test_an_ack_of_somebody_elses_mail_is_refused(post: Any, call: Caller) -> None:
    sent = post().json["id"]
    assert call("POST", f"/v1/mail/{sent}/read", {"to": "run:x"}).status == 404
    assert call("POST", f"/v1/mail/{sent}/read", {"to": "@project:x"}).status == 400
    assert call("POST", f"/v1/mail/{sent}/read", {"claim": "claim_x"}).status == 409
    assert call("POST", f"/v1/mail/{sent}/read", {}).json["recipients"][0]["readAt"]


def test_taking_is_one_step_and_a_claim_is_confirmed_by_its_token(post: Any, call: Caller) -> None:
    first, second = post().json["id"], post().json["id"]
    taken = call("GET", "/v1/mail/next?to=run:b&ack=true").json
    assert (taken["message"]["id"], "claim" in taken) == (first, False)
    claimed = call("GET", "/v1/mail/next?to=pty:x,run:b&claim=60").json
    assert (claimed["message"]["id"], claimed["address"]) == (second, B)
    assert call("GET", "/v1/mail/next?to=run:b&ack=true").json == {"timeout": True}
    assert [one["id"] for one in call("GET", "/v1/mail?to=run:b&unread=true").json] == [second]
    confirmed = call("POST", f"/v1/mail/{second}/read", {"claim": claimed["claim"]["token"]})
    assert confirmed.status == 200
    assert confirmed.json["recipients"] == claimed["message"]["recipients"]
    assert call("GET", "/v1/mail?unread=true").json == []


@pytest.mark.parametrize("text", ["POL-358", "it's", "a/b", '"', "*", "AND", "(", "日本語", "🙂", "a&b=c", "100%"])
def test_any_text_is_a_search(post: Any, call: Caller, text: str) -> None:
    sent = post(body=f"about {text} here").json["id"]
    post(body="something else")
    found = call("GET", f"/v1/mail/search?q={quote(text, safe='')}").json
    assert [one["id"] for one in found] == [sent]


def test_a_search_without_words_lists_and_is_limited(post: Any, call: Caller) -> None:
    sent = [post().json["id"] for _ in range(3)]
    assert [one["id"] for one in call("GET", "/v1/mail/search?q=&limit=2").json] == sent[:0:-1]
    assert [one["id"] for one in call("GET", f"/v1/mail?limit=1&before={sent[1]}").json] == sent[:1]
    assert [one["id"] for one in call("GET", f"/v1/mail?after={sent[1]}").json] == sent[2:]


# -- waiting, on real connections ----------------------------------------------------------------------------------


def waiting(client: Client, query: str) -> gevent.Greenlet:
    return gevent.spawn(client.request, "GET", f"/v1/mail/next?{query}")


def test_a_waiting_client_is_woken_and_one_whose_time_is_over_is_told(client: Any, desk: MailDesk) -> None:
    reader = waiting(client(), "to=run:b&timeoutMs=20000&ack=true")
    desk.queued("run:b", 1)
    sent = desk.send()
    assert reader.get(timeout=SECONDS).json["message"]["id"] == sent.id
    assert waiting(client(), "to=run:b&timeoutMs=30").get(timeout=SECONDS).json == {"timeout": True}
    desk.queued("run:b", 0)


def test_fifty_clients_and_fifty_messages_are_fifty_pairs(client: Any, desk: MailDesk) -> None:
    readers = [waiting(client(), f"to=run:b&timeoutMs=20000&{('ack=true', 'claim=60')[i % 2]}") for i in range(50)]
    sending = [desk.sending() for _ in range(50)]
    sent = {message.id for message in get(sending, SECONDS)}
    gevent.joinall(readers, timeout=SECONDS, raise_error=True)
    answers = [reader.value.json for reader in readers]
    assert {answer["message"]["id"] for answer in answers} == sent
    for answer in answers:
        if "claim" in answer:
            desk.read(answer["message"]["id"], claim=answer["claim"]["token"])
    assert desk.unread("run:b") == []


@pytest.mark.parametrize("how", ["ack=true", "claim=60"])
def test_a_client_that_hung_up_is_skipped_and_takes_nothing_with_it(client: Any, desk: MailDesk, how: str) -> None:
    gone = client()
    gone.send(f"GET /v1/mail/next?to=run:b&timeoutMs=20000&{how} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode())
    gone.send(f"Authorization: Bearer {gone.token}\r\n\r\n".encode())
    desk.queued("run:b", 1)
    other = waiting(client(), f"to=run:b&timeoutMs=20000&{how}")
    desk.queued("run:b", 2)
    gone.close()
    desk.queued("run:b", 1)
    sent = desk.send()
    assert other.get(timeout=SECONDS).json["message"]["id"] == sent.id


def test_a_client_that_dies_as_its_message_comes_loses_it_to_the_next(client: Any, desk: MailDesk) -> None:
    """The message is sent and the client closes before the hub has looked at its socket."""
    for _ in range(20):
        gone = client()
        gone.send(b"GET /v1/mail/next?to=run:b&timeoutMs=20000&ack=true HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        gone.send(f"Authorization: Bearer {gone.token}\r\n\r\n".encode())
        desk.queued("run:b", 1)
        sending = desk.sending()
        sending.then(lambda _, gone=gone: gone.close())
        sent = get(sending, SECONDS)
        assert (
            client().request("GET", "/v1/mail/next?to=run:b&timeoutMs=20000&ack=true").json["message"]["id"] == sent.id
        )


class HalfSeen:
    """A socket whose client has closed, of which the hub has not heard yet."""

    def __init__(self) -> None:
        self._quiet = socket.socketpair()
        self._sock, client = socket.socketpair()
        client.close()

    def fileno(self) -> int:
        return self._quiet[0].fileno()

    def close(self) -> None:
        for each in (*self._quiet, self._sock):
            each.close()


@pytest.mark.parametrize("how", ["ack=true", "claim=60"])
def test_a_client_that_is_gone_when_its_message_is_ready_is_not_given_it(
    call: Caller, desk: MailDesk, how: str
) -> None:
    sent = desk.send()
    gone = HalfSeen()
    call.environ["whisk.socket"] = gone
    call("GET", f"/v1/mail/next?to=run:b&{how}")
    del call.environ["whisk.socket"]
    gone.close()
    assert call("GET", "/v1/mail/next?to=run:b&timeoutMs=20000&ack=true").json["message"]["id"] == sent.id


def test_who_asks_for_anybodys_mail_looks_and_waits_without_a_queue(client: Any, desk: MailDesk) -> None:
    assert client().request("GET", "/v1/mail/next").json == {"timeout": True}
    assert client().request("GET", "/v1/mail/next?timeoutMs=20").json == {"timeout": True}
    reader = waiting(client(), "timeoutMs=20000&types=dispatch")
    until(lambda: desk.system.describe("events").facts["followers"] == 1)
    desk.send()
    sent = desk.send(type="dispatch", to=["pty:p"])
    answer = reader.get(timeout=SECONDS).json
    assert (answer["message"]["id"], answer["address"]) == (sent.id, {"kind": "pty", "id": "p"})
    assert desk.unread("pty:p") == [sent.id]


def test_the_wire_has_no_field_that_the_contract_forbids(post: Any) -> None:
    sent = json.loads(post().body)
    assert set(sent) == {
        *("id", "threadId", "from", "recipients", "type", "priority", "subject", "createdAt", "warnings"),
    }
