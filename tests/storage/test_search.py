"""Search over a real database: mail, questions, and the words of transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.captured import NOW
from whisk.search.hit import CLOSE, OPEN, SearchHit, best
from whisk.search.query import parse
from whisk.storage import mail as mail_storage
from whisk.storage import search as search_storage
from whisk.storage import transcript_text
from whisk.storage.artifact import ARTIFACTS
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.migration import all_migrations
from whisk.storage.question import QUESTIONS, QuestionRow
from whisk.storage.search import SearchFilter
from whisk.storage.transcript import Transcript
from whisk.storage.transcript_text import Stretch, read_stretches
from whisk.terminal.pty import PtyRecord
from whisk.work.artifact import Artifact
from whisk.work.question import Question

HERE = ("mail", "question")


def question(number: int, prompt: str, **fields: Any) -> Question:
    whole = {"project_id": "proj_1", "work_item_id": "item_1", "status": "open", **fields}
    at = NOW.plus(number)
    return Question(id=f"q_{number}", prompt=prompt, created_at=at, updated_at=at, **whole)


def find(post: Any, text: str, **fields: Any) -> list[SearchHit]:
    post.writer.write(mail_storage.index_rest)
    chosen = SearchFilter(**{"kinds": HERE, **fields})
    return best(post.read(lambda db: search_storage.search(db, parse(text), chosen)))


def ask(post: Any, number: int, prompt: str, **fields: Any) -> Question:
    asked = question(number, prompt, **fields)
    post.writer.write(lambda db: QUESTIONS.insert(db, asked))
    return asked


NASTY = [
    *('"', "''", '"""', "'; DROP TABLE mail; --", "AND", "OR", "NOT", "a AND", "NEAR(a b)", "NEAR", "a NEAR/2 b", "*"),
    *(
        "**",
        "a*b",
        "^a",
        "-",
        "--",
        "->",
        "-a",
        "a-b",
        "a:b",
        "title:a",
        "{a b}: c",
        "(",
        ")",
        "((a",
        "[a]",
        "{}",
        "\\",
    ),
    *("%", "_", "+", "a + b", ",", "\u202e", "\u0301", "é", "🔥", "👩\u200d👩\u200d👧", "日本語", "\ufb00", "İ", "ß"),
    *("x" * 10_240, '"a b', 'a" b "c', "POL-358", "it's", "a/b"),
]


def test_no_query_is_an_error_and_each_finds_what_holds_it(post: Any) -> None:
    away = {post.send(body="quite different").id, ask(post, 999, "quite different as well").id}
    for number, text in enumerate(NASTY):
        here = post.send(body=f"before {text} after").id, ask(post, number, f"before {text} after").id
        found = {hit.id for hit in find(post, text)}
        # A quote holds words together; alone it is no text to look for.
        assert set(here) <= found if text.strip('"') else found == set(), text
        assert not found & away, text
    for text in ("", " ", "\t\n", "\0", '""'):
        assert find(post, text) == []
    find(post, "a\0b")


def test_words_are_anded_phrases_stand_together_and_a_star_finds_longer_words(post: Any) -> None:
    one = post.send(subject="Deploy failed", body="the exit code was 7").id
    two = post.send(subject="Deployment", body="code of the exit door").id
    found = lambda text: {hit.id for hit in find(post, text)}  # noqa: E731
    assert found("exit code") == {one, two}
    assert found('"exit code"') == {one}
    assert found("deploy") == {one}
    assert found("deploy*") == {one, two}
    assert found("EXIT deploy* door") == {two}
    assert found("exit window") == set()


def test_accents_and_case_do_not_matter(post: Any) -> None:
    here = post.send(body="Übersicht der Änderungen").id
    assert [hit.id for hit in find(post, "ubersicht ÄNDERUNGEN")] == [here]


def test_a_script_without_spaces_is_found_inside_its_text_with_a_marked_piece(post: Any) -> None:
    here = ask(post, 1, "昨日のデプロイは失敗しました").id
    (hit,) = find(post, "デプロイ")
    assert (hit.id, hit.kind) == (here, "question")
    assert f"{OPEN}デプロイ{CLOSE}" in hit.snippet


def test_the_better_hit_comes_first_and_the_newer_of_equals(post: Any) -> None:
    post.send(subject="other", body="needle " + "hay " * 200)
    short = post.send(subject="needle", body="needle").id
    assert find(post, "needle")[0].id == short
    ids = [ask(post, number, "equal words").id for number in range(3)]
    assert [hit.id for hit in find(post, "equal words")] == ids[::-1]


def test_a_hit_says_where_and_marks_what(post: Any) -> None:
    ask(post, 1, "May the refund be sent twice?", run_id="run_1", pty_id="pty_1", session_id="sess_1")
    (hit,) = find(post, "refund twice")
    assert hit.snippet == f"May the {OPEN}refund{CLOSE} be sent {OPEN}twice{CLOSE}?"
    assert (hit.title, hit.at, hit.project_id) == ("May the refund be sent twice?", NOW.plus(1), "proj_1")
    assert (hit.work_item_id, hit.run_id, hit.session_id, hit.pty_id) == ("item_1", "run_1", "sess_1", "pty_1")


def test_filters_narrow(post: Any) -> None:
    mail = post.send(body="needle", project_id="proj_2", work_item_id="item_2").id
    asked = ask(post, 1, "needle").id
    assert [hit.id for hit in find(post, "needle", kinds=("mail",))] == [mail]
    assert [hit.id for hit in find(post, "needle", kinds=("question",))] == [asked]
    assert [hit.id for hit in find(post, "needle", project_id="proj_1")] == [asked]
    assert [hit.id for hit in find(post, "needle", work_item_id="item_2")] == [mail]
    assert len(find(post, "needle", limit=1)) == 2  # of each index; the caller cuts


def test_an_answer_is_found_as_soon_as_it_is_given_and_an_old_text_no_more(post: Any) -> None:
    asked = ask(post, 1, "Which flag?")
    answered = msgspec.structs.replace(asked, status="answered", answer="the turquoise one")
    post.writer.write(lambda db: QUESTIONS.update(db, answered))
    assert [hit.id for hit in find(post, "turquoise flag")] == [asked.id]
    post.writer.write(lambda db: QUESTIONS.update(db, msgspec.structs.replace(answered, answer="plain")))
    assert find(post, "turquoise") == []


def test_an_artifact_is_found_by_its_title_and_its_body(post: Any) -> None:
    plan = Artifact(
        id="art_1", project_id="proj_1", work_item_id="item_1", kind="plan", status="draft", created_at=NOW,
        updated_at=NOW, run_id="run_1", title="Plan", body="First the turquoise part",
    )  # fmt: skip
    post.writer.write(lambda db: ARTIFACTS.insert(db, plan))
    (hit,) = find(post, "plan turquoise", kinds=("artifact",))
    assert (hit.kind, hit.id, hit.title) == ("artifact", "art_1", "Plan")
    assert (hit.project_id, hit.work_item_id, hit.run_id) == ("proj_1", "item_1", "run_1")
    post.writer.write(ARTIFACTS.clear)
    assert find(post, "turquoise", kinds=("artifact",)) == []


def test_what_is_deleted_is_found_no_more_whoever_deletes_it(post: Any) -> None:
    ask(post, 1, "needle one")
    ask(post, 2, "needle two")
    post.send(body="needle three")
    post.writer.write(lambda db: QuestionRow.delete().where(QuestionRow.id == "q_1").execute(db))
    assert {hit.id for hit in find(post, "needle", kinds=("question",))} == {"q_2"}
    post.writer.write(QUESTIONS.clear)
    post.writer.write(mail_storage.clear)
    assert find(post, "needle") == []
    assert find(post, "needle two") == []


def test_what_was_there_before_the_index_is_in_it(path: Path) -> None:
    before = [step for step in all_migrations() if not step.name.startswith("search.")]
    store = Store.open(path, migrations=before)
    GroupWriter(store).write(lambda db: QUESTIONS.insert(db, question(1, "an old needle")))
    store.close()
    store = Store.open(path)
    found = store.read(lambda db: search_storage.search(db, parse("needle"), SearchFilter(kinds=("question",))))
    assert [each.hit.id for each in found] == ["q_1"]
    store.close()


def test_a_write_that_fails_leaves_the_index_as_it_was(post: Any) -> None:
    asked = question(1, "needle")

    def write(db: Any) -> None:
        QUESTIONS.insert(db, asked)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        post.writer.write(write)
    assert find(post, "needle") == []


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "search.sqlite", migrations=transcript_text.OWN_MIGRATIONS)
    yield store
    store.close()


def pty(name: str, **fields: Any) -> PtyRecord:
    whole = {"status": "exited", "argv": ("sh", "-c", "make"), "working_dir": "/", "cols": 80, "rows": 24, **fields}
    return PtyRecord(id=name, created_at=NOW, **whole)


def look(index: Store, text: str, *terminals: PtyRecord, **fields: Any) -> list[SearchHit]:
    chosen = SearchFilter(kinds=("transcript",), **fields)
    return best(index.read(lambda db: transcript_text.search(db, parse(text), terminals, chosen)))


def put(index: Store, name: str, *stretches: Stretch) -> None:
    GroupWriter(index).write(lambda db: transcript_text.add(db, name, stretches))


def test_a_transcript_is_read_in_stretches_that_end_with_a_line(tmp_path: Path) -> None:
    written = Transcript(tmp_path / "pty_1")
    lines = b"".join(b"\x1b[32mline %d\x1b[0m of the \x1b[1Cbuild\r\n" % number for number in range(3000))
    written.append(0, lines + b"half a li")
    stretches, left = read_stretches(tmp_path / "pty_1", 0, 10**9, ended=False)
    assert (stretches[-1].until, left) == (len(lines), len(b"half a li"))
    text = "\n".join(each.text for each in stretches)
    assert text.splitlines() == [f"line {number} of the build" for number in range(3000)]
    assert [each.start for each in stretches[1:]] == [each.until for each in stretches[:-1]]
    ended, left = read_stretches(tmp_path / "pty_1", len(lines), 10**9, ended=True)
    assert ([each.text for each in ended], left) == (["half a li"], 0)
    written.close()


def test_output_without_a_line_end_is_cut_before_a_sequence(tmp_path: Path) -> None:
    written = Transcript(tmp_path / "pty_1")
    written.append(0, b"\x1b[5;1Hspinner \x1b[6;1Hstatus \x1b[7;1Hwor")
    stretches, left = read_stretches(tmp_path / "pty_1", 0, 10**9, ended=False)
    assert [each.text for each in stretches] == ["spinner status"]
    assert left == len(b"\x1b[7;1Hwor")
    written.close()


def test_each_terminal_shows_its_best_stretch_and_where_it_is(index: Store) -> None:
    put(index, "pty_1", Stretch(0, 10, "needle " + "hay " * 90), Stretch(10, 30, "needle"))
    put(index, "pty_2", Stretch(0, 9, "another needle"))
    one, two = pty("pty_1", run_id="run_1", project_id="proj_1", title="agent"), pty("pty_2", session_id="sess_2")
    hits = {hit.id: hit for hit in look(index, "needle", one, two)}
    assert hits["pty_1"].offset == 10
    assert (hits["pty_1"].title, hits["pty_1"].run_id) == ("agent", "run_1")
    assert (hits["pty_2"].title, hits["pty_2"].session_id, hits["pty_2"].kind) == ("sh -c make", "sess_2", "transcript")
    assert [hit.id for hit in look(index, "needle", one, two, project_id="proj_1")] == ["pty_1"]
    assert look(index, "needle") == []


def test_a_terminal_that_is_forgotten_is_found_no_more(index: Store) -> None:
    put(index, "pty_1", Stretch(0, 10, "old needle"), Stretch(10, 20, "young needle"))
    GroupWriter(index).write(lambda db: transcript_text.forget(db, "pty_1", 10))
    assert [hit.offset for hit in look(index, "needle", pty("pty_1"))] == [10]
    assert look(index, "old", pty("pty_1")) == []
    GroupWriter(index).write(lambda db: transcript_text.forget(db, "pty_1"))
    assert look(index, "needle", pty("pty_1")) == []
    assert index.read(transcript_text.positions) == {}
