"""From a profile and a prompt to what is executed: argv, environment, and text to type once it runs.

Arguments are a list from here to `execve`; nothing is ever quoted for a shell. A prompt is substituted once and never
looked at again, so `${HOME}` or `{system}` inside a prompt stays what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from whisk.errors import RefusedError
from whisk.profiles.profile import Argument, Profile
from whisk.values import Record, check_text

_WELL_KNOWN = ("/opt/homebrew/bin", "/usr/local/bin", "~/.local/bin", "~/bin")
# One argument of a process is at most 128 KiB on Linux, its terminating NUL included.
_ARGUMENT_LIMIT = 131_071
_PLACEHOLDER = re.compile(r"\{(prompt|system)(:toml)?\}|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class Launch(Record, frozen=True):
    """`env` is what the profile adds to the child's environment; `typed` goes into the terminal after the start."""

    argv: tuple[str, ...]
    env: dict[str, str]
    typed: str = ""


def launch(profile: Profile, prompt: str, system_prompt: str, environ: Mapping[str, str]) -> Launch:
    """`environ` is where `${NAME}` is looked up, and whose PATH the child's is made from.

    A profile whose mode is `none` is not given the prompt: its program asks for its work itself. Raises `RefusedError`
    when the profile needs a variable that is not set; `TooLargeError` and `InvalidError` for a prompt that no argument
    can hold.
    """
    check_text(prompt, "prompt", limit=_ARGUMENT_LIMIT)
    check_text(system_prompt, "systemPrompt", limit=_ARGUMENT_LIMIT)
    mode = profile.info.prompt_injection_mode
    if system_prompt and profile.system == "prompt":
        prompt = f"{system_prompt}\n\n{prompt}" if prompt else system_prompt
    fill = _Filler(profile, prompt, system_prompt, environ)
    argv: list[str] = []
    for argument in profile.argv:
        argv.extend(fill.argument(argument))
    for word in argv:
        check_text(word, "prompt", limit=_ARGUMENT_LIMIT)
    env = {name: fill.text(value) for name, value in profile.env.items()}
    # Agents are installed in places that a service manager's PATH does not know.
    env.setdefault("PATH", search_path(environ))
    return Launch(argv=tuple(argv), env=env, typed=f"{prompt}\n" if prompt and mode == "stdin-after-start" else "")


class _Filler:
    def __init__(self, profile: Profile, prompt: str, system: str, environ: Mapping[str, str]) -> None:
        self._profile = profile
        self._texts = {"prompt": prompt, "system": system if profile.system == "argument" else ""}
        self._environ = environ

    def argument(self, argument: Argument) -> tuple[str, ...]:
        words = (argument,) if isinstance(argument, str) else argument
        names = {match[1] for word in words for match in _PLACEHOLDER.finditer(word) if match[1]}
        if any(not self._texts[name] for name in names):
            return ()
        if argument == "{prompt}" and self._texts["prompt"].startswith("-") and self._profile.end_of_options:
            return (self._profile.end_of_options, self._texts["prompt"])
        return tuple(self.text(word) for word in words)

    def text(self, template: str) -> str:
        return _PLACEHOLDER.sub(self._value, template)

    def _value(self, match: re.Match[str]) -> str:
        placeholder, as_toml, variable, default = match.groups()
        if placeholder:
            text = self._texts[placeholder]
            return _toml(text) if as_toml else text
        value = self._environ.get(variable) or default
        if value is None:
            raise RefusedError(
                f"profile {self._profile.id} needs {variable}, which is not set where whiskd was started",
                profile=self._profile.id,
                variable=variable,
            )
        return value


def _toml(text: str) -> str:
    """A TOML basic string. JSON escapes are TOML's too; only DEL, which JSON leaves alone, needs one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def search_path(environ: Mapping[str, str]) -> str:
    """The PATH, with the places where people install agents added at its end if they are missing.

    At the end, so that what the person put first (a version manager, a wrapper) is still what runs.
    """
    home = environ.get("HOME", "")
    parts = [part for part in environ.get("PATH", "").split(":") if part] or ["/usr/bin", "/bin"]
    for place in _WELL_KNOWN:
        if place.startswith("/"):
            parts.append(place)
        elif home:
            parts.append(home + place[1:])
    return ":".join(dict.fromkeys(parts))
