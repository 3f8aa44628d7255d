from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from whisk.errors import ConflictError, NotFoundError, RefusedError
from whisk.mail.message import MailMessage
from whisk.mail.thread import LoopGuard
from whisk.storage import mail
from whisk.storage.mail_list import MailFilter, search, select, thread
from whisk.values import encode


def without_warnings(sent: MailMessage) -> MailMessage:
    """As it is stored: warnings are for the sender, once."""
    return msgspec.structs.replace(sent, warnings=())


HOSTILE = [
    "'; DROP TABLE mail; --",
    '$(rm -rf /) `id` "quoted" !history \\n',
    "\x1b[2J\x1b]0;title\x07 \x9b31m",
    "right\u202eto left\u202c",
    "line\r\nline\n\n\ttab\v\f",
    "🙂 名前 ünïcödé \u0301 \ufeff",
    "--body -h ---",
    "x" * 65_536,
]


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_a_body_comes_back_byte_for_byte_after_the_file_is_opened_again(post: Any, body: str) -> None:
    sent = post.send(body=body, payload=Raw(b'{"b": 1.50, "a": [null]}'), project_id="P")
    post.reopen()
    found = post.read(lambda db: mail.get(db, sent.id))
    assert encode(found) == encode(without_warnings(sent))
    assert found.body == body
    assert bytes(found.payload) == b'{"b": 1.50, "a": [null]}'


def test_every_recipient_has_a_row_of_its_own_sorted_by_address(post: Any) -> None:
    sent = post.send(to=["session:s", "run:z", "pty:p"])
    found = post.read(lambda db: mail.get(db, sent.id))
    assert [str(one.address) for one in found.recipients] == ["pty:p", "run:z", "session:s"]
    assert encode(found) == encode(without_warnings(sent))


def test_an_unknown_message_is_named(post: Any) -> None:
    with pytest.raises(NotFoundError, match="mail mail_x not found"):
        post.read(lambda db: mail.get(db, "mail_x"))


def test_the_same_key_and_words_get_the_first_message(post: Any) -> None:
    first = post.put(idempotency_key="k", body="one")
    post.clock.advance(1)
    again = post.put(idempotency_key="k", body="one")
    assert (first.repeated, again.repeated) == (False, True)
    assert encode(again.message) == encode(without_warnings(first.message))
    assert len(post.read(lambda db: select(db, MailFilter()))) == 1


def test_the_same_key_with_other_words_is_a_conflict_that_names_the_first(post: Any) -> None:
    first = post.send(idempotency_key="k", body="one")
    with pytest.raises(ConflictError, match="run:a has used the idempotency key 'k' for another message") as refusal:
        post.send(idempotency_key="k", body="two")
    assert refusal.value.details["mailId"] == first.id


def test_two_senders_may_use_one_key(post: Any) -> None:
    assert post.send(idempotency_key="k").id != post.send(idempotency_key="k", from_="run:c").id


def test_a_root_is_its_own_thread_and_replies_to_replies_stay_in_it(post: Any) -> None:
    root = post.send()
    reply = post.send(thread_id=root.thread_id, reply_to_id=root.id)
    second = post.send(thread_id=reply.thread_id, reply_to_id=reply.id)
    by_original_alone = post.send(reply_to_id=second.id)
    by_any_member = post.send(thread_id=reply.id)
    post.send()
    whole = [root, reply, second, by_original_alone, by_any_member]
    assert {one.thread_id for one in whole} == {root.id}
    for member in whole:
        assert [one.id for one in post.read(lambda db, id=member.id: thread(db, id))] == [one.id for one in whole]


def test_a_thread_may_have_a_name_of_its_own(post: Any) -> None:
    first, second = post.send(thread_id="release-7"), post.send(thread_id="release-7")
    assert first.thread_id == "release-7"
    assert [one.id for one in post.read(lambda db: thread(db, second.id))] == [first.id, second.id]


def test_a_chain_of_replies_ends_at_the_limit_and_a_new_thread_does_not(post: Any) -> None:
    guard = LoopGuard(max_hops=3, max_per_minute=0)
    last = post.send(guard=guard)
    for _ in range(3):
        last = post.send(guard=guard, reply_to_id=last.id)
    with pytest.raises(RefusedError, match="4 messages deep, the limit is 3"):
        post.send(guard=guard, reply_to_id=last.id)
    with pytest.raises(RefusedError, match="4 messages deep"):
        post.send(guard=guard, thread_id=last.thread_id)
    assert post.send(guard=guard).thread_id != last.thread_id


def test_a_storm_in_one_thread_is_stopped_and_may_go_on_a_minute_later(post: Any) -> None:
    guard = LoopGuard(max_hops=0, max_per_minute=4)
    root = post.send(guard=guard)
    for _ in range(3):
        post.clock.advance(1)
        post.send(guard=guard, thread_id=root.id)
    with pytest.raises(RefusedError, match="4 messages within a minute"):
        post.send(guard=guard, thread_id=root.id)
    post.clock.advance(60)
    post.send(guard=guard, thread_id=root.id)


def test_a_clock_that_was_set_back_does_not_close_a_thread(post: Any) -> None:
    guard = LoopGuard(max_hops=0, max_per_minute=4)
    root = post.send(guard=guard)
    for _ in range(3):
        post.send(guard=guard, thread_id=root.id)
    post.clock.advance(-3600)
    post.send(guard=guard, thread_id=root.id)


def test_of_many_heartbeats_only_the_last_of_each_sender_and_reader_is_kept(post: Any) -> None:
    for _ in range(5):
        post.send(type="heartbeat", subject=None, to=["run:b", "run:c"])
    last = post.send(type="heartbeat", subject=None, to=["run:b"])
    other = post.send(type="heartbeat", subject=None, from_="run:x")
    beats = post.read(lambda db: select(db, MailFilter(types=("heartbeat",))))
    assert [(one.id, [str(r.address) for r in one.recipients]) for one in beats[:2]] == [
        (other.id, ["run:b"]),
        (last.id, ["run:b"]),
    ]
    assert [[str(r.address) for r in one.recipients] for one in beats[2:]] == [["run:c"]]
    assert post.read(lambda db: select(db, MailFilter())) == []
    assert post.read(lambda db: select(db, MailFilter(unread=True))) == []


def test_an_effect_waits_until_it_is_settled(post: Any) -> None:
    first = post.send(type="worker_done", effect="complete")
    second = post.send(type="worker_done", effect="complete")
    post.send()
    post.reopen()
    assert [one.id for one in post.read(mail.pending_effects)] == [first.id, second.id]
    post.writer.write(lambda db: mail.settle_effect(db, first.id))
    assert [one.id for one in post.read(mail.pending_effects)] == [second.id]


def test_clear_leaves_no_mail_and_no_words_behind(post: Any) -> None:
    post.send(body="needle")
    post.send(body="hay")
    assert post.writer.write(mail.clear) == 2
    assert post.read(lambda db: select(db, MailFilter())) == []
    kept = post.send(body="straw")
    assert post.read(lambda db: search(db, "needle", MailFilter())) == []
    assert [one.id for one in post.read(lambda db: search(db, "straw", MailFilter()))] == [kept.id]


def record(post: Any, table: str, **columns: Any) -> None:
    """A row of another noun's table, of which only what mail looks at matters."""
    wanted = post.read(lambda db: [(c.name, c.data_type) for c in db.get_columns(table)])
    row = {name: columns.get(name, 0 if kind == "BIGINT" or kind == "INTEGER" else "") for name, kind in wanted}
    marks = ",".join("?" for _ in row)
    post.writer.write(
        lambda db: db.execute_sql(f"INSERT INTO {table} ({','.join(row)}) VALUES ({marks})", list(row.values()))
    )


def test_a_recipient_nobody_has_heard_of_is_named_and_kept(post: Any) -> None:
    record(post, "run", id="b", status="running")
    sent = post.send(to=["run:b", "run:nope"])
    assert [one.known for one in sent.recipients] == [True, False]
    assert sent.warnings == ("run:nope is not known: the mail is kept for it in case it appears",)
    found = post.read(lambda db: mail.get(db, sent.id))
    assert [one.known for one in found.recipients] == [True, False]
    assert found.warnings == ()


def test_a_strict_send_to_an_unknown_recipient_stores_nothing(post: Any) -> None:
    record(post, "run", id="b", status="running")
    with pytest.raises(NotFoundError, match="mail recipient run:nope, pty:x is not known; nothing was sent"):
        post.send(to=["run:b", "run:nope", "pty:x"], strict=True)
    assert post.read(lambda db: select(db, MailFilter())) == []
    post.send(to=["run:b"], strict=True)


@pytest.mark.parametrize(
    ("table", "kind", "live", "ended"),
    [
        ("run", "run", "awaiting_input", "completed"),
        ("terminal", "pty", "running", "killed"),
        ("session", "session", "", None),
        ("work_item", "work-item", "", None),
        ("project", "project", "", None),
    ],
)
def test_every_kind_is_looked_up_and_one_that_has_ended_is_named(
    post: Any, table: str, kind: str, live: str, ended: str | None
) -> None:
    record(post, table, id="x", number=1, slug="x", status=live)
    assert post.send(to=[f"{kind}:x"], strict=True).warnings == ()
    if ended is not None:
        record(post, table, id="y", number=2, slug="y", status=ended)
        (warning,) = post.send(to=[f"{kind}:y"], strict=True).warnings
        assert warning.startswith(f"{kind}:y has ended")


def test_who_has_sent_mail_is_known(post: Any) -> None:
    post.send(from_="session:somebody")
    assert post.send(to=["session:somebody"], strict=True).recipients[0].known
