"""What a command was given, with typed access; every complaint names the option and what would be right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from whisk.cli.failure import UsageError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|us|h|m|s)?")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


class Arguments:
    """Options by name without dashes (`work-item`), positionals by name without brackets (`pty`)."""

    def __init__(self, values: Mapping[str, Any], env: Mapping[str, str]) -> None:
        self._values = {key.lstrip("-").strip("<>"): value for key, value in values.items()}
        self._env = env

    def flag(self, name: str) -> bool:
        return bool(self._values[name])

    def given(self, name: str) -> bool:
        """Whether the option was on the command line (an empty value counts)."""
        return self._values[name] not in (None, False, [])

    def text(self, name: str, *env_names: str) -> str | None:
        """The value, else the first variable of `env_names` that is not empty, else None."""
        value = self._values[name]
        if value is not None:
            return str(value)
        return next((self._env[key] for key in env_names if self._env.get(key)), None)

    def need(self, name: str, *env_names: str) -> str:
        """`text`, but absent or empty is a usage error."""
        value = self.text(name, *env_names)
        if not value:
            where = f", or set {env_names[0]}" if env_names else ""
            raise UsageError(f"-{name} is required{where}")
        return value

    def many(self, name: str) -> list[str]:
        """A repeatable option or positional: the values in order, as they were typed."""
        value = self._values[name]
        if value is None:
            return []
        return [str(one) for one in value] if isinstance(value, list) else [str(value)]

    def csv(self, name: str) -> list[str]:
        """Comma-separated and repeated values alike, blanks dropped."""
        return [part.strip() for one in self.many(name) for part in one.split(",") if part.strip()]

    def number(self, name: str, default: int | None = None, *, least: int = 0) -> int | None:
        value = self._values[name]
        if value is None:
            return default
        try:
            number = int(value)
        except ValueError:
            raise UsageError(f"-{name} must be a whole number, not {value!r}") from None
        if number < least:
            raise UsageError(f"-{name} must be at least {least}, not {number}")
        return number

    def seconds(self, name: str, default: float | None = None) -> float | None:
        """A duration as Go writes it (`500ms`, `10s`, `1m30s`, `2h`); a bare number means seconds."""
        value = self._values[name]
        return default if value is None else parse_duration(str(value), f"-{name}")


def parse_duration(text: str, what: str) -> float:
    """Seconds; raises `UsageError` that names `what`."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f"{what} must be a duration such as 500ms, 10s or 1m30s, not {text!r}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
