"""The settings file: typed TOML. What is not understood is refused with its place, never skipped.

```toml
[daemon]
addr = "127.0.0.1:8787"

[terminal]
ring-bytes = 1048576

[prompts]
wait = "10m"
then = "ask"
```
Keys are written with dashes, durations as `500ms`, `10s`, `1m30s`, `2h` or as seconds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from whisk.errors import InvalidError

DEFAULT_ADDR = "127.0.0.1:8787"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Seconds(float):
    """A duration."""

    @classmethod
    def parse(cls, text: str) -> Seconds:
        parts = _DURATION.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(f"expected a duration such as 500ms, 10s or 1m30s, got {text!r}")
        return cls(sum(float(number) * _UNITS[unit] for number, unit in parts))


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Base of the tables of the settings file."""


class DaemonSettings(Section, frozen=True):
    """`allow_remote` permits an `addr` that other machines can reach; `host_names` are names they may call it by."""

    addr: str = DEFAULT_ADDR
    allow_remote: bool = False
    host_names: tuple[str, ...] = ()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_bytes: int = 1024 * 1024
    drain: Seconds = Seconds(8)


class TerminalSettings(Section, frozen=True):
    """What is kept of each terminal's output: in memory, and on disk."""

    ring_bytes: int = 1024 * 1024
    transcript_bytes: int = 64 * 1024 * 1024


class PromptSettings(Section, frozen=True):
    """How long a hook waits for a person, and what happens then."""

    wait: Seconds = Seconds(600)
    then: Literal["ask", "deny", "default", "never"] = "ask"
    default_answer: str = ""


class Settings(Section, frozen=True):
    daemon: DaemonSettings = DaemonSettings()
    terminal: TerminalSettings = TerminalSettings()
    prompts: PromptSettings = PromptSettings()
    profiles: dict[str, dict[str, Any]] = {}


def load(path: Path) -> Settings:
    """The settings in `path`; the defaults when there is no such file.

    Raises `InvalidError` with the file, the place in it, and what is expected there.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise InvalidError(f"cannot read the settings {path}: {error.strerror}", path=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path} is not TOML: {error}", path=str(path)) from error
    return read(data, str(path))


def read(data: Mapping[str, Any], source: str) -> Settings:
    """`load` for what has been parsed already."""
    _check_names(data, Settings, source, "")
    try:
        return msgspec.convert(data, Settings, dec_hook=_decode)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        place = place.strip(".`") or "the file"
        raise InvalidError(f"{source}: {place}: {what[:1].lower()}{what[1:]}", path=source, place=place) from error


def check_addr(addr: str, *, allow_remote: bool) -> tuple[str, int]:
    """Host and port of `addr`; raises `InvalidError`, also for an address that needs permission and lacks it."""
    host, colon, port = addr.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise InvalidError(f"the address must be host:port, such as {DEFAULT_ADDR}, not {addr!r}", addr=addr)
    if not allow_remote and not is_loopback(host):
        raise InvalidError(
            f"{host} can be reached from other machines, and whoever holds the control token can run programs here;"
            " if that is wanted, say -allow-remote or set daemon.allow-remote = true",
            addr=addr,
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    return host in _LOOPBACK or (host.startswith("127.") and host.count(".") == 3)


def _check_names(data: Mapping[str, Any], kind: type, source: str, place: str) -> None:
    """Refuse unknown keys. msgspec would too, but it cannot say which key was meant."""
    known = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    hints = get_type_hints(kind)
    for key, value in data.items():
        where = f"{place}{key}"
        if key not in known:
            near = get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.5)
            hint = f"did you mean {place}{near[0]}?" if near else f"known here: {', '.join(known)}"
            raise InvalidError(f"{source}: {where}: unknown setting; {hint}", path=source, place=where)
        inner = hints[known[key]]
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, Section):
            _check_names(value, inner, source, f"{where}.")
        elif isinstance(value, dict) and get_origin(inner) is dict and _is_section(get_args(inner)[1]):
            for name, table in value.items():
                if isinstance(table, dict):
                    _check_names(table, get_args(inner)[1], source, f"{where}.{name}.")


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _decode(kind: type, value: Any) -> Any:
    if kind is not Seconds:
        raise TypeError(f"cannot read {kind.__name__}")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return Seconds(value)
    if isinstance(value, str):
        return Seconds.parse(value)
    raise ValueError(f"expected a duration such as 10s, got {value!r}")
