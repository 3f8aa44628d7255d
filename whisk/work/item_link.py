"""Links between the work items of a project.

`blocks` means what it says: the source blocks the target, and the target waits until the source is done.
`parent-child`: the source is the parent. `duplicates` and `supersedes`: the source does it to the target. `related` has
no direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

from whisk.clock import Instant
from whisk.errors import InvalidError, RefusedError
from whisk.values import Record
from whisk.work.dependency import edges_of, find_path
from whisk.work.person import check_actor

LinkType = Literal["blocks", "parent-child", "related", "duplicates", "supersedes"]
# What goes round in a circle here could never be done, or would be its own ancestor or successor.
_ACYCLIC = frozenset[LinkType]({"blocks", "parent-child", "supersedes"})


class ItemLink(Record, frozen=True):
    wire_name: ClassVar[str] = "WorkItemLink"

    id: str
    project_id: str
    source_work_item_id: str
    target_work_item_id: str
    type: LinkType
    created_at: Instant
    created_by: str | None = None


class AddItemLink(Record, frozen=True):
    wire_name: ClassVar[str] = "AddWorkItemLinkRequest"

    source_work_item_id: str
    target_work_item_id: str
    type: str
    actor: str | None = None


def check_type(text: str) -> LinkType:
    if text not in get_args(LinkType):
        known = ", ".join(get_args(LinkType))
        raise InvalidError(f'unknown link type "{text}"; there are {known}', field="type")
    return text  # type: ignore[return-value]


def new_link(
    request: AddItemLink, *, known: Sequence[tuple[str, str]], link_id: str, project_id: str, now: Instant
) -> ItemLink:
    """A link between two items of that project; `known` are the sources and targets of its links of the same type.

    Raises `InvalidError` for an unknown type, `RefusedError` for an item with itself, for a link that there is
    already, for a second parent, and for a circle, whose items are the `cycle` of the details, the first one last.
    """
    kind = check_type(request.type)
    source, target = request.source_work_item_id, request.target_work_item_id
    if source == target:
        raise RefusedError(f"work item {source} cannot be linked to itself", workItem=source)
    same = {(source, target), (target, source)} if kind == "related" else {(source, target)}
    if not same.isdisjoint(known):
        raise RefusedError(f"work item {source} {kind} {target} already", source=source, target=target, type=kind)
    if kind == "parent-child" and (parents := [one for one, child in known if child == target]):
        raise RefusedError(f"work item {target} has a parent already: {parents[0]}", workItem=target, parent=parents[0])
    if kind in _ACYCLIC and (way := find_path(edges_of(known), target, source)):
        cycle = [source, *way]
        raise RefusedError(f"{kind} would go round in a circle: {' → '.join(cycle)}", cycle=cycle, type=kind)
    return ItemLink(
        id=link_id,
        project_id=project_id,
        source_work_item_id=source,
        target_work_item_id=target,
        type=kind,
        created_at=now,
        created_by=check_actor(request.actor),
    )
