"""Which hooks whisk puts into which agent's settings: events, status lines, time-outs, the command."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Literal

from whisk.errors import InvalidError
from whisk.hooks.install.hook_document import Group

ProviderName = Literal["claude", "codex"]

_TOOL_USE = "Whisk checking tool use"
_PERMISSION = "Whisk checking permission request"
_COMPACTION = "Whisk recording compaction"
# Events at which an agent may be held until a person answers; the others are only reported.
DECIDING = frozenset({"PreToolUse", "PermissionRequest", "Elicitation"})
PASSIVE_SECONDS = 15
"""More than the relay takes at worst (10 s for a large payload), so that it ends by itself."""
_SHORTEST = {("codex", "SessionEnd"): 3, ("codex", "Interrupt"): 3, ("claude", "SessionEnd"): 10}
"""Codex clamps these two to 3 s. Claude Code gives a SessionEnd hook 1.5 s unless it asks for more."""

_EVENTS: dict[str, dict[str, str]] = {
    "claude": {
        "SessionStart": "Whisk recording session start",
        "UserPromptSubmit": "Whisk recording prompt",
        "PreToolUse": _TOOL_USE,
        "PermissionRequest": _PERMISSION,
        "Elicitation": "Whisk recording question",
        "PostToolUse": "Whisk recording tool result",
        "Notification": "Whisk recording notification",
        "ElicitationResult": "Whisk recording question result",
        "PostToolUseFailure": "Whisk recording tool failure",
        "Stop": "Whisk recording stop",
        "StopFailure": "Whisk recording stop failure",
        "SessionEnd": "Whisk recording session end",
        "PreCompact": _COMPACTION,
        "PostCompact": _COMPACTION,
    },
    "codex": {
        "PreToolUse": _TOOL_USE,
        "PermissionRequest": _PERMISSION,
        "PostToolUse": "Whisk recording tool result",
        "SessionStart": "Whisk recording session start",
        "SessionEnd": "Whisk recording session end",
        "UserPromptSubmit": "Whisk recording prompt",
        "PreCompact": _COMPACTION,
        "PostCompact": _COMPACTION,
        "SubagentStart": "Whisk recording subagent start",
        "SubagentStop": "Whisk recording subagent stop",
        "Interrupt": "Whisk recording interrupt",
        "Stop": "Whisk recording stop",
    },
}
_MATCHERS = {
    # Without idle_prompt an interrupted turn would look like a working one: Esc fires no hook.
    ("claude", "Notification"): (
        "permission_prompt|elicitation_dialog|elicitation_complete|elicitation_response|idle_prompt"
    )
}
_PLAIN = re.compile(r"[A-Za-z0-9/._:-]+")


@dataclass(frozen=True, slots=True)
class Target:
    """An agent's files: `folder` is relative to the home unless the variable `variable` names one."""

    provider: str
    title: str
    variable: str
    folder: str
    file: str
    program: str


TARGETS: dict[str, Target] = {
    "claude": Target("claude", "Claude Code", "CLAUDE_CONFIG_DIR", ".claude", "settings.json", "claude"),
    "codex": Target("codex", "Codex", "CODEX_HOME", ".codex", "hooks.json", "codex"),
}


def find_target(provider: str) -> Target:
    """Raises `InvalidError` for an agent whose hooks whisk does not install."""
    if provider not in TARGETS:
        known = ", ".join(TARGETS)
        raise InvalidError(f'unsupported agent hook provider "{provider}"; whisk installs hooks for {known}')
    return TARGETS[provider]


def command_for(provider: str, helper: str) -> str:
    """The command line as agents run it, through a shell: quoted only where it must be."""
    program = helper if _PLAIN.fullmatch(helper) else "'" + helper.replace("'", "'\\''") + "'"
    return f"{program} agent-bridge hook -provider {provider}"


def groups_for(provider: str, helper: str, limit: float) -> dict[str, Group]:
    """One group per event. `limit` is how long a deciding hook may run, in seconds, as whisk's settings say."""
    command = command_for(provider, helper)
    groups: dict[str, Group] = {}
    for event, status in _EVENTS[provider].items():
        seconds = int(limit) if event in DECIDING else _SHORTEST.get((provider, event), PASSIVE_SECONDS)
        hook = {"type": "command", "command": command, "timeout": max(seconds, 1), "statusMessage": status}
        matcher = _MATCHERS.get((provider, event))
        groups[event] = {"hooks": [hook]} if matcher is None else {"matcher": matcher, "hooks": [hook]}
    return groups


def snippet_for(groups: dict[str, Group]) -> str:
    """What a person may merge by hand where whisk must not write."""
    return json.dumps({"hooks": {event: [group] for event, group in groups.items()}}, indent=2, ensure_ascii=False)


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
