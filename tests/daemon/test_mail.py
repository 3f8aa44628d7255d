"""Mail and a daemon that is killed: what was answered with 201 is there, and what was claimed comes back."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

import pytest

from whisk.cli.failure import CommandError, RefusedError
from whisk.cli.process import wait_until

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd

SENDERS = 4


class Sender(threading.Thread):
    """Sends one message after the other until the daemon is gone; `kept` are the ids that were answered with 201."""

    def __init__(self, place: Whiskd, name: str) -> None:
        super().__init__(name=name)
        self.client = place.client
        self.kept: list[str] = []
        self.refused: list[CommandError] = []

    def run(self) -> None:
        while True:
            try:
                number = len(self.kept)
                message = {"from": f"run:{self.name}", "to": ["run:b", "run:c"], "type": "status", "subject": "hello"}
                sent = self.client.post("/v1/mail", {**message, "body": f"number {number}"}, timeout=30)
            except CommandError as error:
                self.refused.append(error)
                return
            self.kept.append(sent["id"])


def kill_rounds(place: Whiskd, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    kept: list[str] = []
    newest: str | None = None
    for round_ in range(rounds):
        senders = [Sender(place, f"r{round_}s{number}") for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        # Any moment will do, in the middle of a commit too.
        threading.Event().wait(chance.uniform(0.0, 0.2))
        place.kill9()
        for sender in senders:
            sender.join(60)
        answered = [mail for sender in senders for mail in sender.kept]
        kept += answered
        place.start()
        since = {"limit": 0, "after": newest}
        stored = place.get("/v1/mail", since)
        missing = set(answered) - {message["id"] for message in stored}
        assert not missing, f"round {round_}: {len(missing)} of {len(answered)} are gone"
        # What was being written when it died is there whole, or not at all.
        assert {len(message["recipients"]) for message in stored} <= {2}
        assert place.get("/v1/mail/search", {**since, "q": "number"}) == stored
        newest = stored[0]["id"] if stored else newest
    assert kept
    assert set(kept) <= {message["id"] for message in place.get("/v1/mail", {"limit": 0})}


def test_what_was_answered_with_201_outlives_kill_9(daemon: Whiskd) -> None:
    kill_rounds(daemon, 3, seed=1)


@pytest.mark.slow
def test_what_was_answered_with_201_outlives_a_hundred_kills(daemon: Whiskd) -> None:
    kill_rounds(daemon, 100, seed=2)


def test_a_claim_whose_daemon_was_killed_comes_back_when_its_lease_ends(daemon: Whiskd) -> None:
    daemon.cli("mail", "send", "-from", "run:a", "-to", "run:b", "-type", "status", "-subject", "s", check=0)
    claimed = daemon.get("/v1/mail/next", {"to": "run:b", "claim": 1.5})
    daemon.kill9()
    daemon.start()
    again: Any = daemon.get("/v1/mail/next", {"to": "run:b", "claim": 60, "timeoutMs": 20_000})
    assert again["message"]["id"] == claimed["message"]["id"]
    with pytest.raises(CommandError, match="went back to the queue"):
        daemon.post(f"/v1/mail/{claimed['message']['id']}/read", {"claim": claimed["claim"]["token"]})
    daemon.post(f"/v1/mail/{again['message']['id']}/read", {"claim": again["claim"]["token"]})
    assert daemon.cli("mail", "check", "-to", "run:b", check=0).stdout == "no mail\n"


def test_agents_find_their_mail_by_their_environment(daemon: Whiskd) -> None:
    """The seed's three lines, as an agent in a terminal would type them."""
    project = daemon.cli("project", "create", "-root", str(daemon.home), "-name", "App", check=0).stdout.strip()
    item = daemon.json("work-item", "create", "-project", project, "-title", "Fix it")
    run = daemon.json("run", "start", "-work-item", item["id"], "-agent-profile", "plain-shell")
    sent = daemon.cli(
        *("mail", "send", "-to", f"run:{run['id']}", "-type", "dispatch", "-subject", "Implement task"),
        *("-body", "...", "-from", f"project:{project}"),
        check=0,
    )
    assert sent.stderr == ""
    inside = {"WHISK_RUN_ID": run["id"], "WHISK_PTY_ID": run["ptyId"], "WHISK_SESSION_ID": run["sessionId"]}
    taken = daemon.json("mail", "check", "-wait", "-ack", **inside)
    assert taken["message"]["subject"] == "Implement task"
    reply = daemon.json("mail", "reply", taken["message"]["id"], "-body", "Done", **inside)
    assert reply["from"] == {"kind": "pty", "id": run["ptyId"]}
    done = ("mail", "send", "-to", f"project:{project}", "-type", "worker_done", "-subject", "green")
    assert daemon.cli(*done, check=0, **inside).stderr == ""
    (ended,) = daemon.json("run", "list", "-work-item", item["id"])
    assert ended["status"] == "completed"


def test_a_reader_whose_agent_is_gone_takes_no_message_for_nobody(daemon: Whiskd) -> None:
    reader = daemon.popen("mail", "check", "-wait", "-ack", "-to", "run:b")
    mailbox = "/v1/actors/mailbox:run:b"
    assert wait_until(lambda: waiting(daemon, mailbox) == 1, 20)
    assert reader.stdout is not None
    reader.stdout.close()
    reader.stdout = None
    reader.communicate(timeout=20)
    assert wait_until(lambda: waiting(daemon, mailbox) == 0, 20)
    daemon.cli("mail", "send", "-from", "run:a", "-to", "run:b", "-type", "status", "-subject", "s", check=0)
    assert daemon.json("mail", "check", "-ack", "-to", "run:b")["message"]["subject"] == "s"


def waiting(daemon: Whiskd, mailbox: str) -> int:
    """How many readers wait there."""
    try:
        return int(daemon.get(mailbox)["facts"]["waiting"])
    except RefusedError:
        return 0


def test_twenty_messages_in_the_queue_are_one_list_and_come_in_their_order(daemon: Whiskd) -> None:
    message = {"from": "run:a", "to": ["run:b"], "type": "status"}
    sent = [daemon.post("/v1/mail", {**message, "subject": f"number {n}"})["id"] for n in range(20)]
    listed = daemon.json("mail", "list", "-unread", "-to", "run:b")
    assert [one["id"] for one in listed] == sent[::-1]
    first = daemon.json("mail", "check", "-ack", "-to", "run:b")["message"]["id"]
    rest = [daemon.get("/v1/mail/next", {"to": "run:b", "ack": True})["message"]["id"] for _ in sent[1:]]
    assert [first, *rest] == sent
    assert daemon.json("mail", "list", "-unread", "-to", "run:b") == []
