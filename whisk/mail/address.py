"""Mail addresses: `kind:id`, such as `run:run_01J9…`."""

from __future__ import annotations

from collections.abc import Iterable

from whisk.errors import InvalidError
from whisk.values import Record, check_text

CONCRETE_KINDS = ("pty", "run", "session", "work-item", "project", "peer")
SELECTOR_KINDS = ("@project", "@work-item", "@idle")

ID_LIMIT = 200

_ALIASES = {
    **{kind: kind for kind in (*CONCRETE_KINDS, *SELECTOR_KINDS)},
    "workitem": "work-item",
    "work_item": "work-item",
    "@workitem": "@work-item",
    "@work_item": "@work-item",
}


class MailAddress(Record, frozen=True):
    """Where mail is from or for. As text it is `kind:id`, which is also the name of the actor it stands for.

    A kind that begins with `@` is a selector: a recipient that is replaced by concrete addresses before storage.
    """

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @property
    def is_selector(self) -> bool:
        return self.kind.startswith("@")


def parse_address(text: str) -> MailAddress:
    """Read `kind:id`, in any case of the kind and with its aliases; selectors too. Raises `InvalidError`."""
    stripped = text.strip()
    if not stripped:
        raise InvalidError("mail address required", expected="kind:id")
    kind, colon, id_ = stripped.partition(":")
    kind = kind.strip().lower()
    if not colon and kind in SELECTOR_KINDS:
        raise InvalidError(f"mail selector {kind} needs an id", expected=f"{kind}:<id>")
    if not colon:
        raise InvalidError(f"mail address must be kind:id, not {_shown(stripped)}", expected="kind:id")
    if not kind:
        raise InvalidError("mail address kind required", expected="kind:id")
    return MailAddress(kind=_known_kind(_ALIASES.get(kind, kind)), id=_checked_id(id_.strip()))


def check_address(address: MailAddress | str) -> MailAddress:
    """An address from JSON: an object must already be canonical, text may be anything `parse_address` reads."""
    if isinstance(address, str):
        return parse_address(address)
    if not address.kind:
        raise InvalidError("mail address kind required", expected="kind:id")
    _known_kind(address.kind)
    _checked_id(address.id)
    return address


def unique(addresses: Iterable[MailAddress]) -> tuple[MailAddress, ...]:
    """Without repetitions, in the order of first appearance."""
    return tuple(dict.fromkeys(addresses))


def _known_kind(kind: str) -> str:
    if kind not in CONCRETE_KINDS and kind not in SELECTOR_KINDS:
        raise InvalidError(
            f"unsupported mail address kind {_shown(kind)}", kinds=[*CONCRETE_KINDS, *SELECTOR_KINDS], kind=kind
        )
    return kind


def _checked_id(id_: str) -> str:
    if not id_:
        raise InvalidError("mail address id required", expected="kind:id")
    check_text(id_, "mail address id", limit=ID_LIMIT)
    # Not printable: control and format characters, which could make two addresses look alike, and odd spaces.
    if any(char in ",:" or char.isspace() or not char.isprintable() for char in id_):
        raise InvalidError(f"invalid mail address id {_shown(id_)}: no spaces, commas, colons or control characters")
    return id_


def _shown(text: str) -> str:
    """Quoted for a one-line error: short, and harmless to a terminal."""
    short = text if len(text) <= 60 else text[:59] + "…"
    return '"' + "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short) + '"'
