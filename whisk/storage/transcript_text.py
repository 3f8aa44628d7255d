"""The words of transcripts, in a database of their own beside the transcripts.

It holds nothing that the transcripts do not: it may be deleted at any time, and is then made again. Each row is a
stretch of one terminal's output as text, with the offsets between which it was printed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from peewee import Database

from whisk.search.hit import Scored
from whisk.search.query import Term
from whisk.storage.migration import Migration
from whisk.storage.search import Index, SearchFilter, create_index, look_up
from whisk.storage.statement import marks, run
from whisk.storage.terminal import TerminalRow
from whisk.storage.transcript import Transcript
from whisk.terminal.plain import words_of
from whisk.terminal.pty import PtyRecord
from whisk.values import decode

STRETCH_BYTES = 16 * 1024
# Of each terminal no more than this many stretches compete: one that repeats a word for ever must not hide the others.
_CROWD = 20


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE stretch (seq INTEGER PRIMARY KEY, pty_id TEXT NOT NULL, start BIGINT NOT NULL,"
        " until BIGINT NOT NULL, body TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX stretch_pty ON stretch (pty_id, until)")
    db.execute_sql("CREATE TABLE indexed (pty_id TEXT NOT NULL PRIMARY KEY, up_to BIGINT NOT NULL)")
    create_index(db, "stretch", "stretch_text", ("body",))


# Not of the daemon's own database, so they are not in its list.
OWN_MIGRATIONS: list[Migration] = [Migration("transcript_text.create", _create)]

_COLUMNS = ("pty_id", "start", "NULL", "body", "NULL", "NULL", "NULL", "NULL", "pty_id", "start")
STRETCHES = Index("stretch", "stretch_text", _COLUMNS, "transcript")


class Stretch(NamedTuple):
    """`start` and `until` are offsets into the output; `until` is where reading goes on."""

    start: int
    until: int
    text: str


def read_stretches(folder: Path, after: int, limit: int, *, ended: bool) -> tuple[list[Stretch], int]:
    """What the transcript in `folder` holds behind `after`, as text, at most `limit` bytes of it; and how many bytes
    are left behind. What ends in the middle of a line waits, unless the terminal has `ended`. Blocks; any thread.
    """
    transcript = Transcript(folder)
    found: list[Stretch] = []
    at = after
    while limit > 0:
        start, data, _ = transcript.read(at, STRETCH_BYTES)
        if not data:
            break
        whole = data if ended and start + len(data) >= transcript.end else data[: _safe_end(data)]
        if not whole:
            break
        at = start + len(whole)
        limit -= len(whole)
        found.append(Stretch(start, at, words_of(whole)))
    return found, max(0, transcript.end - at)


def _safe_end(data: bytes) -> int:
    """Where to cut: behind the last line, else before the last escape sequence, else where a long run has to be cut."""
    end = data.rfind(b"\n") + 1 or max(data.rfind(b"\x1b"), 0)
    return end or (len(data) if len(data) >= STRETCH_BYTES else 0)


def bounds(folder: Path) -> tuple[int, int]:
    """Offset of the oldest byte that is kept, and of the end. Blocks; any thread."""
    transcript = Transcript(folder)
    return transcript.start, transcript.end


def add(db: Database, pty_id: str, stretches: Sequence[Stretch]) -> None:
    """Store them, and how far the terminal has been read; for a write of the index's own database."""
    for start, until, text in stretches:
        if text.strip():
            query = "INSERT INTO stretch (pty_id, start, until, body) VALUES (?, ?, ?, ?)"
            run(db, query, (pty_id, start, until, text))
    up_to = stretches[-1].until
    query = "INSERT INTO indexed VALUES (?, ?) ON CONFLICT (pty_id) DO UPDATE SET up_to = excluded.up_to"
    run(db, query, (pty_id, up_to))


def positions(db: Database) -> dict[str, int]:
    """By terminal, how far its output is in the index."""
    return dict(run(db, "SELECT pty_id, up_to FROM indexed").fetchall())


def forget(db: Database, pty_id: str, before: int | None = None) -> None:
    """Take out a terminal that is gone, or only what its transcript has dropped: all that ended by `before`."""
    if before is None:
        run(db, "DELETE FROM stretch WHERE pty_id = ?", (pty_id,))
        run(db, "DELETE FROM indexed WHERE pty_id = ?", (pty_id,))
    else:
        run(db, "DELETE FROM stretch WHERE pty_id = ? AND until <= ?", (pty_id, before))


def search(db: Database, terms: Sequence[Term], terminals: Collection[PtyRecord], chosen: SearchFilter) -> list[Scored]:
    """The best stretch of each of these terminals whose output holds every term in one stretch."""
    known = {record.id: record for record in terminals if _fits(record, chosen)}
    if not known:
        return []
    everywhere = msgspec.structs.replace(
        chosen, project_id="", work_item_id="", limit=chosen.limit * _CROWD if len(known) > 1 else _CROWD
    )
    where = [f"d.pty_id IN ({marks(known)})"] if len(known) <= 500 else []
    found: dict[str, Scored] = {}
    for scored in look_up(db, STRETCHES, terms, everywhere, where, list(known) if where else ()):
        pty_id = scored.hit.id
        best = found.get(pty_id)
        if pty_id in known and (best is None or (scored.rank, -_at(scored)) < (best.rank, -_at(best))):
            found[pty_id] = scored
    return [_placed(scored, known[pty_id]) for pty_id, scored in found.items()]


def terminals(db: Database) -> list[PtyRecord]:
    """Every terminal that is known; from the daemon's database."""
    return [decode(doc, PtyRecord) for (doc,) in TerminalRow.select(TerminalRow.doc).tuples().execute(db)]


def _fits(record: PtyRecord, chosen: SearchFilter) -> bool:
    return chosen.project_id in ("", record.project_id) and chosen.work_item_id in ("", record.work_item_id)


def _at(scored: Scored) -> int:
    return scored.hit.offset or 0


def _placed(scored: Scored, record: PtyRecord) -> Scored:
    hit = msgspec.structs.replace(
        scored.hit,
        at=record.ended_at or record.started_at or record.created_at,
        title=record.title or " ".join(record.argv),
        project_id=record.project_id,
        work_item_id=record.work_item_id,
        run_id=record.run_id,
        session_id=record.session_id,
    )
    return Scored(rank=scored.rank, hit=hit)
