"""Sending: what is stored, for whom, and what it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mail_desk import SECONDS, MailDesk
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from whisk.mail.message import SendMailRequest, compose
from whisk.mail.thread import LoopGuard
from whisk.storage import gate as gate_storage
from whisk.storage import mail
from whisk.storage.mail_list import MailFilter, select


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[MailDesk]:
    desk = MailDesk(system, tmp_path / "whisk.sqlite3", LoopGuard(max_hops=5))
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


def stored(desk: MailDesk, **fields: Any) -> list[str]:
    return [one.id for one in desk.store.read(lambda db: select(db, MailFilter(**fields)))]


def test_a_message_is_on_disk_when_its_sender_hears_of_it_and_is_announced(desk: MailDesk) -> None:
    sent = desk.send(body="x")
    assert desk.store.read(lambda db: mail.get(db, sent.id)).body == "x"
    batch = get(desk.events.follow.remote(0))
    assert [(event.type, event.id) for event in batch.events] == [("mailbox.changed", sent.id)]


def test_a_message_that_breaks_a_rule_is_a_refusal_and_the_office_goes_on(desk: MailDesk) -> None:
    with pytest.raises(InvalidError, match="mail subject required"):
        desk.send(subject="")
    desk.send()
    assert desk.system.describe("post-office").incarnation == 1


def test_mail_to_oneself_is_mail(desk: MailDesk) -> None:
    sent = desk.send(to=["run:a"])
    delivery = desk.take("run:a")
    assert delivery is not None
    assert delivery.message.id == sent.id


def test_a_retry_gets_the_first_message_even_when_both_are_sent_at_once(desk: MailDesk) -> None:
    both = get([desk.sending(idempotency_key="k"), desk.sending(idempotency_key="k")], SECONDS)
    assert both[0].id == both[1].id
    assert stored(desk) == [both[0].id]
    with pytest.raises(ConflictError):
        desk.send(idempotency_key="k", body="other")


def test_a_selector_is_one_mail_to_every_worker_of_that_moment(desk: MailDesk) -> None:
    item = desk.item()
    first = desk.start(item, launch=True, agent_profile_id="plain-shell")
    second = desk.start(item)
    sent = desk.send(to=[f"@project:{item.project_id}", f"@work-item:{item.id}", f"run:{first.id}"])
    expected = sorted(f"run:{run.id}" for run in (first, second))
    assert [str(reader.address) for reader in sent.recipients] == expected
    assert sent.warnings == ()
    third = desk.start(item)
    assert desk.take(f"run:{third.id}") is None


def test_a_worker_that_has_just_started_gets_a_broadcast(desk: MailDesk) -> None:
    item = desk.item()
    for _ in range(10):
        run = desk.start(item)
        sent = desk.send(to=[f"@project:{item.project_id}"])
        assert f"run:{run.id}" in [str(reader.address) for reader in sent.recipients]


@pytest.mark.parametrize(
    ("selector", "kind", "error"),
    [
        ("@project:nope", NotFoundError, "project nope not found"),
        ("@work-item:nope", NotFoundError, "work item nope not found"),
        ("@work-item:{item}", RefusedError, "mail selector @work-item:.* resolved to no recipients"),
        ("@idle:{project}", RefusedError, "no worker of .* is known to be idle"),
    ],
)
def test_a_selector_that_stands_for_nobody_stores_nothing(
    desk: MailDesk, selector: str, kind: type[Exception], error: str
) -> None:
    item = desk.item()
    with pytest.raises(kind, match=error):
        desk.send(to=["run:b", selector.format(item=item.id, project=item.project_id)])
    assert stored(desk) == []


def test_a_retry_to_a_selector_is_not_expanded_again(desk: MailDesk) -> None:
    item = desk.item()
    run = desk.start(item)
    first = desk.send(to=[f"@work-item:{item.id}"], idempotency_key="k")
    get(desk.work.run(run.id).cancel.remote(None))
    assert desk.send(to=[f"@work-item:{item.id}"], idempotency_key="k").id == first.id


def test_a_reply_goes_to_the_sender_and_an_unknown_original_is_named(desk: MailDesk) -> None:
    first = desk.send(subject="build", run_id="R")
    reply = desk.reply(first.id, body="done")
    assert (reply.thread_id, reply.reply_to_id, reply.subject) == (first.id, first.id, "Re: build")
    assert ([str(one.address) for one in reply.recipients], reply.run_id) == (["run:a"], "R")
    with pytest.raises(NotFoundError, match="mail mail_x not found"):
        desk.reply("mail_x")


def test_a_reply_to_an_asker_that_has_ended_is_kept_and_says_so(desk: MailDesk) -> None:
    run = desk.start(desk.item())
    question = desk.send(from_=f"run:{run.id}", to=["run:b"])
    get(desk.work.run(run.id).cancel.remote(None))
    reply = desk.reply(question.id)
    (warning,) = reply.warnings
    assert warning.startswith(f"run:{run.id} has ended")
    assert desk.unread(f"run:{run.id}") == [reply.id]


def test_agents_that_answer_each_other_automatically_are_stopped(desk: MailDesk) -> None:
    last = desk.send(from_="run:a", to=["run:b"])
    for count in range(5):
        last = desk.reply(last.id, from_=f"run:{'bca'[count % 3]}")
    with pytest.raises(RefusedError, match="6 messages deep, the limit is 5"):
        desk.reply(last.id, from_="run:c")


def test_an_ack_is_no_mail(desk: MailDesk) -> None:
    sent = desk.send()
    for _ in range(3):
        desk.read(sent.id, "run:b")
    assert stored(desk) == [sent.id]


def test_somebody_waiting_makes_an_address_known(desk: MailDesk) -> None:
    reader = desk.check("session:new")
    desk.queued("session:new", 1)
    assert desk.send(to=["session:new"], strict=True).recipients[0].known
    assert get(reader, SECONDS) is not None


# -- effects -------------------------------------------------------------------------------------------------------


def test_worker_done_from_a_runs_own_address_ends_the_run_once(desk: MailDesk) -> None:
    run = desk.start(desk.item(), launch=True, agent_profile_id="plain-shell")
    sent = desk.send(type="worker_done", from_=f"run:{run.id}", to=["run:b"], body="all green")
    assert sent.warnings[1:] == ()
    ended = desk.stored(run)
    assert (ended.status, ended.history[-1].message) == ("completed", "all green")
    again = desk.send(type="worker_done", from_=f"run:{run.id}", to=["run:b"], body="again")
    assert "completed" in again.warnings[-1]
    assert desk.stored(run) == ended


@pytest.mark.parametrize("kind", ["pty", "session"])
def test_worker_done_from_the_runs_terminal_ends_it_too(desk: MailDesk, kind: str) -> None:
    run = desk.start(desk.item(), launch=True, agent_profile_id="plain-shell")
    own = run.pty_id if kind == "pty" else run.session_id
    desk.send(type="worker_done", from_=f"{kind}:{own}", run_id=run.id)
    assert desk.stored(run).status == "completed"


def test_worker_done_of_somebody_else_ends_nothing_and_says_so(desk: MailDesk) -> None:
    run = desk.start(desk.item(), launch=True, agent_profile_id="plain-shell")
    sent = desk.send(type="worker_done", from_="pty:other", run_id=run.id)
    assert sent.warnings[-1] == f"pty:other does not belong to run {run.id}, which goes on"
    unknown = desk.send(type="worker_done", from_="run:nope")
    assert unknown.warnings[-1] == "work item run nope not found"
    assert desk.stored(run).status == "running"


def test_a_decision_gate_opens_a_gate_of_the_item(desk: MailDesk) -> None:
    run = desk.start(desk.item(), launch=True, agent_profile_id="plain-shell")
    desk.send(type="decision_gate", subject="Ship it?", body="risky", work_item_id=run.work_item_id, run_id=run.id)
    desk.send(type="decision_gate", subject="By address", to=[f"work-item:{run.work_item_id}"])
    gates = desk.store.read(lambda db: gate_storage.select(db, work_item_id=run.work_item_id))
    assert [(gate.name, gate.reason, gate.requested_by) for gate in gates] == [
        ("Ship it?", "risky", "run:a"),
        ("By address", None, "run:a"),
    ]


def test_a_heartbeat_is_a_sign_of_life_of_the_run_and_fills_no_inbox(desk: MailDesk) -> None:
    run = desk.start(desk.item(), launch=True, agent_profile_id="plain-shell")
    reader = desk.check("run:b")
    desk.queued("run:b", 1)
    assert run.last_seen_at is not None
    for _ in range(3):
        desk.send(type="heartbeat", subject=None, from_=f"run:{run.id}")
    assert get(desk.work.run(run.id).show.remote()).last_seen_at > run.last_seen_at
    assert desk.unread("run:b") == []
    assert not reader.done()
    found = desk.take("run:b", types=["heartbeat"])
    assert found is not None
    assert desk.take("run:b", types=["heartbeat"]) is None


def test_an_effect_that_a_kill_cut_off_is_made_up_for(desk: MailDesk) -> None:
    run = desk.start(desk.item(), launch=True, agent_profile_id="plain-shell")
    # As after a kill between the commit and the telling: the mail is there, marked, and nothing else happened.
    draft = compose(SendMailRequest(from_=f"run:{run.id}", to=["run:b"], type="worker_done", subject="done"))
    get(
        desk.journal.write.remote(
            lambda db: mail.insert(
                db, draft, draft.to, id="mail_cut", now=desk.now, guard=LoopGuard(), effect="complete"
            )
        )
    )
    get(desk.system.restart("post-office"))
    events = desk.events
    after = 0
    while desk.stored(run).status != "completed":
        after = get(events.follow.options(timeout=None).remote(after), SECONDS).next
