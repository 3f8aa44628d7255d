"""A peer: one agent session as its hooks tell of it, from its first event to its end. Pure.

(first event) ─▶ online: idle ⇄ working ⇄ waiting ─▶ offline, with a handoff
                   ▲ └ clear, resume: another conversation of the same peer
                   └── only a session start brings one back that was offline
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from whisk.bridges.prompt import prompt_of
from whisk.bridges.request import BridgeRequest
from whisk.clock import Instant
from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent, HookKind, telling
from whisk.hooks.payload import plain_text
from whisk.hooks.redaction import redact_text
from whisk.hooks.turn import Decision, TurnReport, TurnState, after_decision, turn_state
from whisk.peers.handoff import Cause, Handoff
from whisk.peers.liveness import Process
from whisk.peers.observed_model import ObservedModel, observe
from whisk.values import Record

PeerState = Literal["working", "waiting", "idle", "ended", "unknown"]
TEXT_CHARS = 2000
KEPT_SESSIONS = 20

_ASKED = (HookKind.QUESTION_ASKED, HookKind.ELICITATION_ASKED, HookKind.PERMISSION_ASKED)
# A new conversation in the same agent: what was said before is in the handoff.
REBINDS = frozenset({"clear", "resume"})


class Peer(Record, frozen=True):
    """`id` is whisk's own, `provider_session_id` the agent's, `former_sessions` those that it had before.

    `prompts` are requests of it that a person is waited for. `watched`: its process was seen alive on this machine, so
    that its end will be noticed. `parent` is the peer whose tool started it. Empty ids are not known.
    """

    id: str
    runtime: str
    status: Literal["online", "offline"]
    state: PeerState
    state_at: Instant
    created_at: Instant
    last_seen_at: Instant
    provider_session_id: str
    session_started_at: Instant
    resume_id: str = ""
    former_sessions: tuple[str, ...] = ()
    left_session: bool = False
    model: ObservedModel | None = None
    cwd: str = ""
    transcript: str = ""
    pty_id: str = ""
    tmux_server: str = ""
    tmux_pane: str = ""
    process: Process | None = None
    watched: bool = False
    parent: str = ""
    session_id: str = ""
    run_id: str = ""
    work_item_id: str = ""
    project_id: str = ""
    prompts: tuple[str, ...] = ()
    turns: int = 0
    last_prompt: str = ""
    last_message: str = ""
    open_question: str = ""
    last_error: str = ""
    ended_at: Instant | None = None
    handoff: Handoff | None = None

    @property
    def online(self) -> bool:
        return self.status == "online"


def new_peer(peer_id: str, event: HookEvent, now: Instant, *, parent: str = "", process: Process | None = None) -> Peer:
    """A peer of which `event` is the first sign, and is still to be told by `after_event`."""
    return Peer(
        id=peer_id,
        runtime=event.provider,
        status="online",
        state="unknown",
        state_at=now,
        created_at=now,
        last_seen_at=now,
        provider_session_id=event.session,
        session_started_at=now,
        resume_id=event.session,
        parent=parent,
        process=process,
    )


def bound(peer: Peer, event: HookEvent, now: Instant) -> Peer:
    """The same agent in another conversation, or back online in its old one."""
    if peer.provider_session_id == event.session:
        return msgspec.structs.replace(peer, status="online", ended_at=None, left_session=False, session_started_at=now)
    former = tuple(each for each in peer.former_sessions if each != event.session)
    return msgspec.structs.replace(
        peer,
        status="online",
        ended_at=None,
        state="unknown",
        state_at=now,
        provider_session_id=event.session,
        resume_id=event.session,
        former_sessions=(*former, peer.provider_session_id)[-KEPT_SESSIONS:],
        left_session=False,
        session_started_at=now,
        transcript="",
        turns=0,
        last_prompt="",
        last_message="",
        open_question="",
        last_error="",
    )


def after_event(peer: Peer, event: HookEvent, context: HookContext, now: Instant, *, keep: bool = True) -> Peer:
    """What is known after an event of its conversation. With `keep` false, nothing that the agent said is kept."""
    around = {
        "cwd": event.cwd,
        "transcript": event.transcript,
        "pty_id": context.pty_id,
        "tmux_server": context.tmux_server,
        "tmux_pane": context.tmux_pane,
        "session_id": context.session_id,
        "run_id": context.run_id,
        "work_item_id": context.work_item_id,
        "project_id": context.project_id,
    }
    changes: dict[str, object] = {name: value for name, value in around.items() if value}
    changes |= {"last_seen_at": now, "model": observe(peer.model, event, now)}
    changes |= _state(peer, event, now) | (_said(peer, event) if keep else {})
    if event.kind is HookKind.PROMPT_SUBMITTED:
        changes["turns"] = peer.turns + 1
    found: Peer = msgspec.structs.replace(peer, **changes)
    if event.kind is not HookKind.SESSION_ENDED:
        return found
    if event.reason in REBINDS:
        # The agent goes on; its next conversation says that it is the same one.
        handoff = _handoff(found, now, "session_end", event.reason)
        idle = msgspec.structs.replace(found, state="idle", state_at=now, left_session=True, handoff=handoff)
        return msgspec.structs.replace(idle, open_question="")
    return end(found, now, "session_end", event.reason)


def after_request(peer: Peer, request: BridgeRequest, *, keep: bool = True) -> Peer:
    """What is known when a request of its conversation waits for a person, or has ended."""
    others = tuple(each for each in peer.prompts if each != request.id)
    if not peer.online:
        return peer
    if request.closing is None:
        question = _cut(prompt_of(request).message) if keep else ""
        prompts = (*others, request.id)
        waiting: PeerState = "waiting"
        return msgspec.structs.replace(
            peer, prompts=prompts, state=waiting, state_at=request.created_at, open_question=question
        )
    closing = request.closing
    found = msgspec.structs.replace(peer, prompts=others)
    # What the agent reported after the decision is nearer to the truth.
    if others or closing.at < peer.state_at:
        return found
    asks = closing.action in (None, "ask")
    state = after_decision(Decision(at=closing.at, state=closing.state, reason=closing.reason, asks=asks))
    if state == "no change":
        return found
    question = found.open_question if state == "waiting" else ""
    return msgspec.structs.replace(found, state=state or "unknown", state_at=closing.at, open_question=question)


def only_waiting(peer: Peer, pending: Collection[str], now: Instant) -> Peer:
    """Without the requests that are not `pending` any more: they ended while nobody told of it."""
    left = tuple(each for each in peer.prompts if each in pending)
    if left == peer.prompts:
        return peer
    if left:
        return msgspec.structs.replace(peer, prompts=left)
    return msgspec.structs.replace(peer, prompts=(), state="unknown", state_at=now, open_question="")


def end(peer: Peer, now: Instant, cause: Cause, reason: str = "") -> Peer:
    """Offline, with a handoff; one that is offline stays as it is."""
    if not peer.online:
        return peer
    return msgspec.structs.replace(
        peer,
        status="offline",
        state="ended",
        state_at=now,
        ended_at=now,
        left_session=False,
        prompts=(),
        handoff=_handoff(peer, now, cause, reason),
    )


def told_state(event: HookEvent) -> TurnState | None:
    """The state of the turn after an event; None for one that says nothing of it."""
    report = TurnReport(
        name=event.name,
        at=Instant(0),
        provider=event.provider,
        session=event.session,
        notification=event.notification,
        source=event.source,
    )
    return turn_state(report)


def _state(peer: Peer, event: HookEvent, now: Instant) -> dict[str, object]:
    state = told_state(event)
    if state is None or state == "ended" or peer.prompts:
        # However much is reported meanwhile, a person is waited for.
        return {}
    return {} if state == peer.state else {"state": state, "state_at": now}


def _said(peer: Peer, event: HookEvent) -> dict[str, object]:
    if event.agent and event.kind not in _ASKED:
        # A subagent's words are not its host's.
        return {}
    if event.kind in _ASKED:
        return {"open_question": _cut(_question(event))}
    said: dict[str, object] = {}
    if not peer.prompts and event.kind in (
        *(HookKind.PROMPT_SUBMITTED, HookKind.TOOL_FINISHED, HookKind.TOOL_FAILED, HookKind.TURN_ENDED),
        *(HookKind.TURN_FAILED, HookKind.TURN_INTERRUPTED, HookKind.ELICITATION_ANSWERED),
    ):
        said["open_question"] = ""
    if event.kind is HookKind.PROMPT_SUBMITTED:
        said |= {"last_prompt": _cut(event.message), "last_error": ""}
    elif event.kind is HookKind.TURN_ENDED and event.response:
        said["last_message"] = _cut(event.response)
    elif event.kind is HookKind.TURN_FAILED:
        # Its text is the error's, and never an answer.
        said["last_error"] = _cut(event.error or event.response)
    return said


def _question(event: HookEvent) -> str:
    if event.questions:
        return event.questions[0].text
    if event.elicitation is not None:
        return event.elicitation.message
    if event.tool is not None:
        return f"{event.tool.name}: {plain_text(telling(event.tool.input))}"
    return event.message


def _handoff(peer: Peer, now: Instant, cause: Cause, reason: str) -> Handoff:
    return Handoff(
        at=now,
        cause=cause,
        reason=reason,
        provider_session_id=peer.provider_session_id,
        seconds=max(0.0, round(peer.session_started_at.seconds_until(now), 3)),
        turns=peer.turns,
        model=peer.model.name if peer.model is not None else "",
        last_prompt=peer.last_prompt,
        last_message=peer.last_message,
        open_question=peer.open_question,
        last_error=peer.last_error,
    )


def _cut(text: str) -> str:
    redacted = redact_text(text)
    return redacted if len(redacted) <= TEXT_CHARS else redacted[: TEXT_CHARS - 1] + "…"
