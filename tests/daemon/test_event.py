"""`whisk event …` against a real daemon that comes and goes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import Whiskd


class Tail:
    """`whisk event tail` in the background; ready when it follows."""

    def __init__(self, whiskd: Whiskd, *options: str) -> None:
        self.whiskd = whiskd
        # It has begun when it has shown an event; until then one is made again and again.
        self.process = whiskd.popen("event", "tail", "-json", "-after", "0", "-types", "workitems.changed", *options)

    def event(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr and self.process.stderr.read()
        return dict(json.loads(line))

    def end(self, with_signal: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(with_signal)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said.decode()


def project(whiskd: Whiskd) -> str:
    return str(whiskd.post("/v1/projects", {"name": "Shop", "rootDir": str(whiskd.home)})["id"])


@pytest.fixture
def tail(daemon: Whiskd) -> Iterator[Tail]:
    following = Tail(daemon)
    yield following
    if following.process.poll() is None:
        following.process.kill()
    following.process.communicate()


def test_a_tail_shows_each_event_once_over_a_restart_and_says_that_it_missed_some(daemon: Whiskd, tail: Tail) -> None:
    first, second = project(daemon), project(daemon)
    shown = [tail.event(), tail.event()]
    assert [event["id"] for event in shown] == [first, second]
    assert all(event["type"] == "workitems.changed" for event in shown)
    daemon.restart()
    assert tail.event() == {"type": "missed"}
    third = project(daemon)
    event = tail.event()
    assert event["id"] == third
    assert event["seq"] > shown[-1]["seq"]
    daemon.kill9()
    daemon.start()
    assert tail.event() == {"type": "missed"}
    code, said = tail.end()
    assert code == 0
    assert said.count("whiskd has gone; going on when it is back") == 2


def test_a_tail_of_a_daemon_that_is_not_there_ends_at_once(place: Whiskd) -> None:
    assert "unavailable" in place.cli("event", "tail", check=3, WHISKD_URL="http://127.0.0.1:1").stderr


def test_an_unknown_type_is_refused_by_name(shared_daemon: Whiskd) -> None:
    said = shared_daemon.cli("event", "tail", "-types", "mail.changed", check=1).stderr
    assert "mail.changed" in said


def test_the_next_event_is_waited_for_in_time(shared_daemon: Whiskd) -> None:
    quiet = shared_daemon.cli("event", "next", "-types", "policies.changed", "-timeout", "50ms", check=0)
    assert (quiet.stdout, quiet.stderr) == ("", "no event\n")
    made = project(shared_daemon)
    seen = shared_daemon.json("event", "next", "-after", "0", "-types", "workitems.changed")
    assert (seen["event"]["id"], seen["missed"]) == (made, False)
    line = shared_daemon.cli("event", "next", "-after", "1", "-types", "workitems.changed", check=0)
    assert line.stderr.startswith("some events were missed")
    assert line.stdout == f"workitems.changed\t{made}\n"


def test_a_tail_ends_with_whoever_reads_it(shared_daemon: Whiskd) -> None:
    tail = shared_daemon.popen("event", "tail")
    assert tail.stdout is not None
    tail.stdout.close()
    assert tail.wait(20) == 141
    for pipe in (tail.stdin, tail.stderr):
        assert pipe is not None
        pipe.close()


@pytest.mark.slow
def test_a_thousand_subscribers_get_each_event_once(daemon: Whiskd) -> None:
    """Real connections; a subscriber that stops reading holds up nobody and is told what it missed."""
    streams = [daemon.client.open("GET", "/v1/events", query={"types": "workitems.changed"}) for _ in range(1000)]
    bodies = []
    for stream in streams:
        status, headers = stream.head()
        assert status == 200
        bodies.append(stream.body(headers))
    try:
        expected = [project(daemon) for _ in range(5)]
        for stream, body in zip(streams, bodies, strict=True):
            stream.socket.settimeout(20)
            data = b""
            while data.count(b"data: ") < 5:
                data += next(body)
            seen = [json.loads(line[6:])["id"] for line in data.splitlines() if line.startswith(b"data: ")]
            assert seen == expected
    finally:
        for stream in streams:
            stream.close()
