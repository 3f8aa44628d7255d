"""What a program tells its terminal of itself: title, working directory (OSC 0, 2 and 7) and state (OSC 9999)."""

from __future__ import annotations

import codecs
from urllib.parse import unquote, urlsplit

from whisk.terminal.agent import Sighting
from whisk.terminal.agent_report import read_report
from whisk.terminal.plain import plain
from whisk.terminal.sequence import Splitter

TITLE_BYTES = 1024
DIRECTORY_BYTES = 4096


class TitleReader:
    """Watches output that arrives in pieces. Cheap where there is no such sequence, which is nearly everywhere."""

    def __init__(self, title: str | None = None, directory: str | None = None) -> None:
        self.title = title
        self.directory = directory
        self.report: Sighting | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._splitter = Splitter()
        self._busy = False

    def feed(self, data: bytes) -> bool:
        """Take the next bytes; returns whether the title, the directory or the report has changed."""
        if not self._busy:
            at = data.find(b"\x1b]")
            if at < 0:
                if not data.endswith(b"\x1b"):
                    return False
                at = len(data) - 1
            data = data[at:]
        before = (self.title, self.directory, self.report)
        for token in self._splitter.feed(self._decoder.decode(data)):
            if token.kind == "osc":
                self._obey(token.text)
        self._busy = self._splitter.open
        return before != (self.title, self.directory, self.report)

    def _obey(self, text: str) -> None:
        number, _, value = text.partition(";")
        if number in ("0", "2"):
            self.title = _cut(plain(value).replace("\n", " ").strip(), TITLE_BYTES) or None
        elif number == "7":
            self.directory = _cut(_path(value), DIRECTORY_BYTES) or self.directory
        elif number == "9999":
            self.report = read_report(value) or self.report


def _path(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    path = plain(unquote(parts.path)).replace("\n", "") if parts.scheme == "file" else ""
    return path if path.startswith("/") else ""


def _cut(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
