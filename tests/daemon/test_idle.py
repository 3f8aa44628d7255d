"""Mail for one idle worker: known from its hooks, never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.hook_agent import Agent
from whisk.cli.process import wait_until

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd


def test_mail_for_an_idle_worker_waits_for_a_turns_end_and_finds_it(
    daemon: Whiskd, employ: Callable[..., Agent]
) -> None:
    project = daemon.post("/v1/projects", {"name": "Shop", "rootDir": str(daemon.home)})["id"]
    busy, free = employ(daemon), employ(daemon)
    for session in daemon.get("/v1/sessions"):
        daemon.post(f"/v1/sessions/{session['id']}/set-project", {"projectId": project})
    send = ("mail", "send", "-from", f"project:{project}", "-to", f"@idle:{project}", "-type", "dispatch")
    refused = daemon.cli(*send, "-subject", "too early", check=1)
    assert f"no worker of {project} is known to be idle" in refused.stderr
    for each in (busy, free):
        assert each.said("UserPromptSubmit") == b""
    assert daemon.cli(*send, "-subject", "both work", check=1).stdout == ""
    assert free.said("Stop") == b""
    sent = daemon.json(*send, "-subject", "next task")
    assert [each["address"] for each in sent["recipients"]] == [{"kind": "pty", "id": free.pty}]
    assert [mail["subject"] for mail in daemon.json("mail", "list")] == ["next task"]


def test_a_program_that_tells_its_terminal_that_it_is_idle_gets_mail_and_a_guess_does_not(daemon: Whiskd) -> None:
    project = daemon.post("/v1/projects", {"name": "Shop", "rootDir": str(daemon.home)})["id"]

    def start(script: str) -> str:
        pty = {"exec": True, "command": "/bin/sh", "args": ["-c", f"printf '{script}'; exec sleep 600"]}
        body = {"rootDir": str(daemon.home), "projectId": project, "initialPty": pty}
        return str(daemon.post("/v1/sessions", body)["ptyId"])

    def is_seen(pty: str, source: str) -> bool:
        status = daemon.get(f"/v1/ptys/{pty}").get("agentStatus", {})
        return (status.get("state"), status.get("source")) == ("idle", source)

    guessed = start("\\033]0;claude ready\\007")
    assert wait_until(lambda: is_seen(guessed, "osc-title"), 20)
    send = ("mail", "send", "-from", f"project:{project}", "-to", f"@idle:{project}", "-type", "dispatch")
    assert "is known to be idle" in daemon.cli(*send, "-subject", "next task", check=1).stderr
    said = start('\\033]9999;{"state":"idle","agent":"aider"}\\007')
    assert wait_until(lambda: is_seen(said, "osc9999"), 20)
    sent = daemon.json(*send, "-subject", "next task")
    assert [each["address"]["id"] for each in sent["recipients"]] == [said]
    lines = daemon.cli("session", "pty", "list", check=0).stdout.splitlines()
    assert [re.split(" {2,}", line)[2] for line in lines] == ["AGENT", "claude idle?", "aider idle"]
