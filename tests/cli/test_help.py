"""Help texts in windows of any width."""

from __future__ import annotations

import pytest

from whisk.cli import dispatch, registry
from whisk.cli.help import fit

TEXT = """whisk mail send: send a message

Usage:
  whisk mail send [options] [--to=<addresses>]... --type=<type>

Prose that is rather long, so that a window of forty cells cannot show it in
one line, nor in two.

Options:
  --to=<addresses>  Recipients, joined by commas or repeated: pty:, run:, session: and an
                    id, or a selector.
  -h, --help        Show this and exit.

Examples:
  whisk mail send -to run:run_01 -type dispatch -subject "Implement task" -body "- keep the old flag"
"""


def test_options_keep_their_column_and_prose_is_filled_again() -> None:
    lines = fit(TEXT, 60).splitlines()
    assert lines[6:8] == [
        "Prose that is rather long, so that a window of forty cells",
        "cannot show it in one line, nor in two.",
    ]
    assert lines[10:14] == [
        "  --to=<addresses>  Recipients, joined by commas or",
        "                    repeated: pty:, run:, session: and an",
        "                    id, or a selector.",
        "  -h, --help        Show this and exit.",
    ]


def test_an_example_is_never_broken() -> None:
    assert TEXT.splitlines()[-1] in fit(TEXT, 40).splitlines()


def test_a_wide_window_or_a_pipe_gets_the_text_as_it_is() -> None:
    assert fit(TEXT, 200) == fit(TEXT, None) == TEXT


@pytest.mark.parametrize("words", sorted(registry.COMMANDS))
@pytest.mark.parametrize("columns", [60, 80])
def test_the_help_of_every_command_fits_a_small_window(words: str, columns: int) -> None:
    text = dispatch.load(words).text
    before, _, _ = fit(text, columns).partition("Examples:")
    assert max(len(line) for line in before.splitlines()) <= columns
    assert before.split() == text.partition("Examples:")[0].split(), "a word was lost"
