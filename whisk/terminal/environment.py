"""The environment of a child: the daemon's own, without what leaked into it, then the profile's, then the context.

A daemon is often started from inside an agent or another terminal. Variables that say "you run inside agent session
X" or "your terminal is a tmux pane" are true of the daemon's parent and false of its children: an agent that believes
them refuses to start, reports to the wrong session, or talks to the wrong terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from whisk.values import Record

# Everything of ours belongs to one terminal or to the daemon; a child gets its own, and never the daemon's settings
# (a database address may hold a password).
_OURS = re.compile(r"WHISKD?_\w*")

_AGENT = re.compile(
    r"CLAUDECODE|CLAUDE_CODE_(?:ENTRYPOINT|EXECPATH|SSE_PORT|CHILD_SESSION|SESSION_\w+|REMOTE|REMOTE_\w+|TMUX_\w+|TASK_\w+)"
    r"|CLAUDE_(?:PROJECT_DIR|ENV_FILE|PLUGIN_ROOT|PLUGIN_DATA|PID|SESSION_ID|EFFORT)"
    r"|AI_AGENT"
    r"|CODEX_(?:CI|SANDBOX|SANDBOX_\w+|SESSION_ID|THREAD_ID|TOOL_CALL_ID|VERSION|APPLY_PATCH_\w+|INTERNAL_\w+)"
    r"|CODEX_(?:MANAGED_\w+|COMPANION_\w+)"
    r"|GEMINI_(?:CLI|CLI_NO_RELAUNCH|SESSION_ID|PROJECT_DIR|CWD|PLANS_DIR|SANDBOX)"
    r"|ANTIGRAVITY_(?:AGENT|SESSION_ID|CLI\w*)"
    r"|OPENCODE|OPENCODE_(?:PID|SESSION_ID|CALLER|CLIENT|PROCESS_ROLE|RUN_ID|TERMINAL)"
    r"|CURSOR_(?:AGENT|TRACE_ID)|COPILOT_(?:CLI|AGENT_SESSION_ID)|PI_CODING_AGENT"
)

# Only a session of Claude Code itself sets CLAUDECODE. Without it a CLAUDE_CODE_… variable is the person's own
# setting; with it, those that are not known settings are taken for further marks of that session.
_CLAUDE_CODE = re.compile(r"CLAUDE_CODE_\w+")
_CLAUDE_CODE_SETTING = re.compile(
    r"CLAUDE_CODE_(?:USE|SKIP|DISABLE|ENABLE|MAX|API_KEY|CLIENT|AUTO|IDE|SUBAGENT|OAUTH|GIT|SHELL|PROXY|TMPDIR|EFFORT"
    r"|STOP_HOOK|SESSIONEND_HOOKS|EXPERIMENTAL|OTEL|GLOB|PLUGIN|SIMPLE|EXTRA|NEW_INIT|CERT|PERFORCE|SCROLL|RESUME"
    r"|FILE_READ|SCRIPT|DEBUG|ADDITIONAL|ACCESSIBILITY|ATTRIBUTION|BASH|NO)(?:_\w+)?"
)

# What Claude Code and Codex set for the commands they run. People set these too, so they go only beside such a mark,
# and only with the value that the agent gives them.
_HABITS = {
    "COREPACK_ENABLE_AUTO_PIN": "0",
    "GH_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "NO_COLOR": "1",
    "NoDefaultCurrentDirectoryInExePath": "1",
    "PAGER": "cat",
}

_TERMINAL = re.compile(
    r"TMUX|TMUX_PANE|STY|WINDOW|ZELLIJ\w*|TERM_PROGRAM|TERM_PROGRAM_VERSION|TERM_SESSION_ID|LC_TERMINAL"
    r"|LC_TERMINAL_VERSION|ITERM_\w+|KITTY_\w+|WEZTERM_\w+|GHOSTTY_\w+|ALACRITTY_\w+|KONSOLE_\w+|VTE_VERSION|WINDOWID"
    r"|VSCODE_\w+|WT_SESSION|WT_PROFILE_ID|TERMINAL_EMULATOR|INSIDE_EMACS|NVIM|NVIM_LISTEN_ADDRESS"
    r"|COLUMNS|LINES|TERMCAP|SHLVL|OLDPWD|_"
)

# What a service manager says to the daemon alone; a child that believed it would answer in the daemon's name.
_SERVICE = re.compile(r"NOTIFY_SOCKET|WATCHDOG_\w+|LISTEN_(?:FDS|PID|FDNAMES)|INVOCATION_ID|JOURNAL_STREAM|MAINPID")

_DROPPED = (_OURS, _AGENT, _TERMINAL, _SERVICE)


class PtyContext(Record, frozen=True):
    """What a child is told about where it runs; fields that are None are not told."""

    whiskd_url: str
    cli: str
    session_id: str
    pty_id: str
    state_dir: str | None = None
    project_id: str | None = None
    project_root: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    actor: str | None = None
    profile: str | None = None
    bridge_id: str | None = None
    bridge_token: str | None = None
    bridge_provider: str | None = None

    def variables(self) -> dict[str, str]:
        told = {
            "WHISKD_URL": self.whiskd_url,
            "WHISK_CLI": self.cli,
            "WHISK_SESSION": "1",
            "WHISK_SESSION_ID": self.session_id,
            "WHISK_PTY_ID": self.pty_id,
            "WHISK_STATE_DIR": self.state_dir,
            "WHISK_PROJECT_ID": self.project_id,
            "WHISK_PROJECT_ROOT": self.project_root,
            "WHISK_WORK_ITEM_ID": self.work_item_id,
            "WHISK_RUN_ID": self.run_id,
            "WHISK_ACTOR": self.actor,
            "WHISK_AGENT_PROFILE": self.profile,
            "WHISK_AGENT_BRIDGE_ID": self.bridge_id,
            "WHISK_AGENT_BRIDGE_TOKEN": self.bridge_token,
            "WHISK_AGENT_BRIDGE_PROVIDER": self.bridge_provider,
        }
        return {name: value for name, value in told.items() if value is not None}


def scrub(base: Mapping[str, str]) -> dict[str, str]:
    """`base` without the marks of an outer agent, terminal, service manager or whisk. Settings stay: CODEX_HOME,
    GEMINI_API_KEY, CLAUDE_CONFIG_DIR, CLAUDE_CODE_USE_BEDROCK, VIRTUAL_ENV, …
    """
    in_claude = "CLAUDECODE" in base
    in_agent = any(_AGENT.fullmatch(name) for name in base)
    kept = {}
    for name, value in base.items():
        if any(pattern.fullmatch(name) for pattern in _DROPPED):
            continue
        if in_claude and _CLAUDE_CODE.fullmatch(name) and not _CLAUDE_CODE_SETTING.fullmatch(name):
            continue
        if in_agent and _HABITS.get(name) == value:
            continue
        kept[name] = value
    return kept


def build_environment(
    base: Mapping[str, str],
    profile: Mapping[str, str],
    context: PtyContext,
    working_dir: str,
    overrides: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The whole environment of a child; later parts win: scrubbed `base`, `profile`, `overrides` (what the request
    asked for), `context`. PATH begins with the folder of the command line tool, wherever PATH came from.
    """
    env = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    # TERM describes the daemon's own terminal, if it has one; ours is another.
    env |= {name: value for name, value in scrub(base).items() if name not in env}
    env |= {"PWD": working_dir}
    env |= profile
    env |= overrides or {}
    env |= context.variables()
    folder = context.cli.rpartition("/")[0]
    env["PATH"] = join_path([folder, *env.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":")])
    return env


def join_path(folders: Iterable[str]) -> str:
    """Folders joined by ":", the first of equal ones kept, empty ones (the current folder) left out."""
    return ":".join(dict.fromkeys(folder for folder in folders if folder))
