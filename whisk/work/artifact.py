"""An artifact: a text that the work on an item produces and people decide about: a plan, feedback, a gate's report."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from whisk.clock import Instant
from whisk.errors import ConflictError
from whisk.values import Record, check_text
from whisk.work.attachment import MetadataValue
from whisk.work.definition import ArtifactEffect, ArtifactKind, ArtifactStatus
from whisk.work.person import check_actor

TITLE_LIMIT = 512
# A plan becomes part of an agent's prompt, and feedback of a mail; both end at 64 KiB.
BODY_LIMIT = 65_536
_TITLES: dict[ArtifactKind, str] = {"plan": "Plan", "feedback": "Review feedback", "gate_report": "Gate report"}


class Artifact(Record, frozen=True):
    """`created_by` is who wrote it, `decided_by` who brought it into the status it has."""

    wire_name: ClassVar[str] = "Artifact"

    id: str
    project_id: str
    work_item_id: str
    kind: ArtifactKind
    status: ArtifactStatus
    created_at: Instant
    updated_at: Instant
    run_id: str | None = None
    title: str | None = None
    body: str | None = None
    metadata: dict[str, MetadataValue] = {}
    created_by: str | None = None
    decided_by: str | None = None


def new_artifact(
    effect: ArtifactEffect,
    *,
    artifact_id: str,
    project_id: str,
    work_item_id: str,
    run_id: str | None,
    title: str,
    body: str,
    actor: str | None,
    now: Instant,
) -> Artifact:
    """Raises `InvalidError` for an empty body, `TooLargeError` for a long one."""
    return Artifact(
        id=artifact_id,
        project_id=project_id,
        work_item_id=work_item_id,
        kind=effect.kind,
        status=effect.status,
        created_at=now,
        updated_at=now,
        run_id=run_id,
        title=check_text(title.strip(), "title", limit=TITLE_LIMIT) or _TITLES[effect.kind],
        body=check_text(body, f"{effect.kind} body", limit=BODY_LIMIT, empty=False),
        created_by=check_actor(actor),
    )


def decide(artifact: Artifact, status: ArtifactStatus, actor: str | None, now: Instant) -> Artifact:
    """Bring it into another status. Once it is there, `ConflictError` names who did it."""
    if artifact.status == status:
        raise ConflictError(
            f"{artifact.kind} {artifact.id} is already {status}",
            artifact=artifact.id,
            status=status,
            decidedBy=artifact.decided_by,
        )
    return msgspec.structs.replace(artifact, status=status, decided_by=check_actor(actor), updated_at=now)
