"""Real Claude Code at work on an item: the plan that it presents in plan mode, the feedback that is typed to it.

WHISK_LIVE_FAKES=<folder> pytest -m live tests/live/test_offline_work.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.real_agent import CLAUDE_EVENTS, DEADLINE, Claude
from whisk.cli.process import wait_until

pytestmark = pytest.mark.live

LOOK = [{"name": "Glob", "input": {"pattern": "*"}}]
PLAN = "# Fix the login\n\n1. A test that fails\n2. The fix\n"


class Planner(Claude):
    """Claude Code launched by `start-planning`."""

    def configure(self, events: tuple[str, ...]) -> list[str]:
        binary, *rest = super().configure(events)
        return [binary, "--permission-mode", "plan", *rest]

    def go(self) -> None:
        whisk = self.whiskd.json
        project = whisk("project", "create", "-root", str(self.root), "-name", "App")["id"]
        self.item = whisk("work-item", "create", "-project", project, "-title", "GO-AHEAD")["id"]
        wanted = ("-work-item", self.item, "-launch", "-agent-profile", "real")
        self.run = whisk("workflow", "start-planning", *wanted)
        self.pty = self.run["ptyId"]

    def plan_file(self) -> str:
        """Where Claude Code tells its model to write the plan, as soon as it has."""
        wanted = re.compile(r"[^ \"]*/plans/[^ \"\\]*\.md")
        assert wait_until(lambda: wanted.search(json.dumps(self.model.requests())) is not None, DEADLINE)
        found = wanted.search(json.dumps(self.model.requests()))
        return found[0] if found is not None else ""

    @property
    def plans(self) -> list[dict[str, Any]]:
        return [dict(each) for each in self.whiskd.json("workflow", "artifacts", "-work-item", self.item)]


class Executor(Claude):
    """Claude Code launched by `start-execution`."""

    def go(self) -> None:
        whisk = self.whiskd.json
        project = whisk("project", "create", "-root", str(self.root), "-name", "App")["id"]
        item = whisk("work-item", "create", "-project", project, "-title", "GO-AHEAD")["id"]
        self.on = ("-work-item", item)
        whisk("workflow", "start-planning", *self.on)
        plan = whisk("workflow", "submit-plan", *self.on, "-body", PLAN)["id"]
        whisk("workflow", "approve-plan", *self.on, "-artifact", plan)
        self.run = whisk("workflow", "start-execution", *self.on, "-launch", "-agent-profile", "real")
        self.pty = self.run["ptyId"]


Employ = Callable[[list[dict[str, Any]]], Planner]


@pytest.fixture
def employ(tmp_path: Path) -> Iterator[Employ]:
    made: list[Planner] = []

    def make(tools: list[dict[str, Any]]) -> Planner:
        made.append(Planner(tmp_path / "home", CLAUDE_EVENTS, tools))
        made[-1].go()
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_presented_plan_is_submitted_and_the_agent_reads_that_it_is_done(employ: Employ) -> None:
    planner = employ([{"name": "ExitPlanMode", "input": {"plan": PLAN}}])
    [read] = planner.reads()
    [plan] = planner.plans
    assert (plan["title"], plan["body"], plan["status"]) == ("Fix the login", PLAN, "draft")
    assert f"as the draft plan {plan['id']} of work item #1" in read
    planner.shows("TURN-DONE")
    assert planner.whiskd.json("run", "show", planner.run["id"])["status"] == "completed"
    assert planner.whiskd.json("prompt", "list") == []


def test_a_plan_that_was_written_to_its_file_is_submitted_too(employ: Employ) -> None:
    planner = employ(LOOK)
    # Where the file goes is said in the first request; the model's next steps are written when that is known.
    planner.model.plays_steps([{"text": "Looking.", "delay": 4, "tools": LOOK}])
    place = planner.plan_file()
    planner.model.plays_steps(
        [
            {"text": "Looking.", "tools": LOOK},
            {"text": "Writing.", "tools": [{"name": "Write", "input": {"file_path": place, "content": PLAN}}]},
            {"text": "Presenting.", "tools": [{"name": "ExitPlanMode", "input": {}}]},
            {"text": "TURN-DONE"},
        ]
    )
    read = planner.reads(3)[-1]
    [plan] = planner.plans
    assert plan["body"] == PLAN
    assert f"as the draft plan {plan['id']} of work item #1" in read


def test_a_call_without_a_plan_is_not_let_through_and_says_what_to_do(employ: Employ) -> None:
    planner = employ([{"name": "ExitPlanMode", "input": {}}])
    [read] = planner.reads()
    assert "whisk workflow submit-plan -body" in read
    assert planner.plans == []
    assert wait_until(lambda: re.search("TURN-?DONE", planner.screen()) is not None, DEADLINE)


def test_feedback_is_a_prompt_to_the_agent_that_has_ended_its_turn(tmp_path: Path) -> None:
    executor = Executor(tmp_path / "home", CLAUDE_EVENTS, [])
    try:
        executor.go()
        executor.shows("Calling")

        def is_idle() -> bool:
            return executor.whiskd.get(f"/v1/ptys/{executor.pty}")["agentStatus"]["state"] == "idle"

        assert wait_until(is_idle, DEADLINE)
        executor.whiskd.json("workflow", "complete-execution", "-run", executor.run["id"])
        executor.whiskd.json("workflow", "feedback", *executor.on, "-body", "GO-AHEAD again:\nhandle the empty file")

        def heard() -> bool:
            return "handle the empty file" in json.dumps(executor.model.requests())

        assert wait_until(heard, DEADLINE), executor.screen()[-3000:]
        [mail] = executor.whiskd.json("mail", "list", "-to", f"run:{executor.run['id']}")
        assert wait_until(lambda: "readAt" in executor.whiskd.get(f"/v1/mail/{mail['id']}")["recipients"][0], DEADLINE)
        said = [each for each in executor.model.requests() if "handle the empty file" in json.dumps(each)][-1]
        assert "<whisk-review-feedback>\\nGO-AHEAD again:\\nhandle the empty file\\n" in json.dumps(said)
    finally:
        executor.close()
