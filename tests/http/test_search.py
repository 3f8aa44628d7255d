"""Search over HTTP: all kinds together, pages, and transcripts that are read on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.captured import NOW
from tests.http.conftest import Caller
from whisk.actors.future import get
from whisk.storage import terminal as terminal_storage
from whisk.storage.transcript import Transcript
from whisk.terminal.pty import PtyRecord


def make_terminal(parts: dict[str, Any], name: str, status: Any = "exited") -> None:
    record = PtyRecord(
        id=name, status=status, argv=("make", "test"), working_dir="/", cols=80, rows=24, created_at=NOW,
        session_id="sess_1",
    )  # fmt: skip
    get(parts["journal"].write.remote(lambda db: terminal_storage.insert(db, record, NOW)))


def printed(folder: Path, name: str, data: bytes) -> None:
    transcript = Transcript(folder / "transcripts" / name)
    transcript.append(transcript.end, data)
    transcript.close()


def ids(call: Caller, query: str) -> list[str]:
    return [hit["id"] for hit in call("GET", f"/v1/search?{query}").json["hits"]]


def test_mail_questions_and_transcripts_are_found_together(call: Caller, parts: dict[str, Any], tmp_path: Path) -> None:
    project = call("POST", "/v1/projects", {"name": "Site", "slug": "site", "rootDir": "/"}).json
    item = call("POST", "/v1/work-items", {"projectId": project["id"], "title": "Login"}).json
    asked = call("POST", "/v1/questions", {"workItemId": item["id"], "prompt": "Is the refund race real?"}).json
    mail = {"from": "run:x", "to": ["run:y"], "type": "status", "subject": "refund race"}
    sent = call("POST", "/v1/mail", mail).json
    make_terminal(parts, "pty_1", "running")
    printed(tmp_path, "pty_1", b"$ make\r\n\x1b[31mFAILED\x1b[0m refund\x1b[1Crace\r\n")
    found = call("GET", "/v1/search?q=refund%20race").json
    assert {hit["kind"]: hit["id"] for hit in found["hits"]} == {
        "mail": sent["id"], "question": asked["id"], "transcript": "pty_1",
    }  # fmt: skip
    (hit,) = (hit for hit in found["hits"] if hit["kind"] == "transcript")
    assert "FAILED \u27e6refund\u27e7 \u27e6race\u27e7" in hit["snippet"]
    assert (hit["sessionId"], hit["offset"], hit["title"]) == ("sess_1", 0, "make test")
    assert ids(call, f"q=refund&workItemId={item['id']}") == [asked["id"]]
    assert ids(call, f"q=refund&projectId={project['id']}") == [asked["id"]]
    assert ids(call, "q=refund&kinds=mail") == [sent["id"]]


def test_what_a_living_terminal_prints_is_found_at_once(call: Caller, parts: dict[str, Any], tmp_path: Path) -> None:
    make_terminal(parts, "pty_1", "running")
    for number in range(3):
        printed(tmp_path, "pty_1", b"line number%d\r\n" % number)
        assert ids(call, f"q=number{number}") == ["pty_1"]


def test_a_terminal_that_is_gone_is_not_found(call: Caller, parts: dict[str, Any], tmp_path: Path) -> None:
    make_terminal(parts, "pty_1")
    printed(tmp_path, "pty_1", b"needle\r\n")
    assert ids(call, "q=needle") == ["pty_1"]
    get(parts["journal"].write.remote(lambda db: terminal_storage.delete(db, "pty_1")))
    assert ids(call, "q=needle") == []


def test_clearing_the_daemon_empties_the_search(call: Caller, parts: dict[str, Any], tmp_path: Path) -> None:
    call("POST", "/v1/mail", {"from": "run:x", "to": ["run:y"], "type": "status", "subject": "needle"})
    make_terminal(parts, "pty_1")
    printed(tmp_path, "pty_1", b"needle\r\n")
    assert len(ids(call, "q=needle")) == 2
    assert call("POST", "/v1/daemon/clear").status == 200
    assert ids(call, "q=needle") == []


def test_hits_go_out_as_json_lines_to_who_asks_for_them(call: Caller) -> None:
    for number in range(2):
        call("POST", "/v1/mail", {"from": "run:x", "to": ["run:y"], "type": "status", "subject": f"needle {number}"})
    answer = call("GET", "/v1/search?q=needle", headers={"Accept": "application/x-ndjson"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in answer.body.splitlines()] == call("GET", "/v1/search?q=needle").json["hits"]


def test_pages_hold_every_hit_once(call: Caller) -> None:
    mail = {"from": "run:x", "to": ["run:y"], "type": "status"}
    sent = {call("POST", "/v1/mail", mail | {"subject": f"needle {n}"}).json["id"] for n in range(25)}
    seen: list[str] = []
    while page := ids(call, "q=needle&limit=7" + (f"&after={seen[-1]}" if seen else "")):
        seen += page
    assert len(seen) == 25
    assert set(seen) == sent
    assert call("GET", "/v1/search?q=needle&after=mail_x").status == 404


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 200),
        ("q=" + quote('"unclosed AND (NEAR'), 200),
        ("q=" + quote("🔥 日本語"), 200),
        ("q=" + "x" * 10_240, 200),
        ("q=%00", 400),
        ("q=%FF", 400),
        ("q=" + "+".join(f"w{n}" for n in range(201)), 413),
        ("q=" + "x" * 70_000, 413),
        ("q=x&kinds=dreams", 400),
        ("q=x&limit=0", 400),
        ("q=x&limit=201", 400),
    ],
    ids=range(11),
)
def test_what_cannot_be_searched_is_a_typed_refusal(call: Caller, query: str, status: int) -> None:
    answer = call("GET", f"/v1/search?{query}")
    assert answer.status == status
    assert answer.json["hits"] == [] if status == 200 else answer.code
