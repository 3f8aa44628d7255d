"""Policies: rules that allow, deny or ask for a tool call without a person. Deny beats ask, ask beats allow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from whisk.bridges.rule import Rule, allows, names, parse_rule, touches
from whisk.clock import Instant
from whisk.errors import ConflictError, InvalidError
from whisk.hooks.provider import PROVIDERS
from whisk.ids import new_id
from whisk.matters.audit import Surface
from whisk.values import Record, check_text

Effect = Literal["allow", "deny", "ask"]

_STRONGEST_FIRST: tuple[Effect, ...] = ("deny", "ask", "allow")
OWN_TOOLS = "mcp__whisk__"
"""Whisk's own tools are never held up by whisk."""


class Policy(Record, frozen=True):
    """`provider` and `project_id` narrow a rule; empty means any. `reason` is what the agent reads on a denial."""

    id: str
    effect: Effect
    rule: str
    created_at: Instant
    provider: str = ""
    project_id: str = ""
    reason: str = ""
    created_by: str = ""


class PolicyDraft(Record, frozen=True):
    """A rule as a person gives it."""

    wire_name: ClassVar[str] = "AddPolicyRequest"

    effect: Effect
    rule: str
    provider: str = ""
    project_id: str = ""
    reason: str = ""
    actor: str = ""
    surface: Surface = ""


class RemovePolicy(Record, frozen=True):
    """Who removes a rule."""

    actor: str = ""


class Verdict(Record, frozen=True):
    """`why` follows "denied by the rule", where the rule alone does not explain it."""

    effect: Effect
    policy: Policy
    why: str = ""

    def message(self) -> str:
        """What the agent reads when this verdict denies: a rule speaks, not a person."""
        said = f"Denied by the whisk rule {self.policy.rule} ({self.policy.id}){self.why}."
        return f"{said} {self.policy.reason}".strip()


def new_policy(draft: PolicyDraft, now: Instant) -> Policy:
    """The checked rule with its id; `InvalidError` says what is wrong with it."""
    parse_rule(draft.rule)
    if draft.provider and draft.provider not in PROVIDERS:
        raise InvalidError(
            f"unknown provider {draft.provider!r}; known are {', '.join(PROVIDERS)}", providers=list(PROVIDERS)
        )
    check_text(draft.reason, "reason", limit=4096)
    check_text(draft.actor, "actor", limit=256)
    return Policy(
        id=new_id("pol"),
        effect=draft.effect,
        rule=draft.rule.strip(),
        created_at=now,
        provider=draft.provider,
        project_id=draft.project_id,
        reason=draft.reason.strip(),
        created_by=draft.actor,
    )


def find_same(policies: Iterable[Policy], wanted: Policy) -> Policy | None:
    """The policy that decides just what `wanted` would; `ConflictError` when it gives another reason for it."""
    for policy in policies:
        if all(getattr(policy, name) == getattr(wanted, name) for name in ("effect", "rule", "provider", "project_id")):
            if policy.reason != wanted.reason:
                raise ConflictError(f"{policy.id} is this rule with another reason; remove it first", id=policy.id)
            return policy
    return None


def judge(
    policies: Iterable[Policy], provider: str, project_id: str, tool: str, tool_input: dict[str, Any], cwd: str
) -> Verdict | None:
    """The strongest rule that matches this call, the oldest of equals; None when there is none."""
    if tool.startswith(OWN_TOOLS):
        return None
    mine = [
        policy
        for policy in sorted(policies, key=lambda policy: policy.id)
        if policy.provider in ("", provider) and policy.project_id in ("", project_id)
    ]
    for effect in _STRONGEST_FIRST:
        for policy in mine:
            if policy.effect == effect and _matches(effect, parse_rule(policy.rule), tool, tool_input, cwd):
                return Verdict(effect=effect, policy=policy)
    return None


def judge_unread(policies: Iterable[Policy], provider: str, project_id: str, tool: str) -> Verdict | None:
    """The verdict on a call of which only the tool is known: denied by any rule that might deny it or ask.

    Nobody can be asked about a call that cannot be shown.
    """
    for policy in sorted(policies, key=lambda policy: (_STRONGEST_FIRST.index(policy.effect), policy.id)):
        named = policy.provider in ("", provider) and policy.project_id in ("", project_id)
        if policy.effect != "allow" and named and names(parse_rule(policy.rule), tool):
            return Verdict(effect="deny", policy=policy, why=", because the call could not be read")
    return None


def _matches(effect: Effect, rule: Rule, tool: str, tool_input: dict[str, Any], cwd: str) -> bool:
    return (allows if effect == "allow" else touches)(rule, tool, tool_input, cwd)
