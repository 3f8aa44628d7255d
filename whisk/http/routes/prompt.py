"""Prompts and approvals: what agents wait for, and the answers of people."""

from __future__ import annotations

from typing import Annotated, ClassVar, get_args

import msgspec

from whisk.actors.bridge import BridgeHandle
from whisk.actors.future import Future, get
from whisk.bridges.prompt import STATUS, AgentBridgeApproval, AgentPrompt, approval_of, prompt_of
from whisk.bridges.request import BridgeRequest, State, taken
from whisk.bridges.resolution import Action, Resolution
from whisk.errors import ActorDeadError, BusyError, InvalidError, NoSuchActorError, NotFoundError, WhiskError
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.matters.audit import Surface
from whisk.storage import bridge as bridge_storage
from whisk.values import Record

_ANSWER_LIMIT = 16 * 1024 * 1024
_STATES: tuple[State, ...] = get_args(State)


class PromptFilter(Record, frozen=True):
    """`status` is a status or an outcome, or several joined by commas; empty for all. `limit`: of the newest."""

    status: list[str] = []
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class ResolveApproval(Record, frozen=True):
    wire_name: ClassVar[str] = "ResolveAgentBridgeApprovalRequest"

    action: Action
    reason: str = ""
    actor: str = ""
    pty_id: str = ""
    surface: Surface = ""


def list_prompts(api: Api, request: Request[None, PromptFilter]) -> list[AgentPrompt]:
    return [prompt_of(each) for each in _list(api, request.query)]


def show_prompt(api: Api, request: Request[None, None]) -> AgentPrompt:
    return prompt_of(_find(api, request.path["prompt_id"]))


def resolve_prompt(api: Api, request: Request[Resolution, None]) -> AgentPrompt:
    actor = _actor(api, request.path["prompt_id"])
    return prompt_of(_outcome(api, request.path["prompt_id"], actor.resolve.remote(request.body)))


def release_prompt(api: Api, request: Request[Resolution, None]) -> AgentPrompt:
    actor = _actor(api, request.path["prompt_id"])
    return prompt_of(_outcome(api, request.path["prompt_id"], actor.release.remote(request.body)))


def list_approvals(api: Api, request: Request[None, PromptFilter]) -> list[AgentBridgeApproval]:
    return [approval_of(each) for each in _list(api, request.query) if each.is_approval]


def resolve_approval(api: Api, request: Request[ResolveApproval, None]) -> AgentBridgeApproval:
    approval_id, said = request.path["approval_id"], request.body
    if not approval_id.startswith("appr_"):
        raise NotFoundError(f"approval {approval_id} not found", id=approval_id)
    answer = Resolution(
        action=said.action, reason=said.reason, actor=said.actor, pty_id=said.pty_id, surface=said.surface
    )
    return approval_of(_outcome(api, approval_id, _actor(api, approval_id).resolve.remote(answer)))


def _list(api: Api, wanted: PromptFilter) -> list[BridgeRequest]:
    states: list[State] = []
    for word in wanted.status:
        meant = [state for state in _STATES if word in (state, STATUS[state])]
        if not meant and word:
            choices = sorted({*_STATES, *STATUS.values()})
            raise InvalidError(f"unknown status {word!r}; known are {', '.join(choices)}", choices=choices)
        states += meant
    return api.store.read(lambda db: bridge_storage.list_requests(db, states or None, wanted.limit))


def _find(api: Api, request_id: str) -> BridgeRequest:
    return api.store.read(lambda db: bridge_storage.REQUESTS.get(db, request_id))


def _actor(api: Api, request_id: str) -> BridgeHandle:
    return BridgeHandle(f"bridge:{request_id}", api.system.node, api.system)


def _outcome(api: Api, request_id: str, reply: Future[BridgeRequest]) -> BridgeRequest:
    try:
        return get(reply)
    except (NoSuchActorError, ActorDeadError):
        # A request's actor ends with its request; the record says how.
        raise _past(_find(api, request_id)) from None


def _past(found: BridgeRequest) -> WhiskError:
    if found.closing is None:
        return BusyError(f"{found.id} is being restored; try again in a moment", id=found.id)
    return taken(found)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/agent-prompts",
        list_prompts,
        "List prompts",
        query=PromptFilter,
        reply=list[AgentPrompt],
        operation="listAgentPrompts",
    ),
    Route(
        "GET",
        "/v1/agent-prompts/{prompt_id}",
        show_prompt,
        "Show a prompt",
        reply=AgentPrompt,
        operation="getAgentPrompt",
    ),
    Route(
        "POST",
        "/v1/agent-prompts/{prompt_id}/resolve",
        resolve_prompt,
        "Answer a prompt; the first answer stands",
        body=Resolution,
        reply=AgentPrompt,
        body_limit=_ANSWER_LIMIT,
        operation="resolveAgentPrompt",
    ),
    Route(
        "POST",
        "/v1/agent-prompts/{prompt_id}/release",
        release_prompt,
        "Let the agent ask in its own window",
        body=Resolution,
        reply=AgentPrompt,
        operation="releaseAgentPrompt",
    ),
    Route(
        "GET",
        "/v1/agent-bridge-approvals",
        list_approvals,
        "List approvals",
        query=PromptFilter,
        reply=list[AgentBridgeApproval],
        operation="listAgentBridgeApprovals",
    ),
    Route(
        "POST",
        "/v1/agent-bridge-approvals/{approval_id}/resolve",
        resolve_approval,
        "Allow or deny an approval",
        body=ResolveApproval,
        reply=AgentBridgeApproval,
        operation="resolveAgentBridgeApproval",
    ),
)
