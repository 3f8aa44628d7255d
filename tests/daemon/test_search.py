"""`whisk search` and `whisk audit` of a real daemon, over what a real terminal has printed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.daemon.conftest import Whiskd
from whisk.cli.failure import REFUSED, USAGE


def test_what_a_terminal_prints_is_found_with_its_place(shared_daemon: Whiskd, tmp_path: Path) -> None:
    whiskd = shared_daemon
    pty = whiskd.json("session", "create", "-root", str(tmp_path))["ptyId"]
    whiskd.cli(
        "session", "pty", "write", pty, "-stdin", input="printf '\\033[31mnee%s\\033[0m in hay\\n' dle\n", check=0
    )
    whiskd.cli("session", "pty", "expect", pty, "needle", "-timeout", "20s", check=0)
    found = whiskd.json("search", "needle hay", "-kinds", "transcript")["hits"]
    assert [hit["id"] for hit in found] == [pty]
    lines = whiskd.cli("search", "needle", "hay", check=0).stdout.splitlines()
    assert lines[0].startswith(f"transcript  {pty}  ")
    assert "[needle] in [hay]" in lines[1]
    assert [
        json.loads(line)["id"] for line in whiskd.cli("search", "needle", "-jsonl", check=0).stdout.splitlines()
    ] == [pty]
    whiskd.cli("session", "pty", "kill", pty, check=0)
    whiskd.client.delete(f"/v1/ptys/{pty}")
    assert whiskd.json("search", "needle")["hits"] == []


def test_words_that_look_like_options_go_behind_dashes(shared_daemon: Whiskd) -> None:
    mail = {"from": "run:x", "to": ["run:y"], "type": "status", "subject": "run with --force"}
    sent = shared_daemon.post("/v1/mail", mail)
    assert shared_daemon.cli("search", "--force").returncode == USAGE
    found = json.loads(shared_daemon.cli("search", "-kinds", "mail", "-json", "--", "--force", check=0).stdout)
    assert [hit["id"] for hit in found["hits"]] == [sent["id"]]
    assert shared_daemon.cli("search", "x", "-kinds", "dreams").returncode == REFUSED


def test_a_rule_and_who_made_it_are_in_the_trail(shared_daemon: Whiskd) -> None:
    rule = shared_daemon.json("policy", "add", "deny", "Bash(rm *)", "-actor", "ada")["id"]
    shared_daemon.cli("policy", "remove", rule, "-actor", "bob", check=0)
    trail = shared_daemon.json("audit", "-id", rule)
    assert [(each["who"], each["surface"], each["action"]) for each in trail] == [
        ("ada", "cli", "add"),
        ("bob", "cli", "remove"),
    ]
    table = shared_daemon.cli("audit", "-noun", "policy", "-since", "1h", check=0).stdout
    assert "ada (cli)" in table
    assert shared_daemon.cli("audit", "-since", "tomorrow").returncode == USAGE
    assert shared_daemon.cli("audit", "-who", "nobody", "-jsonl", check=0).stdout == ""
