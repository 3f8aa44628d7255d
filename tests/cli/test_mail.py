"""`whisk mail …` as processes, against a real server over a real post office."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest
from msgspec import Raw

from tests.cli.test_work import HERE, Whisk
from tests.mail_desk import SECONDS, MailDesk, until
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.storage import mail
from whisk.storage.mail_list import MailFilter, select

INSIDE = {
    "WHISK_PTY_ID": "pty_1",
    "WHISK_RUN_ID": "run_1",
    "WHISK_SESSION_ID": "sess_1",
    "WHISK_WORK_ITEM_ID": "item_1",
    "WHISK_PROJECT_ID": "proj_1",
}


class MailWhisk(Whisk):
    desk: MailDesk

    def stored(self, **chosen: Any) -> list[Any]:
        """Newest first."""
        return self.desk.store.read(lambda db: select(db, MailFilter(**chosen)))

    def send(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        basic = ("-from", "run:a", "-to", "run:b", "-type", "status", "-subject", "hello")
        return self("mail", "send", *basic, *arguments, stdin=stdin, **env)


@pytest.fixture
def whisk(system: ActorSystem, tmp_path: Path) -> Iterator[MailWhisk]:
    desk = MailDesk(system, tmp_path / "whisk.sqlite3")
    whisk = MailWhisk(desk, tmp_path / "state")
    yield whisk
    assert whisk.server is not None
    whisk.server.stop(timeout=2.0)
    desk.system.close(timeout=5.0)
    desk.store.close()


# -- sending -------------------------------------------------------------------------------------------------------


def test_a_message_is_sent_with_what_the_environment_says(whisk: MailWhisk) -> None:
    sent = whisk.json(
        *("mail", "send", "-to", "run:b,workitem:i", "-type", "dispatch", "-subject", "s", "-priority", "high"),
        *("-payload-json", '{"n": 1}', "-thread", "t-1"),
        WHISK_DISPATCH_ID="d_1",
        **INSIDE,
    )
    assert sent["from"] == {"kind": "pty", "id": "pty_1"}
    assert [reader["address"]["id"] for reader in sent["recipients"]] == ["b", "i"]
    assert (sent["type"], sent["priority"], sent["payload"], sent["threadId"]) == ("dispatch", "high", {"n": 1}, "t-1")
    context = [sent[name] for name in ("projectId", "workItemId", "runId", "sessionId", "ptyId", "dispatchId")]
    assert context == ["proj_1", "item_1", "run_1", "sess_1", "pty_1", "d_1"]


@pytest.mark.parametrize(
    ("env", "sender"),
    [
        ({"WHISK_RUN_ID": "r", "WHISK_SESSION_ID": "s"}, {"kind": "run", "id": "r"}),
        ({"WHISK_SESSION_ID": "s"}, {"kind": "session", "id": "s"}),
    ],
)
def test_the_sender_is_the_nearest_of_terminal_run_and_session(whisk: MailWhisk, env: Any, sender: Any) -> None:
    sent = whisk.json("mail", "send", "-to", "run:b", "-type", "status", "-subject", "s", **env)
    assert sent["from"] == sender


def test_a_sent_message_is_a_table_and_its_warnings_are_beside_it(whisk: MailWhisk) -> None:
    sent = whisk.send()
    header, row = sent.stdout.splitlines()
    assert header.split() == ["ID", "TYPE", "PRIORITY", "FROM", "TO", "SUBJECT"]
    assert row.split()[1:] == ["status", "normal", "run:a", "run:b", "hello"]
    assert sent.stderr == "warning: run:b is not known: the mail is kept for it in case it appears\n"


def test_a_strict_send_to_nobody_is_refused_and_stores_nothing(whisk: MailWhisk) -> None:
    sent = whisk.send("-strict")
    assert (sent.returncode, sent.stdout) == (1, "")
    assert sent.stderr == "whisk: mail recipient run:b is not known; nothing was sent\n"
    assert whisk.stored() == []


DASHES = ["- the build broke", "-h", "--help", "--", "---", "-json", "-", "--body=x", ""]


@pytest.mark.parametrize("body", DASHES)
@pytest.mark.parametrize("form", ["apart", "joined"])
def test_a_body_that_begins_with_a_dash_is_a_body(whisk: MailWhisk, body: str, form: str) -> None:
    sent = whisk.send(*(["-body", body] if form == "apart" else [f"--body={body}"]))
    assert sent.returncode == 0, sent.stderr
    assert whisk.stored()[0].body == (body or None)


HOSTILE = "`id` $(id) \"double\" 'single' !history \\ \x1b[31mred\x1b[0m 🙂\r\nline two\n\n"


@pytest.mark.parametrize("way", ["argument", "stdin", "file"])
def test_a_body_arrives_byte_for_byte(whisk: MailWhisk, tmp_path: Path, way: str) -> None:
    file = tmp_path / "body.md"
    file.write_bytes(("\ufeff" + HOSTILE).encode())
    body = HOSTILE if way == "argument" else "\ufeff" + HOSTILE
    if way == "argument":
        sent = whisk.send("-body", body)
    elif way == "file":
        sent = whisk.send("-body-file", str(file))
    else:
        with file.open("rb") as stdin:
            sent = subprocess_send(whisk, stdin)
    assert sent.returncode == 0, sent.stderr
    assert whisk.stored()[0].body == body


def subprocess_send(whisk: MailWhisk, stdin: Any) -> Any:
    command = [sys.executable, "-m", "whisk.cli.main", "mail", "send", "-from", "run:a", "-to", "run:b"]
    command += ["-type", "status", "-subject", "s", "-body-file", "-"]
    env = {**os.environ, "WHISK_STATE_DIR": str(whisk.state), "WHISKD_URL": whisk.url}
    run = gevent.get_hub().threadpool.apply
    return run(lambda: subprocess.run(command, stdin=stdin, capture_output=True, env=env, cwd=HERE, check=False))


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["-body", "x", "-body-file", "y"], 2, "use either -body or -body-file, not both"),
        (["-body-file", "/nonexistent"], 2, "-body-file /nonexistent: No such file or directory"),
        (["-payload-json", "{"], 2, "payload-json must be valid JSON"),
        (["-body-file", "BINARY"], 2, "is not UTF-8 text (byte 1)"),
        (["-body-file", "LARGE"], 1, "mail body exceeds 65536 bytes"),
        (["-priority", "asap"], 1, 'unsupported mail priority "asap"'),
        (["-thread", "x" * 201], 1, "threadId exceeds 200 bytes"),
    ],
)
def test_a_message_that_cannot_be_sent_says_why(
    whisk: MailWhisk, tmp_path: Path, arguments: list[str], code: int, error: str
) -> None:
    (tmp_path / "BINARY").write_bytes(b"a\xff\xfe")
    (tmp_path / "LARGE").write_text("x" * 65_537)
    sent = whisk.send(*(str(tmp_path / one) if one in ("BINARY", "LARGE") else one for one in arguments))
    assert (sent.returncode, sent.stdout) == (code, "")
    assert error in sent.stderr
    assert "Traceback" not in sent.stderr
    assert whisk.stored() == []


def test_a_command_without_what_it_needs_is_wrong_usage(whisk: MailWhisk) -> None:
    for arguments, error in (
        (["send", "-to", "run:b", "-subject", "s"], "-type is required"),
        (["send", "-type", "status", "-subject", "s"], "-to is required"),
        (["send", "-to", "run:b", "-type", "status"], "mail sender required; run inside a Whisk PTY or pass -from"),
        (["check"], "mail check recipient required; run inside a Whisk PTY or pass -to"),
        (["reply"], "<mail> is missing"),
    ):
        done = whisk("mail", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert error in done.stderr


def test_a_key_makes_a_retry_safe(whisk: MailWhisk) -> None:
    first, again = (json.loads(whisk.send("-key", "k", "-json").stdout) for _ in range(2))
    assert first["id"] == again["id"]
    other = whisk.send("-key", "k", "-body", "other")
    assert other.returncode == 1
    assert "has used the idempotency key" in other.stderr


# -- reading -------------------------------------------------------------------------------------------------------


def test_a_check_shows_the_message_whole_and_leaves_it_unread(whisk: MailWhisk) -> None:
    sent = whisk.desk.send(body="line one\n\x1b[2Jline two", run_id="R")
    for _ in range(2):
        shown = whisk("mail", "check", "-to", "run:b")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "line one\nline two" in shown.stdout
        assert "\x1b" not in shown.stdout
        for part in (sent.id, "From:     run:a", "To:       run:b (unknown)", "Subject:  hello", "About:    run R"):
            assert part in shown.stdout
    assert whisk.desk.unread("run:b") == [sent.id]


def test_a_check_asks_for_all_that_is_this_terminals(whisk: MailWhisk) -> None:
    places = ("pty:pty_1", "run:run_1", "session:sess_1", "work-item:item_1", "project:proj_1")
    sent = [whisk.desk.send(to=[place]).id for place in places]
    assert [whisk.json("mail", "check", "-ack", **INSIDE)["message"]["id"] for _ in sent] == sent
    assert whisk("mail", "check", "-ack", **INSIDE).stdout == "no mail\n"
    assert whisk.json("mail", "next", **INSIDE) == {"timeout": True}


def test_an_ack_is_shown_and_done_and_frees_the_next(whisk: MailWhisk) -> None:
    first, second = whisk.desk.send(), whisk.desk.send(to=["run:b", "run:c"])
    taken = whisk.json("mail", "check", "-to", "run:b", "-ack")
    assert (taken["message"]["id"], set(taken)) == (first.id, {"message", "address"})
    assert whisk.desk.unread("run:b") == [second.id]
    stored = whisk.desk.store.read(lambda db: mail.get(db, first.id))
    assert stored.recipients[0].read_at is not None
    assert taken["message"]["recipients"][0]["readAt"] == stored.recipients[0].read_at.rfc3339()


def test_a_waiting_check_is_woken_and_its_time_is_kept(whisk: MailWhisk) -> None:
    reader = whisk.start("mail", "check", "-wait", "-ack", "-json", "-to", "run:b,pty:p", "-types", "dispatch")
    whisk.desk.queued("pty:p", 1)
    whisk.desk.send()
    sent = whisk.desk.send(type="dispatch", to=["pty:p"])
    done = reader.get(timeout=SECONDS)
    assert json.loads(done.stdout)["message"]["id"] == sent.id
    until(lambda: whisk.desk.unread("pty:p") == [])
    late = whisk("mail", "check", "-wait", "-timeout", "50ms", "-to", "pty:p")
    assert (late.returncode, late.stdout) == (0, "no mail\n")


def test_a_waiting_check_outlives_a_restart_of_the_daemon(whisk: MailWhisk) -> None:
    assert whisk.server is not None
    port = whisk.server.address[1]
    reader = whisk.start("mail", "check", "-wait", "-ack", "-json", "-to", "run:b")
    whisk.desk.queued("run:b", 1)
    whisk.server.stop(timeout=2.0)
    whisk.desk.crash()
    whisk.desk.open(ActorSystem(sweep_every=0.05))
    sent = whisk.desk.send()
    whisk.serve(port)
    assert json.loads(reader.get(timeout=SECONDS).stdout)["message"]["id"] == sent.id


def slow_reader(whisk: MailWhisk, **env: str) -> subprocess.Popen[bytes]:
    """A `check -ack` that has its message and cannot print it: nobody empties the pipe."""
    whisk.desk.send(body="x" * 65_000, payload=Raw(b'"' + b"y" * 60_000 + b'"'))
    command = [sys.executable, "-m", "whisk.cli.main", "mail", "check", "-ack", "-to", "run:b"]
    env = {**os.environ, "WHISK_STATE_DIR": str(whisk.state), "WHISKD_URL": whisk.url, **env}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=HERE)
    until(lambda: whisk.desk.facts("run:b").get("claimed") == 1)
    assert whisk.desk.take("run:b") is None, "no second reader may hold it meanwhile"
    return process


def end_lease(whisk: MailWhisk) -> None:
    """The minute is over. The timer is the mailbox's own, so it is told rather than waited for."""
    claim = whisk.desk.store.read(lambda db: db.execute_sql("SELECT claim FROM mail_recipient").fetchone())[0]
    mailbox: Any = whisk.desk.system._cell("mailbox:run:b").actor
    mailbox.post(mailbox._lapse, claim)


def ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    said: tuple[bytes, bytes] = gevent.get_hub().threadpool.apply(process.communicate, (None, SECONDS))
    return said


def test_a_reader_that_is_killed_before_it_has_printed_takes_no_message_with_it(whisk: MailWhisk) -> None:
    process = slow_reader(whisk)
    (unread,) = whisk.desk.unread("run:b")
    process.kill()
    ended(process)
    end_lease(whisk)
    delivery = get(whisk.desk.check("run:b"), SECONDS)
    assert delivery is not None
    assert delivery.message.id == unread


def test_a_reader_that_printed_too_late_says_that_the_message_comes_again(whisk: MailWhisk) -> None:
    process = slow_reader(whisk)
    (unread,) = whisk.desk.unread("run:b")
    end_lease(whisk)
    until(lambda: whisk.desk.facts("run:b")["claimed"] == 0)
    printed, said = ended(process)
    assert unread.encode() in printed
    assert process.returncode == 1
    assert f"mail {unread} was shown but could not be acknowledged; it will be given again".encode() in said
    assert whisk.desk.unread("run:b") == [unread]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_whose_output_is_closed_has_acknowledged_nothing(whisk: MailWhisk, unbuffered: str) -> None:
    process = slow_reader(whisk, PYTHONUNBUFFERED=unbuffered)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    ended(process)
    assert len(whisk.desk.unread("run:b")) == 1


def test_a_short_message_is_printed_before_it_is_acknowledged_too(whisk: MailWhisk) -> None:
    """It fits into the buffer, so only flushing tells that nobody can read it."""
    sent = whisk.desk.send()
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "whisk.cli.main", "mail", "check", "-ack", "-to", "run:b"]
    env = {**os.environ, "WHISK_STATE_DIR": str(whisk.state), "WHISKD_URL": whisk.url, "PYTHONUNBUFFERED": ""}
    process = subprocess.Popen(command, stdout=write_end, stderr=subprocess.PIPE, env=env, cwd=HERE)
    os.close(write_end)
    ended(process)
    assert process.returncode != 0
    assert whisk.desk.unread("run:b") == [sent.id]


def test_read_marks_ones_own_row_inside_and_all_outside(whisk: MailWhisk) -> None:
    sent = whisk.desk.send(to=["run:run_1", "run:c"])
    inside = whisk("mail", "read", sent.id, WHISK_RUN_ID="run_1")
    assert "run:run_1 (read, unknown)" in inside.stdout
    assert whisk.desk.unread("run:c") == [sent.id]
    outside = whisk.json("mail", "read", sent.id)
    assert all(reader["readAt"] for reader in outside["recipients"])


def test_a_reply_and_the_thread_it_makes(whisk: MailWhisk) -> None:
    root = whisk.desk.send(subject="build", body="it is red")
    reply = whisk.json("mail", "reply", root.id, "-body", "- on it", "-from", "run:b")
    assert (reply["threadId"], reply["subject"], reply["body"]) == (root.id, "Re: build", "- on it")
    assert whisk("mail", "reply", "mail_x", "-from", "run:b").stderr == "whisk: mail mail_x not found\n"
    assert [one["id"] for one in whisk.json("mail", "thread", reply["id"])] == [root.id, reply["id"]]
    text = whisk("mail", "thread", root.id).stdout
    assert text.index("it is red") < text.index("----") < text.index("- on it")
    listed = whisk("mail", "list", "-thread", root.id).stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["ID", reply["id"], root.id]


def test_list_and_search_take_the_same_filters(whisk: MailWhisk) -> None:
    first = whisk.desk.send(body="needle --force", project_id="P").id
    second = whisk.desk.send(body="needle", to=["pty:p"]).id
    whisk.desk.read(first)

    def ids(*arguments: str) -> list[str]:
        return [message["id"] for message in whisk.json("mail", *arguments)]

    assert ids("list") == ids("search", "needle") == ids("search") == [second, first]
    assert ids("list", "-to", "pty:p,run:x") == ids("search", "needle", "-unread") == [second]
    assert ids("list", "-project", "P") == ids("search", "-project=P", "needle") == [first]
    assert ids("list", "-limit", "1") == ids("list", "-after", first) == [second]
    assert ids("list", "-before", second) == [first]
    assert json.loads(whisk("mail", "search", "-json", "--", "--force").stdout)[0]["id"] == first
    assert whisk("mail", "list", "-limit", "-1").returncode == 2
    assert whisk("mail", "list").stdout.splitlines()[1].split()[0] == second
