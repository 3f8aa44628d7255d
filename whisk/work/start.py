"""How a terminal in a pane is started: the options of the wire, and for whom it is started."""

from __future__ import annotations

from typing import ClassVar

from whisk.errors import InvalidError
from whisk.values import Record, check_text

DEFAULT_COLS = 80
DEFAULT_ROWS = 24
# One argument of a new process is at most 128 KiB on Linux (MAX_ARG_STRLEN), its NUL included.
MAX_ARGUMENT = 131_071


class AgentBridgeOptions(Record, frozen=True):
    """Whether the child's hooks may wait for a person's decision."""

    wire_name: ClassVar[str] = "StartPTYAgentBridgeOptions"

    enabled: bool
    provider: str = ""


class StartPtyOptions(Record, frozen=True):
    """With `exec` the command and its arguments are run as they are, never through a shell. Otherwise a shell is
    started and `command`, when there is one, is typed into it. `agent_profile_id` starts an agent instead, with
    `prompt` and `system_prompt` placed as its profile says.
    """

    cols: int = DEFAULT_COLS
    rows: int = DEFAULT_ROWS
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    exec: bool = False
    agent_bridge: AgentBridgeOptions | None = None
    agent_profile_id: str = ""
    prompt: str = ""
    system_prompt: str = ""


class LaunchContext(Record, frozen=True):
    """For whom a terminal is started; every text that is set becomes a variable of the child's environment.

    `login_shell`: an agent is started through the person's login shell.
    """

    project_id: str | None = None
    project_root: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    actor: str | None = None
    agent_profile_id: str | None = None
    login_shell: bool = False


class BridgeRequest(Record, frozen=True):
    """Ask for the credentials with which the hooks of one terminal will call back."""

    provider: str
    session_id: str
    pty_id: str
    context: LaunchContext = LaunchContext()


class BridgeCredentials(Record, frozen=True):
    """What the child gets; only the hash of the token is ever stored."""

    bridge_id: str
    token: str
    provider: str


def check_start(options: StartPtyOptions) -> StartPtyOptions:
    """Refuse options that no process could be started with, before anything is stored or spawned.

    Sizes are checked by the terminal itself, which has the one rule for start and resize. Raises `InvalidError`, or
    `TooLargeError` for an argument above 128 KiB.
    """
    check_text(options.command, "command", limit=MAX_ARGUMENT)
    for position, argument in enumerate(options.args):
        check_text(argument, f"args[{position}]", limit=MAX_ARGUMENT)
    for name, value in options.env.items():
        check_text(name, "env name", empty=False, limit=1024)
        check_text(value, f"env {name}", limit=MAX_ARGUMENT - len(name.encode()) - 1)
        if "=" in name:
            raise InvalidError(f"env name {name!r} holds '='", field="env")
    check_text(options.prompt, "prompt", limit=MAX_ARGUMENT)
    check_text(options.system_prompt, "systemPrompt", limit=MAX_ARGUMENT)
    if options.agent_profile_id and (options.command or options.args or options.exec):
        raise InvalidError("give either agentProfileId or a command, not both", field="agentProfileId")
    if options.exec and not options.command:
        raise InvalidError("exec needs a command", field="command")
    if options.args and not options.exec:
        # Without exec the command is typed into a shell; arguments would have to be quoted for a shell we do not know.
        raise InvalidError("args need exec: a command without exec is typed into a shell as it is", field="args")
    return options
