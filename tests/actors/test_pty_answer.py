"""A program that asks its terminal something is answered once: by whisk when nobody else is there to do it."""

from __future__ import annotations

from tests.actors.conftest import SECONDS, Terminals, all_output, ended, seen
from whisk.actors.future import get
from whisk.actors.pty import PtyHandle

# Shows what is typed into it as text, after what it was given.
RAW = "stty raw -echo; "
SHOW = "; cat -v"


def ask(terminals: Terminals, *questions: str, before: str = "") -> PtyHandle:
    text = "".join(questions)
    return terminals.sh(f"{RAW}printf '{before}{text}'{SHOW}")


def facts(terminals: Terminals, pty: PtyHandle) -> dict[str, object]:
    return terminals.system.describe(pty.name).facts


def test_the_cursors_place_is_told_from_the_screen(terminals: Terminals) -> None:
    pty = ask(terminals, "\\033[6n", before="one\\r\\ntwo")
    seen(pty, r"two\x1b\[6n\^\[\[2;4R")


def test_status_and_identity_are_told(terminals: Terminals) -> None:
    seen(ask(terminals, "\\033[5n"), r"\^\[\[0n")
    seen(ask(terminals, "\\033[c"), r"\^\[\[\?1;2c")


def test_a_script_that_looks_for_the_answer_only_later_finds_it(terminals: Terminals) -> None:
    """The habit of shell scripts: ask in line mode, then read up to the R, which is when the mode changes."""
    script = "printf 'ab\\033[6n'; sleep 0.2; IFS= read -rsd R place; printf 'it is <%q>' \"$place\"; read x"
    seen(terminals.launch("/bin/bash", "-c", script), r"it is <\S*1\\?;3\S*>")


def test_a_program_that_goes_on_drawing_behind_its_question_is_told_where_it_asked(terminals: Terminals) -> None:
    pty = terminals.sh(f"{RAW}printf 'ab\\033[6n'; printf 'cdef\\033[6n'; printf '\\r\\n'{SHOW}")
    seen(pty, r"\^\[\[1;3R\^\[\[1;7R")


def test_an_animation_does_not_keep_the_answer_back(terminals: Terminals) -> None:
    pty = terminals.sh(
        f"{RAW}printf 'ab\\033[6n'; (while :; do printf .; sleep 0.01; done) & dd bs=1 count=6 2>/dev/null | cat -v"
    )
    seen(pty, r"\^\[\[1;3R")


def test_a_flood_of_questions_is_not_answered_and_the_next_one_is(terminals: Terminals) -> None:
    pty = terminals.sh(f"{RAW}yes '\033[6n' | head -c 300000; stty raw; printf '\\033[2J\\033[3;5Hquiet\\033[6n'{SHOW}")
    at = seen(pty, r"quiet")
    seen(pty, r"\^\[\[3;10R", at)
    # Sixteen at each moment of silence, of which a loaded machine makes some; sixty thousand were asked.
    assert get(pty.read.remote(at, 65_536), SECONDS).data.count(b"R") <= 600
    assert facts(terminals, pty)["inputWaiting"] == 0


def test_nothing_is_said_while_somebody_is_attached_whose_terminal_answers(terminals: Terminals) -> None:
    pty = terminals.sh(f"{RAW}echo up; dd bs=1 count=1 2>/dev/null; printf 'ab\\033[6n'{SHOW}")
    at = seen(pty, "up")
    get(pty.join.remote("viewer_1", at), SECONDS)
    assert facts(terminals, pty)["viewers"] == 1
    get(pty.write.remote(b"g"), SECONDS)
    seen(pty, r"ab\x1b\[6n")
    # The viewer's own answer, and no other before it.
    get(pty.snapshot.remote(), SECONDS)
    get(pty.write.remote(b"\x1b[1;3R."), SECONDS)
    seen(pty, r"\x1b\[6n\^\[\[1;3R\.", at)


def test_whisk_answers_again_when_the_last_viewer_has_left(terminals: Terminals) -> None:
    pty = terminals.sh(f"{RAW}echo up; dd bs=1 count=1 2>/dev/null; printf 'ab\\033[6n'{SHOW}")
    at = seen(pty, "up")
    for viewer in ("viewer_1", "viewer_2"):
        get(pty.join.remote(viewer, at), SECONDS)
    for viewer in ("viewer_1", "viewer_2", "viewer_2"):
        get(pty.leave.remote(viewer), SECONDS)
    get(pty.write.remote(b"g"), SECONDS)
    seen(pty, r"\^\[\[2;6R", at)


def test_what_was_asked_before_a_viewer_came_is_still_answered(terminals: Terminals) -> None:
    pty = ask(terminals, "\\033[6n")
    at = seen(pty, r"\x1b\[6n")
    get(pty.join.remote("viewer_1", at), SECONDS)
    seen(pty, r"\^\[\[1;1R")


def test_a_question_inside_of_a_title_is_not_answered(terminals: Terminals) -> None:
    pty = ask(terminals, "\\033P\\033[6n\\033\\\\", "\\033]0;t[6n\\007", "\\033[5n")
    seen(pty, r"\^\[\[0n")


def test_the_end_of_a_program_that_has_just_asked_is_an_end(terminals: Terminals) -> None:
    pty = terminals.sh("printf 'bye\\033[6n'")
    assert ended(pty).exit_code == 0
    assert all_output(pty) == b"bye\x1b[6n"
