"""Hooks that call the daemon: the relay's raw bytes, and JSON from other clients, on one way through."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from whisk.bridges.bridge import HOOK_PROTOCOL
from whisk.bridges.prompt import HookDecision
from whisk.bridges.resolution import Resolution, resolve
from whisk.errors import InvalidError
from whisk.hooks.answer import ApprovalAsk
from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent
from whisk.hooks.provider import find_provider, write_answer
from whisk.http import relay
from whisk.http.api import Api
from whisk.http.reply import Stream, Text
from whisk.http.route import Request, Route
from whisk.values import Record

RELAY_LIMIT = 16 * 1024 * 1024
_RELAY_TYPE = "application/octet-stream"


class AgentBridgeHookRequest(Record, frozen=True):
    """A hook as JSON. What stands beside `rawPayload` wins over what is in it."""

    event_name: str
    token: str = ""
    provider: str = ""
    hook_protocol: int | None = None
    tool_name: str = ""
    tool_input: dict[str, Any] | None = None
    tool_output: str = ""
    message: str = ""
    notification_type: str = ""
    elicitation_id: str = ""
    action: str = ""
    session_id: str = ""
    pty_id: str = ""
    raw_payload: dict[str, Any] | None = None
    decision: HookDecision | None = None


class AgentBridgeHookResponse(Record, frozen=True):
    """`output` is what the hook should print; absent when it should print nothing."""

    output: dict[str, Any] | None = None


def relay_hook(api: Api, request: Request[bytes, None]) -> Text | Stream:
    context = relay.context_of(request)
    override = relay.text_header(request, "Whisk-Hook-Event")
    token = relay.text_header(request, "Whisk-Bridge-Token")
    named = relay.text_header(request, "Whisk-Provider")
    event = relay.read_event(relay.provider_of(api, named, context.bridge_id), request.body, override)
    if not (context.bridge_id and token):
        # Nobody waits for news: it is told and written in its own time.
        relay.keeper(api).note.tell(event, msgspec.structs.replace(context, bridge_id=""))
        return Text(relay.netstring(""), _RELAY_TYPE)
    relay_id = relay.text_header(request, "Whisk-Hook-Request")
    outcome = relay.call_hook(api, request, context, token, event, relay_id=relay_id)
    if outcome.request_id:
        return Stream(relay.wait_in_stream(api, request, outcome), _RELAY_TYPE)
    return Text(relay.netstring(outcome.output), _RELAY_TYPE)


def call_hook(api: Api, request: Request[AgentBridgeHookRequest, None]) -> AgentBridgeHookResponse:
    """Blocks until the hook has its answer."""
    sent = request.body
    bridge_id = request.path["bridge_id"]
    event = event_of(sent, relay.provider_of(api, sent.provider, bridge_id))
    context = context_of(sent, bridge_id)
    if sent.decision is not None and sent.decision.action:
        return _decided(event, sent.decision)
    outcome = relay.call_hook(api, request, context, sent.token, event)
    output = relay.wait_at_once(api, request, outcome) if outcome.request_id else outcome.output
    return AgentBridgeHookResponse(output=json.loads(output) if output else None)


def event_of(sent: AgentBridgeHookRequest, provider: str) -> HookEvent:
    """The same event that the raw payload would have made."""
    if not sent.event_name.strip():
        raise InvalidError("event name required", field="eventName")
    beside = {
        "hook_event_name": sent.event_name,
        "tool_name": sent.tool_name,
        "tool_input": sent.tool_input,
        "tool_response": sent.tool_output,
        "message": sent.message,
        "notification_type": sent.notification_type,
        "elicitation_id": sent.elicitation_id,
        "action": sent.action,
    }
    payload = {**(sent.raw_payload or {}), **{name: value for name, value in beside.items() if value}}
    return relay.read_event(provider, json.dumps(payload).encode(), sent.event_name)


def context_of(sent: AgentBridgeHookRequest, bridge_id: str = "") -> HookContext:
    surroundings = (sent.raw_payload or {}).get("whisk")
    around: dict[str, Any] = surroundings if isinstance(surroundings, dict) else {}

    def known(name: str) -> str:
        value = around.get(name)
        return value if isinstance(value, str) else ""

    return HookContext(
        bridge_id=bridge_id,
        session_id=sent.session_id or known("sessionId"),
        pty_id=sent.pty_id or known("ptyId"),
        run_id=known("runId"),
        project_id=known("projectId"),
        work_item_id=known("workItemId"),
        actor=known("actor"),
        protocol=HOOK_PROTOCOL if sent.hook_protocol is None else sent.hook_protocol,
    )


def _decided(event: HookEvent, decision: HookDecision) -> AgentBridgeHookResponse:
    """A caller that has decided by itself only wants the agent's words for it."""
    ask = find_provider(event.provider).ask_of(event)
    if not isinstance(ask, ApprovalAsk):
        raise InvalidError(f"{event.provider} takes no decision at {event.name}", event=event.name)
    answer = resolve(ask, Resolution(answer=decision.action, reason=decision.reason))
    output = write_answer(answer)
    return AgentBridgeHookResponse(output=json.loads(output) if output else None)


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/hook-relay",
        relay_hook,
        "Relay an agent's hook: raw payload in, lines of waiting and one netstring out",
        body=bytes,
        reply=Stream,
        body_limit=RELAY_LIMIT,
        stream=True,
        operation="relayHook",
        media="application/octet-stream",
    ),
    Route(
        "POST",
        "/v1/agent-bridges/{bridge_id}/hooks",
        call_hook,
        "Run an agent's hook; a decision blocks until it is made",
        body=AgentBridgeHookRequest,
        reply=AgentBridgeHookResponse,
        body_limit=RELAY_LIMIT,
        operation="agentBridgeHook",
    ),
)
