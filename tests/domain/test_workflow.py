"""A workflow definition as a project shows it, and what another one would mean for its items."""

from __future__ import annotations

import msgspec
import pytest

from whisk.clock import Instant
from whisk.work.definition import (
    BUILTIN,
    BUILTIN_RECORD,
    ActionDefinition,
    Definition,
    DefinitionRecord,
    RunEffect,
    content_hash,
)
from whisk.work.item import CreateWorkItem, WorkItem, new_item
from whisk.work.migration_plan import plan_migration
from whisk.work.project import CreateProject, Project, new_project
from whisk.work.project_change import set_workflow
from whisk.work.workflow import DEFAULT_TEMPLATE, builtin_workflow, find_stage, project_workflow

NOW = Instant(1_800_000_000_000_000_000)


def run(phase: str, **fields: bool) -> RunEffect:
    preset = {"planning": "reader", "execution": "writer", "review": "reviewer"}[phase]
    return RunEffect(phase=phase, preset=preset, prompt_template_id="implement", working_dir="worktree", **fields)


SHIP = Definition(
    id="ship",
    version=3,
    stages=("ideas", "build", "waiting", "code_review", "qa", "shipped"),
    actions=(
        ActionDefinition(
            id="go", from_stages=("ideas",), to="build", creates_run=run("execution", auto_provision_worktree=True)
        ),
        ActionDefinition(id="wait", from_stages=("build",), to="waiting", side_stage=True),
        ActionDefinition(id="on", from_stages=("waiting",), to="$previousStage"),
        ActionDefinition(id="look", from_stages=("build",), to="code_review", creates_run=run("review")),
        ActionDefinition(id="test", from_stages=("code_review",), to="qa"),
        ActionDefinition(id="ship", from_stages=("qa",), to="shipped"),
    ),
    questions=BUILTIN.questions,
    gates=(),
)


def record(definition: Definition) -> DefinitionRecord:
    return DefinitionRecord(
        id=definition.id,
        version=definition.version,
        source="imported",
        content_hash=content_hash(definition),
        definition=definition,
        created_at=NOW,
        updated_at=NOW,
    )


def project() -> Project:
    return new_project(CreateProject(root_dir="/src/app"), project_id="proj_1", now=NOW)


def test_the_builtin_stages_are_what_they_are_called() -> None:
    made = builtin_workflow()
    stages = [(stage.id, stage.kind, stage.default_run_preset, stage.provision_worktree) for stage in made.stages]
    assert stages == [
        ("backlog", "backlog", None, False),
        ("planning", "planning", "reader", False),
        ("ready", "ready", None, False),
        ("execution", "execution", "writer", True),
        ("review", "review", "reviewer", False),
        ("blocked", "blocked", None, False),
        ("done", "done", None, False),
    ]
    assert (made.definition_id, made.definition_version) == ("plan-execute-review", 1)
    assert made.definition_hash == BUILTIN_RECORD.content_hash == content_hash(BUILTIN)
    assert DEFAULT_TEMPLATE.stages == made.stages


def test_the_stages_of_another_definition_get_kinds_by_what_happens_in_them() -> None:
    made = project_workflow(record(SHIP))
    assert [(stage.id, stage.name, stage.kind) for stage in made.stages] == [
        ("ideas", "Ideas", "backlog"),
        ("build", "Build", "execution"),
        ("waiting", "Waiting", "blocked"),
        ("code_review", "Code review", "review"),
        ("qa", "Qa", "active"),
        ("shipped", "Shipped", "done"),
    ]
    build = find_stage(made, "build")
    assert (build.default_run_preset, build.default_prompt_template_id) == ("writer", "implement")
    assert build.provision_worktree
    assert not find_stage(made, "code_review").provision_worktree


def test_a_project_keeps_everything_but_its_workflow() -> None:
    old = project()
    new = set_workflow(old, record(SHIP), NOW.plus(1))
    assert (new.workflow.id, new.workflow.definition_version, new.updated_at) == ("ship", 3, NOW.plus(1))
    assert msgspec.structs.replace(new, workflow=old.workflow, updated_at=NOW) == old
    assert set_workflow(new, record(SHIP), NOW.plus(2)) is new


def item(number: int, stage_id: str, previous: str | None = None, version: int = 1) -> WorkItem:
    request = CreateWorkItem(project_id="proj_1", title=f"T{number}")
    made = new_item(request, builtin_workflow(), item_id=f"item_{number}", number=number, now=NOW)
    return msgspec.structs.replace(made, stage_id=stage_id, previous_stage_id=previous, workflow_version=version)


def test_a_migration_plan_counts_and_says_why_not() -> None:
    target = msgspec.structs.replace(SHIP, stages=("backlog", "waiting", "blocked", "done"))
    items = [
        item(1, "backlog"),
        item(2, "planning"),
        item(3, "blocked", previous="planning"),
        item(4, "blocked", previous="backlog", version=7),
    ]
    plan = plan_migration(project(), target, items)
    assert (plan.current_id, plan.current_version, plan.target_id, plan.target_version) == (
        *("plan-execute-review", 1),
        *("ship", 3),
    )
    assert (plan.existing_items, plan.items_pinned_to_current_version) == (4, 3)
    assert (plan.compatible_items, plan.incompatible_items) == (2, 2)
    assert [(each.number, each.compatible, each.target_stage_id, each.reason) for each in plan.items] == [
        (1, True, "backlog", None),
        (2, False, None, "ship@3 has no stage planning"),
        (3, False, None, "ship@3 has no stage planning, which the item came from"),
        (4, True, "blocked", None),
    ]


@pytest.mark.parametrize("items", [[], [item(1, "backlog")]])
def test_a_plan_to_what_a_project_has_already_is_compatible(items: list[WorkItem]) -> None:
    plan = plan_migration(project(), BUILTIN, items)
    assert plan.incompatible_items == 0
    assert plan.items_pinned_to_current_version == len(items)
