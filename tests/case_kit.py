"""Cases for tests of the workflow: an item in a project of its own, and what people do with it, without any storage."""

from __future__ import annotations

from itertools import count

import msgspec

from whisk.clock import Instant
from whisk.work.action import Press, Taken, press
from whisk.work.case import Case, Stamp
from whisk.work.definition import BUILTIN, Definition
from whisk.work.gate import CompleteGate, GateStatus
from whisk.work.inquiry import judge
from whisk.work.item import CreateWorkItem, new_item
from whisk.work.project import CreateProject, new_project

NOW = Instant(1_800_000_000_000_000_000)
_numbers = count(1)
STAMP = Stamp(NOW, lambda prefix: f"{prefix}_{next(_numbers)}")


def case(stage_id: str = "backlog", definition: Definition = BUILTIN) -> Case:
    project = new_project(CreateProject(root_dir="/src/app", name="App"), project_id="proj_1", now=NOW)
    wanted = CreateWorkItem(project_id="proj_1", title="Fix it", body_markdown="It is broken.")
    item = new_item(wanted, project.workflow, item_id="item_1", number=7, now=NOW)
    return Case(project=project, item=msgspec.structs.replace(item, stage_id=stage_id), definition=definition)


def done(before: Case, action: str, **fields: str) -> Case:
    """The case after an action; its events are kept beside those of the steps before."""
    return taken(before, action, **fields).case


def taken(before: Case, action: str, **fields: str) -> Taken:
    return press(before, Press(**{"action": action, "actor": "ann", **fields}), STAMP)


def judged(before: Case, status: GateStatus = "passed", reason: str = "") -> Case:
    """The case after a person's decision about its newest gate."""
    request = CompleteGate(status=status, actor="ann", override_reason=reason)
    return judge(before, before.gates[-1], request, STAMP).case


def planned() -> Case:
    """In planning, with a draft plan of the planning run."""
    started = done(case(), "start_planning")
    return done(started, "submit_draft_plan", actor="agent", body="The plan", run_id=started.runs[-1].id)


def ready() -> Case:
    drafted = planned()
    return done(drafted, "approve_plan", artifact_id=drafted.artifacts[-1].id)


def executing() -> Case:
    return done(ready(), "start_execution")


def reviewed() -> Case:
    """In review, the gate pending."""
    before = executing()
    return done(before, "complete_execution", actor="agent", run_id=before.runs[-1].id)
