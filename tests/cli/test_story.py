"""The demo's story in a small window."""

from __future__ import annotations

import io

from whisk.cli.cell import width
from whisk.cli.demo.story import Story
from whisk.cli.output import Output

ID = "run_01M8Q1MG1F7RBXEHH3G4RD84CB"
SENTENCE = "Both runs are completed since their agents said so: a worker_done from a run's own address ends it."


class Window(Output):
    @property
    def columns(self) -> int | None:
        return 60


def told(*, whole_ids: bool) -> tuple[Story, io.StringIO]:
    stream = io.StringIO()
    return Story(Window({}, stream), whole_ids=whole_ids), stream


def test_a_sentence_is_wrapped_between_words_and_a_screen_is_cut() -> None:
    story, stream = told(whole_ids=False)
    story.note(SENTENCE)
    story.screen("x" * 100)
    *lines, screen = stream.getvalue().splitlines()
    assert " ".join(line.strip() for line in lines) == SENTENCE
    assert all(width(line) <= 60 for line in [*lines, screen])
    assert screen.endswith("…")


def test_ids_are_short_to_read_and_whole_to_copy() -> None:
    table = f"ID                              PTY\n{ID}  {ID}"
    short, stream = told(whole_ids=False)
    short.printed(table)
    assert stream.getvalue().splitlines()[1].split() == ["run_…RD84CB", "run_…RD84CB"]
    whole, stream = told(whole_ids=True)
    whole.printed(table)
    assert stream.getvalue().count(ID) == 2
