"""A gate: a decision that a person has to take about a work item, once."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from whisk.clock import Instant
from whisk.errors import ConflictError, InvalidError
from whisk.matters.audit import Surface
from whisk.values import Record, check_text
from whisk.work.definition import GateDefinition
from whisk.work.person import check_actor, need_person

NAME_LIMIT = 512
REASON_LIMIT = 65_536
GateStatus = Literal["pending", "passed", "failed", "overridden"]


class GateReport(Record, frozen=True):
    """`requested_by` and `reason` say who wanted the decision and what it is about, `source` which mail said so.

    `phase` is that of the workflow's gate, for a gate that the workflow made.
    """

    id: str
    project_id: str
    work_item_id: str
    name: str
    blocking: bool
    status: GateStatus
    created_at: Instant
    updated_at: Instant
    run_id: str | None = None
    override_reason: str | None = None
    requested_by: str | None = None
    reason: str | None = None
    source: str | None = None
    phase: str | None = None
    completed_by: str | None = None
    completed_at: Instant | None = None


class OpenGate(Record, frozen=True):
    """`source` is the id of what asks for the gate; asking again for the same source opens no second one."""

    name: str
    source: str = ""
    run_id: str = ""
    reason: str = ""
    actor: str | None = None


class CompleteGate(Record, frozen=True):
    wire_name: ClassVar[str] = "CompleteGateRequest"

    status: str
    override_reason: str = ""
    actor: str | None = None
    surface: Surface = ""
    id: str = ""


def new_gate(request: OpenGate, *, gate_id: str, project_id: str, work_item_id: str, now: Instant) -> GateReport:
    return GateReport(
        id=gate_id,
        project_id=project_id,
        work_item_id=work_item_id,
        name=check_text(request.name.strip(), "gate name", limit=NAME_LIMIT, empty=False),
        blocking=True,
        status="pending",
        created_at=now,
        updated_at=now,
        run_id=request.run_id or None,
        requested_by=check_actor(request.actor),
        reason=check_text(request.reason, "reason", limit=REASON_LIMIT) or None,
        source=request.source or None,
    )


def new_workflow_gate(
    definition: GateDefinition,
    *,
    gate_id: str,
    project_id: str,
    work_item_id: str,
    run_id: str | None,
    actor: str | None,
    now: Instant,
) -> GateReport:
    """A gate that an action of the workflow opens."""
    return GateReport(
        id=gate_id,
        project_id=project_id,
        work_item_id=work_item_id,
        name=definition.id,
        blocking=definition.blocking,
        status="pending",
        created_at=now,
        updated_at=now,
        run_id=run_id,
        requested_by=check_actor(actor),
        phase=definition.phase,
    )


def complete_gate(gate: GateReport, request: CompleteGate, now: Instant) -> GateReport:
    """A person decides. Raises `RefusedError` for a program, `InvalidError`, or `ConflictError` naming the winner.

    A failed gate may still be passed or overridden later; a passed or overridden one stays as it is.
    """
    if request.status not in ("passed", "failed", "overridden"):
        raise InvalidError(f'unsupported gate status "{request.status}"; passed, failed or overridden', field="status")
    need_person(request.actor, "gate completion")
    reason = check_text(request.override_reason.strip(), "override reason", limit=REASON_LIMIT)
    if request.status == "overridden" and not reason:
        raise InvalidError("override reason required", field="overrideReason")
    if gate.status not in ("pending", "failed") or gate.status == request.status:
        raise ConflictError(
            f"gate {gate.id} is already {gate.status}", gate=gate.id, status=gate.status, completedBy=gate.completed_by
        )
    return msgspec.structs.replace(
        gate,
        status=request.status,
        override_reason=reason or None,
        completed_by=check_actor(request.actor),
        completed_at=now,
        updated_at=now,
    )
