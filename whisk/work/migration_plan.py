"""What another workflow definition would mean for the work items that there are. A report; nothing is migrated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from whisk.values import Record
from whisk.work.definition import Definition, identity
from whisk.work.item import WorkItem
from whisk.work.project import Project


class PlanMigration(Record, frozen=True):
    """Names the definition to compare with."""

    wire_name: ClassVar[str] = "PlanProjectWorkflowMigrationRequest"

    id: str
    version: int


class MigrationItem(Record, frozen=True):
    """`compatible`: the other definition has the stage the item is in, and the one that it would go back to."""

    wire_name: ClassVar[str] = "WorkflowMigrationItem"

    work_item_id: str
    number: int
    title: str
    current_workflow_id: str
    current_workflow_version: int
    current_stage_id: str
    compatible: bool
    target_stage_id: str | None = None
    reason: str | None = None


class MigrationPlan(Record, frozen=True):
    wire_name: ClassVar[str] = "WorkflowMigrationPlan"

    project_id: str
    current_id: str
    current_version: int
    target_id: str
    target_version: int
    existing_items: int
    items_pinned_to_current_version: int
    compatible_items: int
    incompatible_items: int
    items: tuple[MigrationItem, ...]


def plan_migration(project: Project, target: Definition, items: Iterable[WorkItem]) -> MigrationPlan:
    now = (project.workflow.definition_id, project.workflow.definition_version)
    compared = tuple(_compare(item, target) for item in items)
    compatible = sum(each.compatible for each in compared)
    return MigrationPlan(
        project_id=project.id,
        current_id=now[0],
        current_version=now[1],
        target_id=target.id,
        target_version=target.version,
        existing_items=len(compared),
        items_pinned_to_current_version=sum(
            (each.current_workflow_id, each.current_workflow_version) == now for each in compared
        ),
        compatible_items=compatible,
        incompatible_items=len(compared) - compatible,
        items=compared,
    )


def _compare(item: WorkItem, target: Definition) -> MigrationItem:
    name = identity(target.id, target.version)
    reason = None
    if item.stage_id not in target.stages:
        reason = f"{name} has no stage {item.stage_id}"
    elif item.previous_stage_id and item.previous_stage_id not in target.stages:
        reason = f"{name} has no stage {item.previous_stage_id}, which the item came from"
    return MigrationItem(
        work_item_id=item.id,
        number=item.number,
        title=item.title,
        current_workflow_id=item.workflow_id,
        current_workflow_version=item.workflow_version,
        current_stage_id=item.stage_id,
        compatible=reason is None,
        target_stage_id=item.stage_id if reason is None else None,
        reason=reason,
    )
