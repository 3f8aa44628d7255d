"""The settings file: typed TOML. What is not understood is refused with its place, never skipped.

```toml
[daemon]
addr = "127.0.0.1:8787"

[terminal]
ring_bytes = 1048576
transcript_total_bytes = 1073741824

[prompts]
limit = "10m"
after = "ask"

[mail]
max_hops = 64
max_per_minute = 60

[profiles.aider]
argv = ["aider", "--message", "{prompt}"]
```
Durations are written as `500ms`, `10s`, `1m30s`, `2h`, or as a number of seconds.
"""

from __future__ import annotations

import functools
import operator
import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from whisk.bridges.setting import After, PromptSettings
from whisk.errors import InvalidError
from whisk.mail.thread import LoopGuard
from whisk.matters.notice import NoticeKind, NotifySettings
from whisk.matters.setting import WebhookSettings
from whisk.profiles.builtin import BUILTIN
from whisk.profiles.profile import Profile, ProfileTable, merge

DEFAULT_ADDR = "127.0.0.1:8787"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_KIB = 1024


class Seconds(float):
    """A duration."""

    @classmethod
    def parse(cls, text: str) -> Seconds:
        parts = _DURATION.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(f"expected a duration such as 500ms, 10s or 1m30s, got {text!r}")
        return cls(sum(float(number) * _UNITS[unit] for number, unit in parts))


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables of the settings file."""


class DaemonTable(Table, frozen=True):
    """`allow_remote` permits an `addr` that other machines can reach; `host_names` are names they may call it by.

    `drain` is how long a stop waits for what is under way.
    """

    addr: str = DEFAULT_ADDR
    allow_remote: bool = False
    host_names: tuple[str, ...] = ()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_bytes: int = 1024 * _KIB
    drain: Seconds = Seconds(3)


class TerminalTable(Table, frozen=True):
    """How much of each terminal's output is kept: in memory, and on disk. Of those that have ended, all transcripts
    together take `transcript_total_bytes`, and `history_terminals` are remembered when their session is closed.
    """

    ring_bytes: int = 1024 * _KIB
    transcript_bytes: int = 16 * 1024 * _KIB
    transcript_total_bytes: Annotated[int, msgspec.Meta(ge=0)] = 1024 * 1024 * _KIB
    history_terminals: Annotated[int, msgspec.Meta(ge=0)] = 5000


class PromptTable(Table, frozen=True):
    """See `whisk.bridges.setting.PromptSettings`."""

    limit: Seconds | None = None
    after: After = "ask"
    default_answer: str = ""
    hook_limits: dict[str, Seconds] = {}
    margin: Seconds = Seconds(PromptSettings().margin)
    detach_grace: Seconds = Seconds(PromptSettings().detach_grace)
    orphan_grace: Seconds = Seconds(PromptSettings().orphan_grace)


class MailTable(Table, frozen=True):
    """When agents that answer each other automatically are stopped; 0 switches a limit off. See `LoopGuard`."""

    max_hops: Annotated[int, msgspec.Meta(ge=0)] = LoopGuard().max_hops
    max_per_minute: Annotated[int, msgspec.Meta(ge=0)] = LoopGuard().max_per_minute


class AuditTable(Table, frozen=True):
    """For how many days entries of the audit trail are kept; 0 keeps them for ever."""

    keep_days: Annotated[int, msgspec.Meta(ge=0)] = 365


class WebhookTable(Table, frozen=True):
    """See `whisk.matters.setting.WebhookSettings`."""

    timeout: Seconds = Seconds(WebhookSettings().timeout)
    attempts: Annotated[int, msgspec.Meta(ge=1)] = WebhookSettings().attempts
    retry_first: Seconds = Seconds(WebhookSettings().retry_first)
    retry_most: Seconds = Seconds(WebhookSettings().retry_most)


class NotifyTable(Table, frozen=True):
    """See `whisk.matters.notice.NotifySettings`."""

    urls: tuple[str, ...] = ()
    kinds: tuple[NoticeKind, ...] = NotifySettings().kinds
    delay: Seconds = Seconds(NotifySettings().delay)
    cooldown: Seconds = Seconds(NotifySettings().cooldown)
    quiet: tuple[str, ...] = ()
    timeout: Seconds = Seconds(NotifySettings().timeout)
    link: str = ""


class _File(Table, frozen=True):
    daemon: DaemonTable = DaemonTable()
    terminal: TerminalTable = TerminalTable()
    prompts: PromptTable = PromptTable()
    mail: MailTable = MailTable()
    audit: AuditTable = AuditTable()
    webhooks: WebhookTable = WebhookTable()
    notify: NotifyTable = NotifyTable()
    profiles: dict[str, ProfileTable] = {}


class Settings(msgspec.Struct, frozen=True):
    """What the file says, as the parts of the daemon take it; `profiles` holds the built-in ones too."""

    daemon: DaemonTable = DaemonTable()
    terminal: TerminalTable = TerminalTable()
    prompts: PromptSettings = PromptSettings()
    mail: LoopGuard = LoopGuard()
    profiles: tuple[Profile, ...] = BUILTIN
    audit: AuditTable = AuditTable()
    webhooks: WebhookSettings = WebhookSettings()
    notify: NotifySettings = NotifySettings()


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
    _check_names(data, _File, source, "")
    try:
        file = msgspec.convert(data, _File, dec_hook=_decode)
    except msgspec.ValidationError as error:
        what, _, _ = str(error).partition(" - at `$")
        place = _named_place(data, _place(error)) or "the file"
        raise InvalidError(f"{source}: {place}: {what[:1].lower()}{what[1:]}", path=source, place=place) from error
    place = "prompts"
    try:
        prompts = PromptSettings(**msgspec.structs.asdict(file.prompts))
        place = "notify"
        notify = NotifySettings(**msgspec.structs.asdict(file.notify))
        # A profile's own message begins with its place already.
        place = ""
        profiles = merge(BUILTIN, data.get("profiles", {}))
    except InvalidError as error:
        message = ": ".join(part for part in (source, place, error.message) if part)
        raise InvalidError(message, path=source, place=place or "profiles", **error.details) from error
    guard = LoopGuard(max_hops=file.mail.max_hops, max_per_minute=file.mail.max_per_minute)
    webhooks = WebhookSettings(**msgspec.structs.asdict(file.webhooks))
    return Settings(file.daemon, file.terminal, prompts, guard, profiles, file.audit, webhooks, notify)


def check_addr(addr: str, *, allow_remote: bool) -> tuple[str, int]:
    """Host and port of `addr`; raises `InvalidError`, also for an address that needs permission and lacks it."""
    host, colon, port = addr.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise InvalidError(f"the address must be host:port, such as {DEFAULT_ADDR}, not {addr!r}", addr=addr)
    if not allow_remote and not is_loopback(host):
        raise InvalidError(
            f"{host} can be reached from other machines, and whoever holds the control token can run programs here;"
            " if that is wanted, say -allow-remote or set daemon.allow_remote = true",
            addr=addr,
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.count(".") == 3)


def _check_names(data: Mapping[str, Any], kind: type[msgspec.Struct], source: str, place: str) -> None:
    """Refuse unknown keys. msgspec would too, but it cannot say which key was meant."""
    hints = get_type_hints(kind)
    for key, value in data.items():
        where = f"{place}{key}"
        if key not in hints:
            near = get_close_matches(key.replace("-", "_"), hints, n=1, cutoff=0.5)
            hint = f"did you mean {place}{near[0]}?" if near else f"known here: {', '.join(hints)}"
            raise InvalidError(f"{source}: {where}: unknown setting; {hint}", path=source, place=where)
        inner = hints[key]
        if isinstance(value, dict) and _is_table(inner):
            _check_names(value, inner, source, f"{where}.")
        elif isinstance(value, dict) and get_origin(inner) is dict and _is_table(get_args(inner)[1]):
            for name, table in value.items():
                if isinstance(table, dict):
                    _check_names(table, get_args(inner)[1], source, f"{where}.{name}.")


def _named_place(data: Mapping[str, Any], place: str) -> str:
    """`place` with the names for which msgspec says `[...]`: those of entries that are refused without the others."""
    *tables, rest = place.split("[...]")
    keys: list[str] = []
    for table in tables:
        keys += table.strip(".").split(".")
        entries = functools.reduce(operator.getitem, keys, data)
        for name in entries:
            alone = _replaced(data, keys, {name: entries[name]})
            if _refused_at(alone) == place:
                break
        else:
            return place
        keys.append(name)
        data = alone
    return ".".join(keys) + rest


def _replaced(data: Mapping[str, Any], keys: Sequence[str], value: Any) -> Any:
    """A copy of `data` with `value` at `keys`."""
    return {**data, keys[0]: _replaced(data[keys[0]], keys[1:], value)} if keys else value


def _refused_at(data: Mapping[str, Any]) -> str | None:
    try:
        msgspec.convert(data, _File, dec_hook=_decode)
    except msgspec.ValidationError as error:
        return _place(error)
    return None


def _place(error: msgspec.ValidationError) -> str:
    return str(error).partition(" - at `$")[2].strip(".`")


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _decode(kind: type, value: Any) -> Any:
    if kind is not Seconds:
        raise TypeError(f"cannot read {kind.__name__}")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return Seconds(value)
    if isinstance(value, str):
        return Seconds.parse(value)
    raise ValueError(f"expected a duration such as 10s, got {value!r}")
