"""Webhooks: told in order, signed, at least once, over bad receivers and restarts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mail_desk import MailDesk, until
from tests.receiver import Receiver, drip, flood, hang, vanish
from whisk.actors.future import get
from whisk.actors.matters import MattersActor, MattersHandle
from whisk.actors.system import ActorSystem
from whisk.actors.webhook import WebhookHandle, WebhookServices
from whisk.actors.webhook_post import Poster
from whisk.errors import InvalidError, NotFoundError
from whisk.matters.audit import AuditEntry, AuditFilter
from whisk.matters.setting import WebhookSettings
from whisk.matters.webhook import CreateWebhook, signature
from whisk.storage import audit as audit_storage
from whisk.storage import webhook as storage
from whisk.storage.statement import run

TIMEOUT = 0.3
SETTINGS = WebhookSettings(timeout=TIMEOUT, attempts=3, retry_first=0.01, retry_most=0.02)


class Desk(MailDesk):
    """A desk with the keeper of webhooks; `next_life` is the daemon after a kill."""

    def start(self, settings: WebhookSettings = SETTINGS) -> None:
        services = WebhookServices(
            self.store, self.journal, Poster(settings.timeout), settings, lambda noun, id: f"http://whisk/{noun}/{id}",
            random.Random(7),
        )  # fmt: skip
        self.matters: MattersHandle = self.system.spawn(
            MattersActor, services, self.events, keep_days=1, name="matters", restart="permanent", handle=MattersHandle
        )

    def next_life(self, settings: WebhookSettings = SETTINGS) -> None:
        self.crash()
        self.open(ActorSystem())
        self.start(settings)

    def add(self, url: str, **fields: Any) -> WebhookHandle:
        state, self.secret = get(self.matters.add.remote(CreateWebhook(url=url, **fields)))
        return get(self.matters.find.remote(state.id))

    def escalate(self, subject: str, **fields: Any) -> str:
        return self.send(type="escalation", subject=subject, **fields).id

    def letters(self, handle: WebhookHandle) -> list[Any]:
        webhook_id = handle.name.partition(":")[2]
        return self.store.read(lambda db: storage.letters(db, webhook_id))

    def audit(self) -> list[tuple[str, str]]:
        found = self.store.read(lambda db: audit_storage.select(db, AuditFilter(noun="webhook")))
        return [(each.action, each.who) for each in found]


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    desk.start()
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_a_matter_is_told_once_with_what_a_receiver_needs_to_check_it(desk: Desk, receiver: Receiver) -> None:
    handle = desk.add(receiver.url)
    mail = desk.escalate("the build is red, password=hunter22", project_id="proj_1")
    (got,) = receiver.until(1)
    assert got.headers["x-whisk-signature"] == signature(desk.secret, got.headers["x-whisk-timestamp"], got.body)
    assert got.headers["x-whisk-event"] == got.event["type"] == "mail.escalated"
    assert got.headers["content-type"] == "application/json"
    assert "authorization" not in got.headers
    assert (got.event["id"], got.event["noun"], got.event["projectId"]) == (mail, "mail", "proj_1")
    assert got.event["needsPerson"] is True
    assert got.event["link"] == f"http://whisk/mail/{mail}"
    assert b"hunter22" not in got.body
    until(lambda: get(handle.show.remote()).delivered == 1)
    state = get(handle.show.remote())
    assert (state.behind, state.attempts, state.last_error, state.dead_letters) == (0, 0, "", 0)


def test_what_was_before_the_webhook_is_not_told(desk: Desk, receiver: Receiver) -> None:
    desk.escalate("old")
    desk.add(receiver.url)
    desk.escalate("new")
    assert [each.event["title"] for each in receiver.until(1)] == ["new"]


def test_only_what_is_wanted_is_told_and_the_rest_is_passed(desk: Desk, receiver: Receiver) -> None:
    handle = desk.add(receiver.url, types=["mail.escalated"], project_id="proj_1")
    desk.escalate("elsewhere", project_id="proj_2")
    desk.escalate("here", project_id="proj_1")
    assert [each.event["title"] for each in receiver.until(1)] == ["here"]
    desk.escalate("elsewhere again", project_id="proj_2")
    until(lambda: get(handle.show.remote()).behind == 0)
    assert len(receiver.got) == 1


def test_the_order_is_kept_over_failures_and_repetitions_have_the_same_id(desk: Desk, receiver: Receiver) -> None:
    receiver.script.extend([500, 429, 200, vanish])
    desk.add(receiver.url)
    for number in range(5):
        desk.escalate(f"number {number}")
    got = receiver.until(8)
    titles = [each.event["title"] for each in got]
    assert titles == ["number 0"] * 3 + ["number 1"] * 2 + ["number 2", "number 3", "number 4"]
    assert len({each.delivery for each in got}) == 5
    assert len({each.delivery for each in got[:3]}) == 1


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (500, "answered 500: hm"),
        (302, "redirects are not followed"),
        (404, "answered 404"),
        (hang, f"no whole answer within {TIMEOUT:g} s"),
        (drip, f"no whole answer within {TIMEOUT:g} s"),
        (flood, "answered 500: yyy"),
        (vanish, ""),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_bad_receiver_costs_its_time_and_ends_as_a_dead_letter(
    desk: Desk, receiver: Receiver, behaviour: Any, error: str
) -> None:
    receiver.script.extend([behaviour] * 3)
    handle = desk.add(receiver.url)
    desk.escalate("first")
    desk.escalate("second")
    got = receiver.until(4)
    assert [each.event["title"] for each in got] == ["first"] * 3 + ["second"]
    until(lambda: get(handle.show.remote()).delivered == 1)
    (letter,) = desk.letters(handle)
    assert (letter.id, letter.attempts, letter.type) == (got[0].delivery, 3, "mail.escalated")
    assert error in letter.error
    assert letter.error


def test_a_certificate_that_nobody_vouches_for_is_not_believed(desk: Desk) -> None:
    receiver = Receiver(certificate=str(Path(__file__).parents[1] / "payloads" / "self_signed.pem"))
    handle = desk.add(receiver.url)
    tried = get(handle.test.remote())
    assert not tried.delivered
    assert "certificate" in tried.error.lower()
    assert receiver.got == []
    receiver.close()


def test_one_receiver_that_hangs_does_not_keep_the_others_waiting(desk: Desk, receiver: Receiver) -> None:
    stuck = Receiver()
    stuck.script.extend([hang] * 9)
    desk.add(stuck.url)
    desk.add(receiver.url)
    for number in range(3):
        desk.escalate(f"number {number}")
    receiver.until(3)
    assert len(stuck.got) <= 2
    stuck.close()


def test_a_receiver_that_is_down_gets_what_it_missed_in_order(desk: Desk) -> None:
    first = Receiver()
    port = first.port
    handle = desk.add(first.url)
    first.close()
    desk.next_life(WebhookSettings(timeout=TIMEOUT, attempts=1000, retry_first=0.01, retry_most=0.02))
    handle = get(desk.matters.find.remote(handle.name.partition(":")[2]))
    for number in range(3):
        desk.escalate(f"number {number}")
    until(lambda: get(handle.show.remote()).attempts > 1)
    assert "refused" in get(handle.show.remote()).last_error
    back = Receiver(port)
    assert [each.event["title"] for each in back.until(3)] == ["number 0", "number 1", "number 2"]
    back.close()


def test_a_dead_letter_is_sent_again_on_demand_and_stays_while_that_fails(desk: Desk, receiver: Receiver) -> None:
    receiver.script.extend([500, 500, 500])
    handle = desk.add(receiver.url, actor="ada")
    desk.escalate("precious")
    until(lambda: len(desk.letters(handle)) == 1)
    (letter,) = desk.letters(handle)
    receiver.script.append(503)
    assert get(handle.redeliver.remote(letter, "bob", "cli")).status == 503
    assert desk.letters(handle)[0].attempts == 4
    assert get(handle.redeliver.remote(letter, "bob", "cli")).delivered
    assert desk.letters(handle) == []
    assert {each.delivery for each in receiver.got} == {letter.id}
    assert desk.audit() == [("add", "ada"), ("redeliver", "bob"), ("redeliver", "bob")]


def test_a_pause_keeps_the_place_and_wakes_from_a_long_wait(desk: Desk, receiver: Receiver) -> None:
    handle = desk.add(receiver.url)
    assert get(handle.pause.remote(True, "ada", "cli")).paused
    desk.escalate("meanwhile")
    assert get(handle.test.remote()).delivered
    assert receiver.until(1)[0].event["type"] == "test"
    assert get(handle.show.remote()).behind == 1
    assert not get(handle.pause.remote(False, "ada", "cli")).paused
    assert receiver.until(2)[1].event["title"] == "meanwhile"
    assert desk.audit() == [("add", ""), ("pause", "ada"), ("resume", "ada")]


def test_a_new_secret_signs_from_then_on(desk: Desk, receiver: Receiver) -> None:
    handle = desk.add(receiver.url, secret="the first of the secrets")
    assert desk.secret == "the first of the secrets"
    secret = get(handle.rotate.remote("ada", "cli"))
    desk.escalate("news")
    (got,) = receiver.until(1)
    assert got.headers["x-whisk-signature"] == signature(secret, got.headers["x-whisk-timestamp"], got.body)
    trail = desk.store.read(lambda db: run(db, "SELECT doc FROM audit").fetchall())
    assert secret not in str(trail)
    assert desk.secret not in str(trail)


def test_matters_that_are_gone_are_told_as_missed(desk: Desk, receiver: Receiver) -> None:
    handle = desk.add(receiver.url)
    get(handle.pause.remote(True, "", ""))
    for number in range(5):
        desk.escalate(f"number {number}")
    get(desk.journal.write.remote(lambda db: run(db, "DELETE FROM matter WHERE seq <= 3")))
    get(handle.pause.remote(False, "", ""))
    got = receiver.until(3)
    assert got[0].event == {"type": "missed", "missed": 3}
    assert [each.event["title"] for each in got[1:]] == ["number 3", "number 4"]
    until(lambda: get(handle.show.remote()).missed == 3)


def test_the_next_daemon_goes_on_where_the_last_one_was(desk: Desk, receiver: Receiver) -> None:
    handle = desk.add(receiver.url)
    desk.escalate("told")
    receiver.until(1)
    until(lambda: get(handle.show.remote()).delivered == 1)
    get(handle.pause.remote(True, "", ""))
    desk.escalate("untold")
    desk.next_life()
    get(get(desk.matters.find.remote(handle.name.partition(":")[2])).pause.remote(False, "", ""))
    assert [each.event["title"] for each in receiver.until(2)] == ["told", "untold"]


def test_the_next_daemon_forgets_old_entries_of_the_audit_and_says_so(desk: Desk) -> None:
    day = 86_400.0
    desk.crash()
    desk.open(ActorSystem())
    for days in (2.0, 0.5):
        entry = AuditEntry(
            at=desk.now.plus(-days * day), who="ada", surface="cli", action="allow", noun="approval", id=f"{days} days"
        )
        get(desk.journal.write.remote(lambda db, entry=entry: audit_storage.record(db, entry)))
    desk.start()
    trail = lambda: desk.store.read(lambda db: audit_storage.select(db, AuditFilter()))  # noqa: E731
    until(lambda: trail()[-1].action == "forget")
    kept, said = trail()
    assert (kept.id, said.who, said.noun) == ("0.5 days", "whiskd", "audit")
    assert said.about == "1 entries older than 1 days"


def test_a_removed_webhook_is_gone_with_its_letters(desk: Desk, receiver: Receiver) -> None:
    receiver.script.extend([500, 500, 500])
    handle = desk.add(receiver.url)
    desk.escalate("precious")
    until(lambda: len(desk.letters(handle)) == 1)
    webhook_id = handle.name.partition(":")[2]
    get(desk.matters.remove.remote(webhook_id, "ada", "cli"))
    assert desk.letters(handle) == []
    with pytest.raises(NotFoundError):
        get(desk.matters.find.remote(webhook_id))
    desk.escalate("nobody hears")
    assert desk.audit()[-1] == ("remove", "ada")


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://x/", "file:///etc/passwd", "http://", "http://u:p@x/", "http://x/#a", "http://x/ y"],
)  # fmt: skip
def test_an_address_that_will_not_do_is_refused(desk: Desk, url: str) -> None:
    with pytest.raises(InvalidError):
        desk.add(url)
