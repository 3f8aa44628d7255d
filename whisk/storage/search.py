"""Words in mail, questions and whatever else the database holds: one index, kept by the database itself.

Triggers keep it: whoever inserts, changes or deletes a row changes the index in the same transaction, and nothing that
is gone is found. Mail has an index of its own (`mail_text`), which is filled by the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import Database

from whisk.clock import Instant
from whisk.search.hit import CLOSE, OPEN, HitKind, Scored, SearchHit, cut_out, first_line
from whisk.search.query import Term, ascii_lower, match_of, split
from whisk.storage.mail import TOKENIZER
from whisk.storage.migration import Migration
from whisk.storage.statement import marks, run
from whisk.values import Record

SNIPPET_WORDS = 24


class SearchFilter(Record, frozen=True):
    """`kinds`: any of them. Empty fields do not narrow."""

    kinds: tuple[HitKind, ...]
    project_id: str = ""
    work_item_id: str = ""
    limit: int = 20


@dataclass(frozen=True)
class Index:
    """A table with a full-text index on it. `columns` are SQL for: id, time, title, body, project, item, run, session,
    terminal, place in the output. The rows are numbered by `seq`.
    """

    table: str
    text: str
    columns: tuple[str, ...]
    kind: str | None = None

    def column(self, place: int) -> str:
        name = self.columns[place]
        return name if name == "NULL" else f"d.{name}"


_PLACES = ("project_id", "work_item_id", "run_id", "session_id", "pty_id")
MAIL = Index("mail", "mail_text", ("id", "created_at", "subject", "body", *_PLACES, "NULL"), "mail")
THINGS = Index("search_doc", "search_text", ("id", "at", "title", "body", *_PLACES, "NULL"))


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE search_doc (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, at BIGINT NOT NULL,"
        " title TEXT NOT NULL, body TEXT NOT NULL, project_id TEXT, work_item_id TEXT, run_id TEXT, session_id TEXT,"
        " pty_id TEXT, UNIQUE (kind, id))"
    )
    create_index(db, "search_doc", "search_text", ("title", "body"))


def create_index(db: Database, table: str, text: str, columns: Sequence[str]) -> None:
    """A full-text index on columns of `table`, numbered by `seq`, and the triggers that keep it; for a migration."""
    names = ", ".join(columns)
    old, new = (", ".join(f"{side}.{column}" for column in columns) for side in ("old", "new"))
    db.execute_sql(
        f"CREATE VIRTUAL TABLE {text} USING fts5 ({names}, content = '{table}', content_rowid = 'seq',"
        f" tokenize = '{TOKENIZER}')"
    )
    forget = f"INSERT INTO {text} ({text}, rowid, {names}) VALUES ('delete', old.seq, {old});"
    learn = f"INSERT INTO {text} (rowid, {names}) VALUES (new.seq, {new});"
    for event, body in (("INSERT", learn), ("DELETE", forget), ("UPDATE", forget + learn)):
        db.execute_sql(f"CREATE TRIGGER {text}_{event.lower()} AFTER {event} ON {table} BEGIN {body} END")


def watch(db: Database, table: str, kind: HitKind, columns: dict[str, str]) -> None:
    """Let triggers keep `search_doc` for the documents of `table`, and take in those there are; for a migration.

    `columns` are SQL expressions over the row `{row}` for title, body and whatever else `search_doc` has.
    """

    def select(row: str) -> str:
        return ", ".join(sql.replace("{row}", row) for sql in columns.values())

    names = ", ".join(columns)
    changes = ", ".join(f"{name} = {sql.replace('{row}', 'new')}" for name, sql in columns.items())
    found = f"kind = '{kind}' AND id = old.id"
    add = f"INSERT INTO search_doc (kind, id, at, {names}) SELECT '{kind}', new.id, new.created_at, {select('new')};"
    steps = {
        "INSERT": add,
        "UPDATE": f"UPDATE search_doc SET {changes} WHERE {found};",
        "DELETE": f"DELETE FROM search_doc WHERE {found};",
    }
    for event, body in steps.items():
        db.execute_sql(f"CREATE TRIGGER search_{kind}_{event.lower()} AFTER {event} ON {table} BEGIN {body} END")
    db.execute_sql(
        f"INSERT INTO search_doc (kind, id, at, {names}) SELECT '{kind}', id, created_at, {select(table)} FROM {table}"
        " ORDER BY created_at, id"
    )


def _json(name: str) -> str:
    return f"coalesce(json_extract({{row}}.doc, '$.{name}'), '')"


def _watch_questions(db: Database) -> None:
    columns = {"title": "''", "body": f"trim({_json('prompt')} || char(10) || {_json('answer')}, char(10))"}
    places = {"project_id": "projectId", "work_item_id": "workItemId", "run_id": "runId", "session_id": "sessionId"}
    columns |= {column: _json(name) for column, name in (places | {"pty_id": "ptyId"}).items()}
    watch(db, "question", "question", columns)


def _watch_artifacts(db: Database) -> None:
    columns = {"title": _json("title"), "body": _json("body"), "project_id": "{row}.project_id"}
    columns |= {"work_item_id": "{row}.work_item_id", "run_id": _json("runId")}
    watch(db, "artifact", "artifact", columns)


MIGRATIONS: list[Migration] = [
    Migration("search.create", _create),
    Migration("search.question", _watch_questions),
    Migration("search.artifact", _watch_artifacts),
]


def search(db: Database, terms: Sequence[Term], chosen: SearchFilter) -> list[Scored]:
    """What holds every term, of the kinds that the database itself holds: the best `limit` of each index."""
    found: list[Scored] = []
    if "mail" in chosen.kinds:
        found += look_up(db, MAIL, terms, chosen, ["d.type <> 'heartbeat'"])
    kinds = [kind for kind in chosen.kinds if kind not in ("mail", "transcript")]
    if kinds:
        found += look_up(db, THINGS, terms, chosen, [f"d.kind IN ({marks(kinds)})"], kinds)
    return found


def look_up(
    db: Database,
    index: Index,
    terms: Sequence[Term],
    chosen: SearchFilter,
    where: Iterable[str] = (),
    params: Iterable[Any] = (),
) -> list[Scored]:
    """The best `chosen.limit` rows that hold every term and fit `where`, over the table as `d`. Text without a term
    finds nothing.
    """
    known, others = split(terms)
    if not terms:
        return []
    conditions, values = list(where), list(params)
    for place, value in ((4, chosen.project_id), (5, chosen.work_item_id)):
        if value:
            conditions.append(f"{index.column(place)} = ?")
            values.append(value)
    whole = f"lower(coalesce({index.column(2)}, '') || char(10) || coalesce({index.column(3)}, ''))"
    for word in others:
        conditions.append(f"instr({whole}, ?) > 0")
        values.append(ascii_lower(word))
    source, rank, match = f"{index.table} d", "0.0", match_of(known)
    if known:
        source, rank = f"{index.text} JOIN {index.table} d ON d.seq = {index.text}.rowid", f"{index.text}.rank"
        conditions.insert(0, f"{index.text} MATCH ?")
        values.insert(0, match)
    sql = f"SELECT d.seq, {rank} FROM {source} WHERE {' AND '.join(conditions) or '1'} ORDER BY 2, d.seq DESC LIMIT ?"
    ranks = dict(run(db, sql, (*values, chosen.limit)).fetchall())
    return _shown(db, index, match, others, ranks) if ranks else []


def _shown(db: Database, index: Index, match: str, others: Sequence[str], ranks: dict[int, float]) -> list[Scored]:
    columns = ", ".join(index.column(place) for place in range(len(index.columns)))
    kind = f"'{index.kind}'" if index.kind else "d.kind"
    table, text, chosen = f"{index.table} d", index.text, f"d.seq IN ({marks(ranks)})"
    if match:
        snippet = f"snippet({text}, -1, '{OPEN}', '{CLOSE}', '\u2026', {SNIPPET_WORDS})"
        table = f"{text} JOIN {table} ON d.seq = {text}.rowid"
        sql = f"SELECT d.seq, {kind}, {snippet}, {columns} FROM {table} WHERE {text} MATCH ? AND {chosen}"
    else:
        sql = f"SELECT d.seq, {kind}, NULL, {columns} FROM {table} WHERE {chosen}"
    rows = run(db, sql, (match, *ranks) if match else (*ranks,)).fetchall()
    return [_scored(ranks[seq], others, *row) for seq, *row in rows]


def _scored(rank: float, others: Sequence[str], *row: Any) -> Scored:
    kind, snippet, id, at, title, body, project, item, run_id, session, pty, offset = row
    hit = SearchHit(
        kind=kind,
        id=id,
        at=Instant(at),
        title=title or first_line(body or ""),
        snippet=snippet if snippet is not None else cut_out("\n".join(filter(None, (title, body))), others),
        project_id=project or "",
        work_item_id=item or "",
        run_id=run_id or "",
        session_id=session or "",
        pty_id=pty or "",
        offset=offset,
    )
    return Scored(rank=rank, hit=hit)
