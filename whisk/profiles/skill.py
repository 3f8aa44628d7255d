"""A skill: a folder with a SKILL.md that tells an agent how to do something."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import yaml

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.values import Record

FILE_NAME = "SKILL.md"
FILE_LIMIT = 256 * 1024
NAME_LIMIT = 200
DESCRIPTION_LIMIT = 4096


class Skill(Record, frozen=True):
    """`provider`s are the agents that read this folder; `file_count` counts everything in it."""

    id: str
    name: str
    providers: tuple[str, ...]
    source_kind: str
    source_label: str
    root_path: str
    directory_path: str
    skill_file_path: str
    file_count: int
    updated_at: Instant
    description: str = ""


class SkillSource(Record, frozen=True):
    """A folder that was looked through. `skipped_reason` says what in it was not taken, and why."""

    id: str
    label: str
    path: str
    kind: str
    providers: tuple[str, ...]
    exists: bool
    skipped_reason: str = ""


class SkillCatalog(Record, frozen=True):
    skills: tuple[Skill, ...]
    sources: tuple[SkillSource, ...]
    scanned_at: Instant


class Place(NamedTuple):
    """Where skills may be: `depth` is how many folders below it are looked into."""

    id: str
    label: str
    path: str
    kind: str
    providers: tuple[str, ...]
    depth: int = 4


class Head(NamedTuple):
    name: str
    description: str


def places_for(bundled: str, homes: dict[str, str], home: str, project_root: str = "") -> list[Place]:
    """In the order in which they are listed; `homes` are the folders of claude and codex."""
    claude, codex = homes["claude"], homes["codex"]
    both = ("claude", "codex")
    places = [
        Place("bundled", "Whisk", bundled, "bundled", both),
        Place("codex", "Codex", f"{codex}/skills", "user", ("codex",)),
        Place("codex-plugins", "Codex plugins", f"{codex}/plugins/cache", "plugin", ("codex",), 9),
        Place("claude", "Claude Code", f"{claude}/skills", "user", ("claude",)),
        Place("agents", "Agents", f"{home}/.agents/skills", "user", both),
    ]
    if project_root:
        places.append(Place("project", "Project", f"{project_root}/skills", "project", both))
        places.append(Place("project-claude", "Project", f"{project_root}/.claude/skills", "project", ("claude",)))
    return places


def skill_id(path: str) -> str:
    """Of the path of its file."""
    return hashlib.sha1(path.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()[:16]


def read_head(text: str, folder: str) -> Head:
    """The name and description of a SKILL.md's front matter; the folder's name stands in for a missing one.

    Raises `InvalidError` for front matter that is not YAML, or is no mapping.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return Head(folder, "")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        raise InvalidError("its front matter does not end")
    try:
        # The C loader where there is one; both make plain values only.
        head = yaml.load("\n".join(lines[1:end]), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidError(f"its front matter is not YAML: {str(error).splitlines()[0]}") from None
    if head is None:
        return Head(folder, "")
    if not isinstance(head, dict):
        raise InvalidError("its front matter is no mapping")
    return Head(_text(head.get("name"), NAME_LIMIT) or folder, _text(head.get("description"), DESCRIPTION_LIMIT))


def _text(value: object, limit: int) -> str:
    if not isinstance(value, str):
        return ""
    # YAML can name half of a surrogate pair, which is no text.
    return " ".join(value.encode("utf-8", "replace").decode().split())[:limit]
