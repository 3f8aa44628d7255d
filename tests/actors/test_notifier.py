"""Notices: once for each matter, only while it still matters, through real apprise to a real receiver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mail_desk import MailDesk, until
from tests.receiver import Receiver
from whisk.actors.future import get
from whisk.actors.matters import MattersActor, MattersHandle
from whisk.actors.notifier import NotifierActor, NotifierHandle, NotifierServices
from whisk.actors.system import ActorSystem
from whisk.actors.webhook import WebhookServices
from whisk.actors.webhook_post import Poster
from whisk.matters.notice import NotifySettings, NotifyState
from whisk.matters.setting import WebhookSettings
from whisk.storage import notice as storage
from whisk.storage import status as status_storage
from whisk.work.action import Press
from whisk.work.question import AnswerQuestion, AskQuestion
from whisk.work.status import StatusEvent

pytest.importorskip("apprise", reason="the extra whisk[notify] is not installed")
# apprise's plug-ins warn of what is no concern of ours.
pytestmark = pytest.mark.filterwarnings("ignore")


class Desk(MailDesk):
    """A desk with a notifier."""

    def begin(self, minute: Callable[[], int] = lambda: 720, **settings: Any) -> None:
        webhooks = WebhookServices(
            self.store, self.journal, Poster(1.0), WebhookSettings(), lambda noun, id: f"http://w/{noun}/{id}"
        )
        chosen = NotifySettings(**{"delay": 0.0, "timeout": 5.0, **settings})
        services = NotifierServices(self.store, self.journal, chosen, webhooks.tell, minute, (0.01,))
        self.notifier: NotifierHandle = self.system.spawn(
            NotifierActor, services, name="notifier", restart="permanent", handle=NotifierHandle
        )
        self.system.spawn(
            MattersActor, webhooks, self.events, listeners=lambda: [self.notifier], name="matters", handle=MattersHandle
        )
        # It has begun to look before anything happens.
        self.stand()

    def stand(self) -> NotifyState:
        return get(self.notifier.show.remote())

    def looked(self) -> NotifyState:
        """How it stands when everything has been looked at."""
        until(lambda: self.stand().waiting == 0)
        return self.stand()


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def phone() -> Iterator[Receiver]:
    phone = Receiver()
    yield phone
    phone.close()


def url(phone: Receiver) -> str:
    return f"json://ada:hunter22@127.0.0.1:{phone.port}/?cto=2&rto=2"


def titles(phone: Receiver) -> list[tuple[str, str]]:
    return [(each.document["title"], each.document["message"].splitlines()[0]) for each in phone.got]


def test_a_person_is_told_what_needs_them_and_how_to_get_there(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone),))
    mail = desk.send(type="escalation", subject="Main is red")
    phone.until(1)
    assert titles(phone) == [("whisk: mail needs you", "Main is red")]
    message = phone.got[0].document["message"]
    assert f"whisk mail thread {mail.id}" in message
    assert f"http://w/mail/{mail.id}" in message
    assert desk.looked().sent == 1


def test_a_run_is_done_once_whoever_says_so(desk: Desk, phone: Receiver) -> None:
    """An agent reports that it is done, and then its run ends: one matter to a person, two events."""
    desk.begin(urls=(url(phone),))
    run = desk.start(desk.item())
    report = StatusEvent(
        id="ev_1", scope="run", kind="done", message="all green", requires_attention=False, created_at=desk.now,
        notification_key="k", notification_severity="info", run_id=run.id,
    )  # fmt: skip
    get(desk.journal.write.remote(lambda db: status_storage.insert(db, report)))
    get(desk.work.run(run.id).cancel.remote("ada"))
    phone.until(1)
    desk.looked()
    assert titles(phone) == [("whisk: done", "all green")]


def test_what_is_over_before_anybody_is_told_is_not_told(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone),), delay=0.2)
    handle = desk.work.item(desk.item().id)
    asked = get(handle.ask_question.remote(AskQuestion(prompt="Which port?")))
    get(handle.answer_question.remote(asked.id, AnswerQuestion(answer="4711", actor="ada")))
    desk.send(type="escalation", subject="Still open")
    phone.until(1)
    assert titles(phone) == [("whisk: mail needs you", "Still open")]
    state = desk.looked()
    assert (state.sent, state.failed) == (1, 0)


def test_the_secrets_of_an_address_are_not_shown(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone), "nonsense://x/y"))
    first, second = desk.stand().targets
    assert first.url.startswith("json://ada:")
    assert "hunter22" not in first.url
    assert (second.url, second.error) == ("nonsense://…", "apprise does not understand this address")


def test_a_test_says_for_each_target_what_became_of_it(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone), url(phone)))
    phone.script.append(500)
    first, second = get(desk.notifier.test.options(timeout=20.0).remote(), 20.0)
    assert (first.delivered, second.delivered) == (False, True)
    assert "500" in first.error


def test_a_target_that_fails_is_tried_again_and_does_not_hold_up_the_rest(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone),))
    phone.script.extend([500, 200, 500, 500])
    for subject in ("first", "second", "third"):
        desk.send(type="escalation", subject=subject)
    phone.until(5)
    assert [title for _, title in titles(phone)] == ["first", "first", "second", "second", "third"]
    state = desk.looked()
    assert (state.sent, state.failed) == (2, 1)


def test_in_quiet_hours_nothing_is_told(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone),), quiet=("11:00-13:00",))
    desk.send(type="escalation", subject="Later")
    until(lambda: desk.stand().waiting == 1)
    assert desk.stand().quiet
    assert phone.got == []


def test_a_restart_neither_repeats_nor_forgets(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone),))
    desk.send(type="escalation", subject="told")
    phone.until(1)
    desk.looked()
    desk.crash()
    desk.open(ActorSystem())
    desk.send(type="escalation", subject="while nobody looked")
    desk.begin(urls=(url(phone),))
    phone.until(2)
    assert [title for _, title in titles(phone)] == ["told", "while nobody looked"]


def test_who_is_told_again_after_a_pause_is_not_told_of_the_time_in_between(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone),))
    get(desk.journal.write.remote(storage.end))
    desk.crash()
    desk.open(ActorSystem())
    desk.send(type="escalation", subject="not wanted")
    desk.begin(urls=(url(phone),))
    desk.send(type="escalation", subject="wanted")
    phone.until(1)
    assert [title for _, title in titles(phone)] == ["wanted"]


def test_a_plan_that_waits_and_a_blocked_item_are_told(desk: Desk, phone: Receiver) -> None:
    desk.begin(urls=(url(phone),))
    item = desk.item()
    handle = desk.work.item(item.id)
    for action in ("start_planning", "submit_draft_plan", "report_blocked"):
        get(handle.press.remote(Press(action=action, actor="agent", body="First" if "plan" in action else "")))
    phone.until(2)
    desk.looked()
    assert titles(phone) == [("whisk: a draft needs you", "Plan: Fix it"), ("whisk: a work item is blocked", "Fix it")]
