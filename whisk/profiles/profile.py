"""What an agent profile is: the wire's description of it, and the recipe for its command line.

A recipe is data, so a profile of the config file is worth as much as a built-in one. Its arguments may hold
`{prompt}`, `{system}` and `${NAME}` or `${NAME:-default}` (the daemon's environment); an argument that is a list is
dropped as a whole when a placeholder in it has no text to stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec

from whisk.errors import InvalidError
from whisk.values import Record, check_text, convert

PromptMode = Literal["argv", "flag-prompt", "flag-prompt-interactive", "stdin-after-start", "none"]
Argument = str | tuple[str, ...]
Preset = Literal["reader", "writer", "reviewer", "manager"]

PLAIN_SHELL = "plain-shell"
_PROFILE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PRESET_DEFAULT: dict[Preset, str] = {
    "reader": "claude-plan",
    "writer": "claude",
    "reviewer": "claude",
    "manager": "claude",
}


class AgentProfile(Record, frozen=True):
    """`installed` and `path` say whether the program was found when the list was made."""

    id: str
    provider: str
    label: str
    source: Literal["builtin", "config"]
    launchable: bool
    prompt_injection_mode: PromptMode
    description: str | None = None
    launch_blocked_reason: str | None = None
    detect_cmd: str | None = None
    detect_aliases: tuple[str, ...] = ()
    expected_process: str | None = None
    hook_provider: str | None = None
    preflight_trust: str | None = None
    ready_signal: str | None = None
    installed: bool | None = None
    path: str | None = None


class DetectedAgent(Record, frozen=True):
    """A profile whose program is on the PATH, and where."""

    profile_id: str
    provider: str
    label: str
    detect_command: str
    path: str


class Profile(Record, frozen=True):
    """A profile with its recipe. `system` says where a system prompt goes when one is given."""

    info: AgentProfile
    argv: tuple[Argument, ...]
    env: dict[str, str] = {}
    system: Literal["argument", "prompt", "ignored"] = "ignored"
    # Written before a prompt that begins with a dash, so that no prompt is ever taken for an option.
    end_of_options: str = "--"

    @property
    def id(self) -> str:
        return self.info.id


class ProfileTable(Record, frozen=True, forbid_unknown_fields=True, rename=None):
    """`[profiles.<id>]` of the config file. A `{prompt}` in `argv` is enough; the rest has defaults.

    `prompt_injection = "none"` is for a program that is not given its prompt but asks whisk for its work.
    """

    argv: tuple[Argument, ...]
    provider: str = ""
    label: str = ""
    description: str = ""
    env: dict[str, str] = {}
    prompt_injection: PromptMode | None = None
    system_prompt: Literal["argument", "prompt", "ignored"] | None = None
    end_of_options: str = "--"
    detect: tuple[str, ...] = ()
    hook_provider: str = ""


def custom_profile(profile_id: str, table: Mapping[str, Any]) -> Profile:
    """Read one `[profiles.<id>]`. Raises `InvalidError` that names the table and what is wrong in it."""
    place = f"profiles.{profile_id}"
    if not _PROFILE_ID.fullmatch(profile_id):
        raise InvalidError(f"{place}: an id has small letters, digits, '.', '_' and '-'", profile=profile_id)
    try:
        read = convert(dict(table), ProfileTable)
    except InvalidError as error:
        raise InvalidError(f"{place}: {error.message}", profile=profile_id) from error
    words = [word for argument in read.argv for word in ((argument,) if isinstance(argument, str) else argument)]
    if not words or not words[0] or not isinstance(read.argv[0], str):
        raise InvalidError(f"{place}: argv must begin with the program", profile=profile_id)
    for word in (*words, *read.env, *read.env.values()):
        check_text(word, place)
    mode = _mode(place, words, read)
    takes_system = any("{system" in word for word in words)
    system = read.system_prompt or ("argument" if takes_system else "ignored" if mode == "none" else "prompt")
    if (system == "argument") != takes_system:
        raise InvalidError(f"{place}: system_prompt is {system!r}, which does not fit argv", profile=profile_id)
    if system == "prompt" and mode == "none":
        raise InvalidError(f"{place}: a system prompt has no prompt to go with", profile=profile_id)
    detect = read.detect or ((words[0],) if "$" not in words[0] else ())
    info = AgentProfile(
        id=profile_id,
        provider=read.provider or profile_id,
        label=read.label or profile_id,
        source="config",
        launchable=True,
        prompt_injection_mode=mode,
        description=read.description or None,
        detect_cmd=detect[0] if detect else None,
        detect_aliases=detect[1:],
        expected_process=words[0].rpartition("/")[2] if "$" not in words[0] else None,
        hook_provider=read.hook_provider or None,
    )
    return Profile(info=info, argv=read.argv, env=read.env, system=system, end_of_options=read.end_of_options)


def _mode(place: str, words: list[str], read: ProfileTable) -> PromptMode:
    holds = sum("{prompt}" in word for word in words)
    if holds > 1:
        raise InvalidError(f"{place}: argv holds {{prompt}} {holds} times")
    mode = read.prompt_injection or ("argv" if holds else "stdin-after-start")
    if holds and mode in ("stdin-after-start", "none"):
        raise InvalidError(f"{place}: argv holds {{prompt}}, but prompt_injection is {mode!r}")
    if not holds and mode not in ("stdin-after-start", "none"):
        raise InvalidError(f"{place}: prompt_injection is {mode!r}, but argv holds no {{prompt}}")
    return mode


def merge(builtin: Iterable[Profile], custom: Mapping[str, Mapping[str, Any]]) -> tuple[Profile, ...]:
    """The built-in profiles in their order, then the config file's; one of the same id takes the built-in's place."""
    table = {profile.id: profile for profile in builtin}
    for profile_id, values in custom.items():
        table[profile_id] = custom_profile(profile_id, values)
    return tuple(table.values())


def find(profiles: Iterable[Profile], profile_id: str) -> Profile:
    known = []
    for profile in profiles:
        if profile.id == profile_id:
            return profile
        known.append(profile.id)
    raise InvalidError(f'unknown agent profile "{profile_id}"', field="agentProfileId", known=known)


def choose(
    profiles: Iterable[Profile], explicit: str, preset: str, project_defaults: Mapping[str, str] | None = None
) -> Profile:
    """Which profile a run gets: the one asked for, else the project's for this preset, else the preset's own.

    A reader never gets a Codex that may write: `codex` becomes `codex-plan` there. Raises `InvalidError` for an
    unknown profile; an unknown preset falls back to the plain shell.
    """
    known = tuple(profiles)
    usual = _PRESET_DEFAULT[preset] if preset in get_args(Preset) else PLAIN_SHELL  # type: ignore[index]
    chosen = explicit or (project_defaults or {}).get(preset, "") or usual
    if preset == "reader" and chosen == "codex":
        chosen = "codex-plan"
    return find(known, chosen)


def described(profile: Profile, path: str | None) -> AgentProfile:
    """The wire record with what was found out about the program. A shell is always there."""
    if profile.info.detect_cmd is None:
        return msgspec.structs.replace(profile.info, installed=True)
    return msgspec.structs.replace(profile.info, installed=path is not None, path=path)
