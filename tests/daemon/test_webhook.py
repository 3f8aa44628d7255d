"""Webhooks of a real daemon: a receiver in a process of its own, and a daemon that is killed in between."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import Whiskd
from whisk.cli.failure import REFUSED

SECONDS = 30.0
_RECEIVER = """
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(int(sys.argv[2]))
        self.end_headers()
        print(json.dumps([self.headers["x-whisk-delivery"], json.loads(body)]), flush=True)

    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class Listener:
    """A receiver that answers with `status`, and what it has been told."""

    def __init__(self, port: int, status: int = 200) -> None:
        command = [sys.executable, "-c", _RECEIVER, str(port), str(status)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0)

    def next(self) -> tuple[str, Any]:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], SECONDS)[0], "nothing was told"
        delivery, document = json.loads(self.process.stdout.readline())
        return delivery, document["event"]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def listen(port: int) -> Iterator[Callable[..., Listener]]:
    made: list[Listener] = []

    def make(status: int = 200) -> Listener:
        made.append(Listener(port, status))
        return made[-1]

    yield make
    for listener in made:
        listener.close()


def escalate(whiskd: Whiskd, subject: str) -> None:
    whiskd.post("/v1/mail", {"from": "run:x", "to": ["run:y"], "type": "escalation", "subject": subject})


@pytest.fixture
def patient(place: Whiskd, tmp_path: Path) -> Whiskd:
    """A daemon that tries again soon and never gives up."""
    (tmp_path / "config.toml").write_text('[webhooks]\nretry_first = "20ms"\nretry_most = "20ms"\nattempts = 100000\n')
    place.env["WHISK_CONFIG"] = str(tmp_path / "config.toml")
    place.start()
    return place


def test_what_happened_before_a_kill_is_told_after_it_once_and_in_order(
    patient: Whiskd, port: int, listen: Callable[..., Listener]
) -> None:
    patient.cli("webhook", "add", f"http://127.0.0.1:{port}/", check=0)
    for number in range(3):
        escalate(patient, f"number {number}")
    patient.kill9()
    patient.start()
    escalate(patient, "number 3")
    listener = listen()
    told = [listener.next() for _ in range(4)]
    assert [event["title"] for _, event in told] == [f"number {number}" for number in range(4)]
    assert len({delivery for delivery, _ in told}) == 4
    patient.kill9()
    patient.start()
    escalate(patient, "number 4")
    delivery, event = listener.next()
    if delivery == told[-1][0]:
        # The kill may have come before the last delivery was written down: then it is told again, under the same id.
        _, event = listener.next()
    assert event["title"] == "number 4"


def test_the_commands_show_what_goes_wrong_and_mend_it(
    place: Whiskd, tmp_path: Path, port: int, listen: Callable[..., Listener]
) -> None:
    (tmp_path / "config.toml").write_text('[webhooks]\nretry_first = "10ms"\nattempts = 2\n')
    place.env["WHISK_CONFIG"] = str(tmp_path / "config.toml")
    place.start()
    added = place.cli("webhook", "add", f"http://127.0.0.1:{port}/", "-types", "mail.escalated", check=0).stdout
    webhook, secret = added.split()
    assert "Connection refused" in place.cli("webhook", "test", webhook, check=REFUSED).stdout
    escalate(place, "help")
    letters = lambda: place.cli("webhook", "dead-letters", webhook, check=0).stdout.splitlines()  # noqa: E731
    while len(rows := letters()) < 2:
        assert place.processes()
    assert "mail.escalated" in rows[1]
    listener = listen()
    while place.cli("webhook", "test", webhook).returncode:
        assert listener.process.poll() is None
    assert place.cli("webhook", "redeliver", webhook, check=0).stdout.split("\t")[1].startswith("delivered: 200")
    while listener.next()[1].get("title") != "help":
        pass
    assert len(letters()) == 1
    chosen = place.cli(
        "webhook", "add", "http://127.0.0.1:1/", "-secret", "-", "-json", input="a secret from stdin\n", check=0
    )
    assert json.loads(chosen.stdout)["secret"] == "a secret from stdin"
    for verb, state in (("pause", "paused"), ("resume", "ok")):
        assert place.cli("webhook", verb, webhook, check=0).stdout.split("\t")[1].strip() == state
    shown = place.cli("webhook", "show", webhook, check=0).stdout
    assert secret not in shown + place.cli("webhook", "list", "-json", check=0).stdout
    assert place.cli("webhook", "rotate", webhook, check=0).stdout.split()[1] != secret
    place.cli("webhook", "remove", webhook, check=0)
    assert place.cli("webhook", "show", webhook, check=REFUSED).stderr.startswith("whisk: webhook")
    actions = [
        json.loads(line)["action"] for line in place.cli("audit", "-id", webhook, "-jsonl", check=0).stdout.splitlines()
    ]
    assert actions == ["add", "redeliver", "pause", "resume", "rotate", "remove"]
