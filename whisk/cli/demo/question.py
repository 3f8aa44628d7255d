"""The question that the builder asks, as Claude Code would bring it to a hook."""

from __future__ import annotations

import json
import os

QUESTION = "Which output format should the flag print?"
OPTIONS = ("JSON", "JSON lines", "YAML")


def hook_payload() -> str:
    """What Claude Code gives a PreToolUse hook before it shows an AskUserQuestion."""
    options = [{"label": label, "description": f"Print {label}"} for label in OPTIONS]
    return json.dumps(
        {
            "session_id": "00000000-0000-4000-8000-00000000d300",
            "transcript_path": os.path.join(os.getcwd(), "transcript.jsonl"),
            "cwd": os.getcwd(),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "AskUserQuestion",
            "tool_input": {
                "questions": [{"question": QUESTION, "header": "Format", "options": options, "multiSelect": False}]
            },
            "tool_use_id": "toolu_demo",
        }
    )
