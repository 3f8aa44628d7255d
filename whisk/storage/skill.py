"""Looking for skills on disk, within bounds, and never out of the folder that was asked for. All of it blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from whisk.clock import Clock, Instant
from whisk.errors import InvalidError
from whisk.profiles.skill import FILE_LIMIT, FILE_NAME, Place, Skill, SkillCatalog, SkillSource, read_head, skill_id

MAX_SKILLS = 200
MAX_ENTRIES = 20_000
"""Folder entries that one source may cost, so that a link to a whole disk is not walked."""
_MAX_COUNTED = 1_000


def scan(places: Iterable[Place], clock: Clock) -> SkillCatalog:
    """The skills of all places, 200 at most; a folder that two places lead to is listed once."""
    skills: dict[str, Skill] = {}
    sources = []
    for place in places:
        look = _Look(place)
        for skill in look.find(Path(place.path), place.depth) if os.path.isdir(place.path) else ():
            if len(skills) >= MAX_SKILLS:
                look.skip(f"more than {MAX_SKILLS} skills")
                break
            skills.setdefault(os.path.realpath(skill.skill_file_path), skill)
        sources.append(
            SkillSource(
                id=place.id,
                label=place.label,
                path=place.path,
                kind=place.kind,
                providers=place.providers,
                exists=os.path.isdir(place.path),
                skipped_reason="; ".join(look.skipped),
            )
        )
    return SkillCatalog(skills=tuple(skills.values()), sources=tuple(sources), scanned_at=clock.now())


class _Look:
    """One source: where it ends, what was seen, what was left out."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._root = os.path.realpath(place.path)
        self._seen: set[str] = set()
        self._left = MAX_ENTRIES
        self.skipped: list[str] = []

    def skip(self, why: str) -> None:
        # Enough to see what is wrong.
        if why not in self.skipped and len(self.skipped) < 5:
            self.skipped.append(why)

    def find(self, folder: Path, depth: int) -> Iterator[Skill]:
        real = os.path.realpath(folder)
        if not self._is_inside(real):
            self.skip(f"{folder} leads out of {self._place.path}")
            return
        if not _is_text(str(folder)):
            self.skip(f"{os.fsencode(folder)!r} is not UTF-8")
            return
        if real in self._seen:
            return
        self._seen.add(real)
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError as error:
            self.skip(f"{folder}: {error.strerror}")
            return
        self._left -= len(names)
        if self._left < 0:
            self.skip(f"more than {MAX_ENTRIES} files and folders")
            return
        if FILE_NAME in names:
            if (skill := self._read(folder)) is not None:
                yield skill
            return
        if depth > 0:
            for name in names:
                if os.path.isdir(folder / name) and name not in (".git", "node_modules"):
                    yield from self.find(folder / name, depth - 1)

    def _read(self, folder: Path) -> Skill | None:
        file = folder / FILE_NAME
        try:
            if not self._is_inside(os.path.realpath(file)):
                self.skip(f"{file} leads out of {self._place.path}")
                return None
            if not os.path.isfile(file):
                return None
            found = file.stat()
            if found.st_size > FILE_LIMIT:
                self.skip(f"{file} has more than {FILE_LIMIT} bytes")
                return None
            head = read_head(file.read_bytes()[:FILE_LIMIT].decode("utf-8"), folder.name)
        except (OSError, UnicodeDecodeError, InvalidError) as error:
            self.skip(f"{file}: {error}")
            return None
        place = self._place
        return Skill(
            id=skill_id(str(file)),
            name=head.name,
            description=head.description,
            providers=place.providers,
            source_kind=place.kind,
            source_label=place.label,
            root_path=place.path,
            directory_path=str(folder),
            skill_file_path=str(file),
            file_count=_count(folder),
            updated_at=Instant(found.st_mtime_ns),
        )

    def _is_inside(self, real: str) -> bool:
        return real == self._root or real.startswith(self._root.rstrip("/") + "/")


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _count(folder: Path) -> int:
    count = 0
    for _, _, files in os.walk(folder):
        count += len(files)
        if count >= _MAX_COUNTED:
            return _MAX_COUNTED
    return count
