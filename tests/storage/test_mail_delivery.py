from __future__ import annotations

from typing import Any

import pytest

from whisk.clock import Instant
from whisk.errors import ConflictError, NotFoundError
from whisk.mail.address import parse_address
from whisk.mail.delivery import want
from whisk.storage import mail_delivery as delivery
from whisk.storage.mail import get
from whisk.storage.mail_list import MailFilter, select

B = parse_address("run:b")


def unread(post: Any, *addresses: str) -> list[str]:
    chosen = MailFilter(to=tuple(parse_address(text) for text in addresses), unread=True)
    return [one.id for one in post.read(lambda db: select(db, chosen))]


def test_a_look_changes_nothing(post: Any) -> None:
    sent = post.send()
    for _ in range(2):
        found = post.read(lambda db: delivery.find_next(db, want([B])))
        assert (found.message.id, str(found.address), found.token) == (sent.id, "run:b", None)
    assert unread(post, "run:b") == [sent.id]


def test_mail_is_taken_in_the_order_it_was_stored_even_when_the_clock_runs_back(post: Any) -> None:
    sent = []
    for step in (0, 0, -3600, 0, 7200):
        post.clock.advance(step)
        sent.append(post.send(priority="low" if step else "urgent").id)
    assert [post.take("run:b").message.id for _ in sent] == sent
    assert post.take("run:b") is None


def test_the_oldest_over_several_addresses_comes_first_and_each_recipient_counts_alone(post: Any) -> None:
    first = post.send(to=["pty:p"])
    both = post.send(to=["pty:p", "run:b"])
    taken = [post.take("run:b", "pty:p") for _ in range(4)]
    assert [(one and one.message.id, one and str(one.address)) for one in taken] == [
        (first.id, "pty:p"),
        (both.id, "run:b"),
        (both.id, "pty:p"),
        (None, None),
    ]


def test_of_three_sent_and_two_acked_one_is_unread(post: Any) -> None:
    sent = [post.send().id for _ in range(3)]
    post.take("run:b")
    post.take("run:b")
    assert unread(post, "run:b") == sent[2:]


def test_types_and_project_narrow_what_is_taken(post: Any) -> None:
    post.send(type="status")
    post.send(type="heartbeat", subject=None)
    wanted = post.send(type="dispatch", project_id="P")
    post.send(type="dispatch", project_id="Q")
    assert post.take("run:b", types=["dispatch"], project_id="P").message.id == wanted.id
    assert post.take("run:b", types=["dispatch"], project_id="P") is None
    assert post.take("run:b", types=["heartbeat"]).message.type == "heartbeat"


def test_taking_marks_only_this_recipient_read_at_that_time(post: Any) -> None:
    sent = post.send(to=["run:b", "run:c"])
    post.clock.advance(5)
    taken = post.take("run:b")
    assert [one.read_at for one in taken.message.recipients] == [post.clock.now(), None]
    assert post.read(lambda db: get(db, sent.id)).recipients == taken.message.recipients


def test_a_claimed_message_is_unread_but_nobody_elses(post: Any) -> None:
    sent = post.send()
    claimed = post.take("run:b", ack=False, claim=60)
    assert claimed.until == post.clock.now().plus(60)
    assert post.take("run:b") is None
    assert post.take("run:b", ack=False, claim=60) is None
    assert post.read(lambda db: delivery.find_next(db, want([B]))) is None
    assert unread(post, "run:b") == [sent.id]


def test_a_confirmed_claim_is_read_as_of_its_claim_and_twice_is_once(post: Any) -> None:
    post.send()
    claimed = post.take("run:b", ack=False, claim=60)
    post.clock.advance(10)
    for _ in range(2):
        found = post.writer.write(lambda db: delivery.confirm(db, claimed.message.id, claimed.token)).message
        assert found.recipients == claimed.message.recipients
        assert found.recipients[0].read_at == Instant(post.clock.now() - 10_000_000_000)


def test_a_lapsed_claim_puts_the_message_back_and_cannot_be_confirmed(post: Any) -> None:
    sent = post.send()
    claimed = post.take("run:b", ack=False, claim=60)
    assert post.writer.write(lambda db: delivery.lapse(db, sent.id, claimed.token)) is True
    assert post.writer.write(lambda db: delivery.lapse(db, sent.id, claimed.token)) is False
    with pytest.raises(ConflictError, match="went back to the queue"):
        post.writer.write(lambda db: delivery.confirm(db, sent.id, claimed.token))
    again = post.take("run:b", ack=False, claim=60)
    assert again.message.id == sent.id
    with pytest.raises(ConflictError):
        post.writer.write(lambda db: delivery.confirm(db, sent.id, claimed.token))
    post.writer.write(lambda db: delivery.confirm(db, sent.id, again.token))


def test_a_claim_that_was_confirmed_does_not_lapse(post: Any) -> None:
    post.send()
    claimed = post.take("run:b", ack=False, claim=60)
    post.writer.write(lambda db: delivery.confirm(db, claimed.message.id, claimed.token))
    assert post.writer.write(lambda db: delivery.lapse(db, claimed.message.id, claimed.token)) is False
    assert unread(post, "run:b") == []


def test_what_a_gone_reader_had_taken_is_there_for_the_next(post: Any) -> None:
    sent = post.send()
    for options in ({"ack": True}, {"ack": False, "claim": 60}):
        taken = post.take("run:b", **options)
        assert post.writer.write(lambda db, token=taken.token: delivery.give_back(db, sent.id, token)) is True
        assert unread(post, "run:b") == [sent.id]
    assert post.writer.write(lambda db: delivery.give_back(db, sent.id, "claim_other")) is False


def test_open_claims_are_known_after_the_file_is_opened_again(post: Any) -> None:
    post.send()
    post.send()
    first, second = (post.take("run:b", ack=False, claim=60) for _ in range(2))
    post.writer.write(lambda db: delivery.confirm(db, first.message.id, first.token))
    post.reopen()
    (claim,) = post.read(lambda db: delivery.open_claims(db, B))
    assert claim == (second.message.id, second.token, second.until)


def test_the_first_ack_counts_and_without_a_recipient_all_are_acked(post: Any) -> None:
    sent = post.send(to=["run:b", "run:c"])
    first = post.clock.now()
    post.writer.write(lambda db: delivery.mark_read(db, sent.id, B, first))
    later = first.plus(9)
    found = post.writer.write(lambda db: delivery.mark_read(db, sent.id, None, later))
    assert [one.read_at for one in found.recipients] == [first, later]


def test_an_ack_for_somebody_else_or_nothing_is_refused(post: Any) -> None:
    sent = post.send()
    with pytest.raises(NotFoundError, match=f"mail {sent.id} recipient not found"):
        post.writer.write(lambda db: delivery.mark_read(db, sent.id, parse_address("run:x"), post.clock.now()))
    with pytest.raises(NotFoundError, match="mail mail_x not found"):
        post.writer.write(lambda db: delivery.mark_read(db, "mail_x", None, post.clock.now()))
