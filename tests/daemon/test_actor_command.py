"""The supervision tree of a real daemon, as the person sees and handles it."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pexpect
import pytest

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd

FLOOR = ("journal", "events", "pty-host", "commands", "bridges", "post-office")


def test_the_tree_shows_the_floor_below_the_supervisor(shared_daemon: Whiskd) -> None:
    lines = shared_daemon.cli("actor", "tree", check=0).stdout.splitlines()
    assert lines[0].split() == ["ACTOR", "STATE", "QUEUE", "RATE", "RESTARTS"]
    assert lines[1].split()[:2] == ["supervisor", "alive"]
    for name in FLOOR:
        assert any(re.match(rf"[├└]── {name} +alive +\d+ +[\d.]+/s +0", line) for line in lines), name


def test_a_plain_locale_gets_plain_lines(shared_daemon: Whiskd) -> None:
    drawn = shared_daemon.cli("actor", "tree", check=0, PYTHONIOENCODING="ascii").stdout
    assert "|-- journal" in drawn
    assert drawn.isascii()


def test_the_json_tree_is_nested(shared_daemon: Whiskd) -> None:
    (root,) = shared_daemon.json("actor", "tree")
    assert root["name"] == "supervisor"
    assert {child["name"] for child in root["children"]} >= set(FLOOR)


def test_list_and_show_agree(shared_daemon: Whiskd) -> None:
    listed = {actor["name"]: actor for actor in shared_daemon.json("actor", "list")}
    shown = shared_daemon.json("actor", "show", "journal")
    assert shown["kind"] == listed["journal"]["kind"] == "JournalActor"
    assert "incarnation" in shared_daemon.cli("actor", "show", "journal", check=0).stdout
    unknown = shared_daemon.cli("actor", "show", "nobody")
    assert unknown.returncode == 1
    assert "no actor named nobody" in unknown.stderr


@pytest.mark.parametrize("name", ["events", "bridges", "post-office", "journal"])
def test_a_restarted_part_goes_on_working(shared_daemon: Whiskd, name: str) -> None:
    before = shared_daemon.json("actor", "show", name)
    done = shared_daemon.cli("actor", "restart", name, check=0)
    assert done.stdout.split()[0] == name
    after = shared_daemon.json("actor", "show", name)
    assert after["incarnation"] == before["incarnation"] + 1
    root = shared_daemon.home / f"project-{name}"
    root.mkdir()
    shared_daemon.cli("project", "create", "-name", name, "-root", str(root), check=0)


def test_the_floor_cannot_be_stopped(shared_daemon: Whiskd) -> None:
    done = shared_daemon.cli("actor", "stop", "journal", "-json")
    assert done.returncode == 1
    assert json.loads(done.stderr)["code"] == "refused"
    assert "part of whiskd itself" in json.loads(done.stderr)["error"]


def test_dead_letters_are_listed(shared_daemon: Whiskd) -> None:
    assert shared_daemon.cli("actor", "dead-letters", check=0).stdout.split()[:2] == ["ID", "AT"]
    assert isinstance(shared_daemon.json("actor", "dead-letters"), list)
    assert shared_daemon.cli("actor", "dead-letters", "-replay", "dead_none").returncode == 1


def test_watch_redraws_in_place_and_gives_the_terminal_back(shared_daemon: Whiskd) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "whisk.cli.main", "actor", "tree", "-watch", "-every", "100ms"],
        env=shared_daemon.env,
        dimensions=(12, 60),
        encoding="utf-8",
        timeout=20,
    )
    child.expect_exact("\x1b[?1049h")
    for _ in range(3):
        child.expect_exact("\x1b[H")
        child.expect("supervisor")
        child.expect("Ctrl-C ends")
    frame = child.before
    assert all(len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)) <= 60 for line in frame.splitlines())
    child.sendintr()
    child.expect_exact("\x1b[?25h\x1b[?1049l")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize("options", [["-watch"], ["-watch", "-json"]])
def test_watch_needs_a_terminal(shared_daemon: Whiskd, options: list[str]) -> None:
    assert shared_daemon.cli("actor", "tree", *options).returncode == 2


def in_window(daemon: Whiskd, columns: int, *arguments: str) -> list[str]:
    """The lines that a command prints into a terminal of that width."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "whisk.cli.main", *arguments],
        env={**daemon.env, "NO_COLOR": "1"},
        dimensions=(24, columns),
        encoding="utf-8",
        timeout=20,
    )
    child.expect(pexpect.EOF)
    child.close()
    return str(child.before).splitlines()


@pytest.mark.parametrize("columns", [60, 80])
def test_every_name_and_number_of_the_tree_is_whole_in_a_small_window(shared_daemon: Whiskd, columns: int) -> None:
    root = shared_daemon.home / "narrow"
    root.mkdir(exist_ok=True)
    project = shared_daemon.json("project", "create", "-root", str(root))["id"]
    item = shared_daemon.json("work-item", "create", "-project", project, "-title", "Narrow")["id"]
    # Mail that was taken is what gives a work item a mailbox, the longest of all names.
    to = f"work-item:{item}"
    shared_daemon.cli(
        "mail", "send", "-from", f"project:{project}", "-to", to, "-type=status", "-subject", "x", check=0
    )
    shared_daemon.cli("mail", "check", "-to", to, "-ack", check=0)
    lines = in_window(shared_daemon, columns, "actor", "tree")
    assert all(len(line) <= columns for line in lines), lines
    for name in (f"project:{project}", f"mailbox:{to}"):
        (at,) = [number for number, line in enumerate(lines) if line.split()[-1] == name or f" {name} " in line]
        assert re.search(r" alive +\d+ +[\d.]+/s +\d+$", " ".join(lines[at : at + 2 if columns < 80 else at + 1]))
    listed = in_window(shared_daemon, columns, "actor", "list")
    assert any(line.startswith(f"mailbox:work-item:{item}") for line in listed)
    assert all(len(line) <= columns for line in listed), listed


def test_labels_and_facts_of_an_actor_have_a_line_each(shared_daemon: Whiskd) -> None:
    project = shared_daemon.json("project", "create", "-root", str(shared_daemon.home))["id"]
    shown = dict(
        line.split(None, 1) for line in shared_daemon.cli("actor", "show", f"project:{project}").stdout.splitlines()
    )
    assert shown["labels.project"] == project
    assert not any(value.startswith("{") for value in shown.values())


def test_clear_empties_the_daemon_and_needs_the_word(shared_daemon: Whiskd) -> None:
    projects = len(shared_daemon.json("project", "list"))
    items = len(shared_daemon.json("work-item", "list"))
    refused = shared_daemon.cli("daemon", "clear")
    assert refused.returncode == 2
    assert "daemon clear requires -yes" in refused.stderr
    session = shared_daemon.json("session", "create", "-root", str(shared_daemon.home), "-command", "echo said")
    shared_daemon.cli("session", "pty", "expect", session["ptyId"], "said", check=0)
    assert list((shared_daemon.state_dir / "transcripts").iterdir())
    shared_daemon.cli("status", "blocked", "-pty", session["ptyId"], "-message", "no key", check=0)
    done = shared_daemon.cli("daemon", "clear", "-yes", check=0)
    assert done.stdout == (
        f"cleared daemon state: sessions=1 ptys=1 projects={projects} workItems={items} forwards=0\n"
    )
    assert shared_daemon.json("session", "list") == []
    assert shared_daemon.json("status", "list") == []
    assert shared_daemon.json("pty", "history", "list") == []
    assert list((shared_daemon.state_dir / "transcripts").iterdir()) == []
