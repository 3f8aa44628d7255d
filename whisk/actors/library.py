"""The way to everything that can be found: mail, questions, artifacts, and what terminals have printed."""

from __future__ import annotations

from dataclasses import dataclass

from whisk.actors.future import get
from whisk.actors.journal import JournalHandle
from whisk.actors.librarian import LibrarianHandle
from whisk.errors import NotFoundError, WhiskError
from whisk.search.hit import Scored, SearchHit, SearchResults, best
from whisk.search.query import Term, parse
from whisk.storage import mail as mail_storage
from whisk.storage import search as search_storage
from whisk.storage import transcript_text
from whisk.storage.database import Store
from whisk.storage.search import SearchFilter

CATCH_UP_SECONDS = 1.0
REACH = 1000
"""How far paging goes: the best so many of each kind."""


@dataclass(frozen=True)
class Library:
    """Every method blocks the calling greenlet only."""

    store: Store
    journal: JournalHandle
    index: Store
    librarian: LibrarianHandle

    def search(self, text: str, chosen: SearchFilter, after: str = "") -> SearchResults:
        """The best hits for `text`; with `after`, those behind the one of that id.

        Raises `TooLargeError` for a book, `NotFoundError` when `after` is none of the hits (any more).
        """
        terms = parse(text)
        if not terms:
            return SearchResults(hits=())
        wide = SearchFilter(
            kinds=chosen.kinds,
            project_id=chosen.project_id,
            work_item_id=chosen.work_item_id,
            limit=REACH if after else chosen.limit,
        )
        if "mail" in wide.kinds:
            self._index_mail()
        found = self.store.read(lambda db: search_storage.search(db, terms, wide))
        unread = 0
        if "transcript" in wide.kinds:
            hits, unread = self._in_transcripts(terms, wide)
            found += hits
        return SearchResults(hits=tuple(_page(best(found), after, chosen.limit)), unread_bytes=unread)

    def _index_mail(self) -> None:
        """Mail is indexed by the batch; the newest would be measured by another scale."""
        if self.store.read(mail_storage.unindexed):
            try:
                get(self.journal.write.remote(mail_storage.index_rest))
            except WhiskError:
                # A disk that takes nothing any more must not keep a person from searching.
                return

    def _in_transcripts(self, terms: tuple[Term, ...], chosen: SearchFilter) -> tuple[list[Scored], int]:
        unread = get(self.librarian.catch_up.remote(CATCH_UP_SECONDS), timeout=CATCH_UP_SECONDS * 10)
        terminals = self.store.read(transcript_text.terminals)
        return self.index.read(lambda db: transcript_text.search(db, terms, terminals, chosen)), unread


def _page(hits: list[SearchHit], after: str, limit: int) -> list[SearchHit]:
    if not after:
        return hits[:limit]
    for place, hit in enumerate(hits):
        if hit.id == after:
            return hits[place + 1 : place + 1 + limit]
    raise NotFoundError(f"{after} is not among what was found", after=after)
