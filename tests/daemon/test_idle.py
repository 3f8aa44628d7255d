"""Mail for one idle worker: known from its hooks, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.hook_agent import Agent

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
