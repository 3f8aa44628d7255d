"""The options with which a terminal is started, shared by the commands that start one."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.failure import UsageError

TERMINAL_OPTIONS = """\
  --command=<text>        Typed into the shell that is started.
  --agent-profile=<id>    Start this agent instead of a shell; see `whisk agent profiles`.
  --prompt=<text>         The agent's first prompt.
  --system-prompt=<text>  What the agent is told beside its own system prompt.
  --env=<name=value>      A variable of its environment; may be repeated.
  --cols=<n>              Columns; 80 unless said otherwise.
  --rows=<n>              Rows; 24 unless said otherwise.
"""


def start_options(args: Arguments, program: list[str] | None = None) -> dict[str, Any]:
    """`StartPTYOptions` of the wire; `program` is run as it is, without a shell."""
    options: dict[str, Any] = {}
    for name, key in (("cols", "cols"), ("rows", "rows")):
        if (number := args.number(name, least=1)) is not None:
            options[key] = number
    env = {}
    for pair in args.many("env"):
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"-env is written NAME=value, not {pair!r}")
        env[name] = value
    if env:
        options["env"] = env
    command, profile = args.text("command"), args.text("agent-profile")
    ways = {"-command": command, "-agent-profile": profile, "a program": program}
    chosen = [way for way, value in ways.items() if value]
    if len(chosen) > 1:
        raise UsageError(f"give {chosen[0]} or {chosen[1]}, not both")
    if command:
        options["command"] = command
    if program:
        options.update(command=program[0], args=program[1:], exec=True)
    if profile:
        options["agentProfileId"] = profile
    for name, key in (("prompt", "prompt"), ("system-prompt", "systemPrompt")):
        if (text := args.text(name)) is not None:
            if not profile:
                raise UsageError(f"-{name} is for an agent; name one with -agent-profile")
            options[key] = text
    return options
