"""The profiles that come with whisk, in the order in which they are shown.

What each command line takes was tried on the real programs: Claude Code 2.1.197, Codex 0.171.0, Gemini CLI 0.61.0,
OpenCode 1.18.33. A test pins every command line.
"""

from __future__ import annotations

from whisk.profiles.profile import AgentProfile, Argument, Profile, PromptMode

_CLAUDE_SYSTEM = ("--append-system-prompt", "{system}")
# The value is TOML to Codex, so it is written as a TOML string. `instructions` would replace the whole of Codex's own
# 21 KiB prompt; `developer_instructions` is added to it.
_CODEX_SYSTEM = ("-c", "developer_instructions={system:toml}")
# Otherwise the TUI hands its work to a daemon that outlives it, and hooks run with the environment of whichever TUI
# came first: the bridge credentials in them would be another terminal's.
_CODEX_OWN_PROCESS = ("-c", "features.daemon_auto_start=false")
_HAIKU = "~anthropic/claude-haiku-latest"


def _agent(
    profile_id: str,
    provider: str,
    label: str,
    description: str,
    *argv: Argument,
    command: str,
    mode: PromptMode = "argv",
    env: dict[str, str] | None = None,
    system: str = "argument",
    hooks: str | None = None,
    trust: str | None = None,
    ready: str | None = None,
) -> Profile:
    info = AgentProfile(
        id=profile_id,
        provider=provider,
        label=label,
        source="builtin",
        launchable=True,
        prompt_injection_mode=mode,
        description=description,
        detect_cmd=command,
        expected_process=command,
        hook_provider=hooks,
        preflight_trust=trust,
        ready_signal=ready,
    )
    return Profile(
        info=info, argv=(command, *argv), env=env or {}, system="argument" if system == "argument" else "prompt"
    )


def _shell(profile_id: str, label: str, description: str, program: str) -> Profile:
    info = AgentProfile(
        id=profile_id,
        provider="shell",
        label=label,
        source="builtin",
        launchable=True,
        prompt_injection_mode="stdin-after-start",
        description=description,
    )
    return Profile(info=info, argv=(program,))


BUILTIN: tuple[Profile, ...] = (
    _agent(
        "claude",
        "claude",
        "Claude Code",
        "Claude Code in its own window",
        _CLAUDE_SYSTEM,
        "{prompt}",
        command="claude",
        hooks="claude",
    ),
    _agent(
        "claude-plan",
        "claude",
        "Claude Code (plan)",
        "Claude Code in plan mode: it reads and plans, and changes nothing",
        "--permission-mode",
        "plan",
        _CLAUDE_SYSTEM,
        "{prompt}",
        command="claude",
        hooks="claude",
    ),
    _agent(
        "claude-openrouter",
        "claude",
        "Claude Code (OpenRouter)",
        "Claude Code through OpenRouter: prints one answer and ends",
        "--print",
        "--max-budget-usd",
        "0.05",
        # With a blank instead of '=' this option takes every word behind it, and so the prompt, for tool names.
        "--allowedTools=Bash(whisk question ask*)",
        _CLAUDE_SYSTEM,
        "{prompt}",
        command="claude",
        hooks="claude",
        env={
            "ANTHROPIC_BASE_URL": "https://openrouter.ai/api",
            "ANTHROPIC_AUTH_TOKEN": "${OPENROUTER_API_KEY}",
            # Set and empty: a key of the daemon's own environment would win over the token.
            "ANTHROPIC_API_KEY": "",
            "ANTHROPIC_DEFAULT_OPUS_MODEL": f"${{ANTHROPIC_DEFAULT_OPUS_MODEL:-{_HAIKU}}}",
            "ANTHROPIC_DEFAULT_SONNET_MODEL": f"${{ANTHROPIC_DEFAULT_SONNET_MODEL:-{_HAIKU}}}",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": f"${{ANTHROPIC_DEFAULT_HAIKU_MODEL:-{_HAIKU}}}",
            "CLAUDE_CODE_SUBAGENT_MODEL": f"${{CLAUDE_CODE_SUBAGENT_MODEL:-{_HAIKU}}}",
        },
    ),
    _agent(
        "codex",
        "codex",
        "Codex",
        "Codex in its own window",
        *_CODEX_OWN_PROCESS,
        _CODEX_SYSTEM,
        "{prompt}",
        command="codex",
        hooks="codex",
        trust="codex",
        ready="codex-composer-prompt",
    ),
    _agent(
        "codex-plan",
        "codex",
        "Codex (plan)",
        "Codex in a read-only sandbox",
        "--sandbox",
        "read-only",
        *_CODEX_OWN_PROCESS,
        _CODEX_SYSTEM,
        "{prompt}",
        command="codex",
        hooks="codex",
        trust="codex",
        ready="codex-composer-prompt",
    ),
    _agent(
        "gemini",
        "gemini",
        "Gemini CLI",
        "Gemini CLI in its own window",
        # One word: `--prompt-interactive -x` is a usage error there.
        ("--prompt-interactive={prompt}",),
        command="gemini",
        mode="flag-prompt-interactive",
        system="prompt",
    ),
    _agent(
        "opencode",
        "opencode",
        "OpenCode",
        "OpenCode in its own window",
        ("--prompt={prompt}",),
        command="opencode",
        mode="flag-prompt",
        system="prompt",
    ),
    _shell("plain-shell", "Shell", "your shell", "${SHELL:-sh}"),
    _shell("prompt-capture", "Prompt capture", "cat: shows the prompt that an agent would get", "cat"),
)
