"""A prompt as a person reads it: who asks, what exactly, and how to answer."""

from __future__ import annotations

import json
import shlex
from typing import Any

from whisk.cli.moment import moment


def describe(prompt: dict[str, Any]) -> str:
    """Several lines. Nothing is cut: what an agent wants to run must be readable to the end."""
    lines = [f"{prompt['id']}  {prompt['kind']}  {prompt['provider']} {prompt['eventName']}  {_state(prompt)}"]
    place = [prompt.get(name, "") for name in ("ptyId", "runId", "cwd")]
    if any(place):
        lines.append("  ".join(each for each in place if each))
    if prompt.get("questions"):
        for question in prompt["questions"]:
            lines += ["", *_question(question)]
    elif prompt.get("form") or prompt.get("url"):
        lines += ["", *_form(prompt)]
    else:
        lines += ["", prompt.get("toolName") or prompt["message"]]
        lines += [f"  {line}" for line in _input(prompt.get("toolInput") or {})]
    if prompt["status"] == "pending":
        lines += ["", f"whisk prompt resolve {prompt['id']} {_how(prompt)}"]
    return "\n".join(lines)


def _state(prompt: dict[str, Any]) -> str:
    if prompt["status"] == "pending":
        return f"pending until {moment(prompt['expiresAt'])}"
    told = prompt.get("answer") or prompt.get("reason") or ""
    said = f"{prompt['outcome']} by {prompt.get('answeredBy') or 'nobody'}"
    rule = f" ({prompt['ruleId']})" if prompt.get("ruleId") else ""
    # Both when an agent seemed to obey and then did otherwise: the later news counts.
    applied = ", overruled" if prompt.get("overruledAt") else ", applied" if prompt.get("appliedAt") else ""
    return said + rule + (f": {told}" if told else "") + applied


def _question(question: dict[str, Any]) -> list[str]:
    header = f"{question['header']}: " if question.get("header") else ""
    several = "  (several may be chosen)" if question["multiSelect"] else ""
    width = max((len(option["label"]) for option in question["options"]), default=0)
    lines = [f"{header}{question['question']}{several}"]
    for number, option in enumerate(question["options"], 1):
        lines.append(f"  {number}. {option['label']:<{width}}  {option.get('description', '')}".rstrip())
    return lines


def _form(prompt: dict[str, Any]) -> list[str]:
    lines = [f"{prompt.get('server') or 'An MCP server'}: {prompt['message']}"]
    if prompt.get("url"):
        lines.append(f"  {prompt['url']}")
    for field in prompt.get("form", ()):
        needed = "required" if field.get("required") else "optional"
        choices = f", one of {', '.join(field['choices'])}" if field.get("choices") else ""
        about = f"  {field['description']}" if field.get("description") else ""
        default = f", default {json.dumps(field['default'])}" if field.get("default") is not None else ""
        lines.append(f"  {field['name']} ({field['kind']}, {needed}{choices}{default}){about}")
    return lines


def _input(tool_input: dict[str, Any]) -> list[str]:
    """The input as `name: value`; a text of several lines is indented below its name."""
    lines: list[str] = []
    for name, value in tool_input.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *rest = text.split("\n")
        lines += [f"{name}: {first}", *(f"    {line}" for line in rest)]
    return lines


def _how(prompt: dict[str, Any]) -> str:
    """The options of an answer, with the first choice of everything as the example."""
    if prompt.get("questions"):
        firsts = [each["options"][0]["label"] if each["options"] else "..." for each in prompt["questions"]]
        return " ".join(f"-answer {shlex.quote(first)}" for first in firsts)
    if prompt.get("form"):
        fields = [shlex.quote("<" + field["name"] + ">") for field in prompt["form"]]
        return " ".join(f"-answer {field}" for field in fields) + "   (or -deny, or -action cancel)"
    if prompt["kind"] == "approval":
        return "-answer allow   (or -deny -reason ...)"
    return "-action accept   (or decline, cancel)"
