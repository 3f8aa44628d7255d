"""What a person may let whisk add to their agents, how each of it stands, and what became of what was asked for."""

from __future__ import annotations

from typing import ClassVar, Literal

from whisk.errors import InvalidError
from whisk.hooks.install.standing import Status
from whisk.values import Record

Kind = Literal["daemon", "hook", "skill"]
Outcome = Literal["applied", "unchanged", "refused"]


class OnboardingItem(Record, frozen=True):
    """`result` and `detail` say what became of an item that was to be applied."""

    wire_name: ClassVar[str] = "Item"

    id: str
    kind: Kind
    label: str
    target: str
    status: Status
    selected_by_default: bool
    description: str = ""
    version: str = ""
    installed_version: str = ""
    latest_version: str = ""
    hash: str = ""
    installed_hash: str = ""
    path: str = ""
    detail: str = ""
    result: Outcome | None = None


class OnboardingStatus(Record, frozen=True):
    """`should_show` when something that suits this machine is not in place."""

    items: tuple[OnboardingItem, ...]
    should_show: bool
    local_daemon: bool
    state_path: str


def skill_status(installed: str | None, shipped: str, remembered: str, digests: tuple[str, str]) -> Status:
    """Of a skill's file; `digests` are those of both texts, `remembered` that of what whisk wrote last."""
    if installed is None:
        return "missing"
    if installed == shipped:
        return "current"
    return "outdated" if remembered and digests[0] == remembered else "modified"


def check_ids(asked: list[str], known: list[str]) -> list[str]:
    """The asked ids, each once; raises `InvalidError` for one that is none, before anything is applied."""
    for each in asked:
        if each not in known:
            raise InvalidError(f'no onboarding item "{each}"; there are {", ".join(known)}', item=each)
    return list(dict.fromkeys(asked))
