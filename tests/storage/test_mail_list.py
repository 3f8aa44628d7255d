from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whisk.errors import InvalidError, NotFoundError, TooLargeError
from whisk.mail.address import parse_address
from whisk.storage.mail import INDEX_EVERY
from whisk.storage.mail_list import MailFilter, search, select
from whisk.storage.statement import run


def ids(post: Any, **fields: Any) -> list[str]:
    return [one.id for one in post.read(lambda db: select(db, MailFilter(**fields)))]


def found(post: Any, text: str, **fields: Any) -> list[str]:
    return [one.id for one in post.read(lambda db: search(db, text, MailFilter(**fields)))]


def test_the_newest_stored_comes_first_whatever_the_clock_says(post: Any) -> None:
    sent = []
    for step in (0, 0, -3600, 0):
        post.clock.advance(step)
        sent.insert(0, post.send().id)
    assert ids(post) == sent


def test_a_thousand_messages_of_one_instant_are_paged_without_gap_or_repeat(post: Any) -> None:
    # One write for them all: this is about reading.
    post.send()
    (first,) = ids(post)
    columns = "thread_id, hops, sender, type, priority, created_at"
    post.writer.write(
        lambda db: [
            run(
                db, f"INSERT INTO mail (id, {columns}) SELECT ?, {columns} FROM mail WHERE id = ?", (f"mail_{i}", first)
            )
            for i in range(999)
        ]
    )
    pages, before = [], None
    while page := ids(post, limit=7, before=before):
        pages += page
        before = page[-1]
        if len(pages) == 70:
            post.clock.advance(-3600)
            post.send()
    assert pages == [*(f"mail_{i}" for i in range(998, -1, -1)), first]
    assert ids(post, after="mail_998", limit=7) == ids(post, limit=1)


def test_filters_narrow_and_any_of_several_addresses_and_types_will_do(post: Any) -> None:
    a = post.send(to=["run:b"], project_id="P", run_id="R").id
    b = post.send(to=["run:b", "pty:p"], type="dispatch", work_item_id="W").id
    c = post.send(to=["pty:q"], type="handoff", reply_to_id=a).id
    to = lambda *texts: tuple(parse_address(text) for text in texts)  # noqa: E731
    assert ids(post, to=to("run:b")) == [b, a]
    assert ids(post, to=to("pty:p", "pty:q")) == [c, b]
    assert ids(post, types=("dispatch", "handoff")) == [c, b]
    assert ids(post, project_id="P") == ids(post, run_id="R") == [a]
    assert ids(post, work_item_id="W") == [b]
    assert ids(post, thread_id=a) == ids(post, thread_id=c) == [c, a]
    assert ids(post, limit=2) == [c, b]
    assert ids(post, to=to("run:nobody")) == []


def test_unread_means_one_of_the_asked_recipients_or_anyone(post: Any) -> None:
    a = post.send(to=["run:b", "run:c"]).id
    post.take("run:b")
    assert ids(post, unread=True) == [a]
    assert ids(post, unread=True, to=(parse_address("run:b"),)) == []
    assert ids(post, unread=True, to=(parse_address("run:c"),)) == [a]


def test_a_limit_below_zero_and_an_unknown_page_mark_are_refused(post: Any) -> None:
    with pytest.raises(InvalidError, match="invalid limit"):
        ids(post, limit=-1)
    with pytest.raises(NotFoundError, match="mail mail_x not found"):
        ids(post, before="mail_x")


CORPUS = [
    "POL-358",
    "it's",
    "a/b",
    "*",
    '"',
    "''",
    "(",
    ")",
    "AND",
    "NOT NEAR(x y)",
    "subject:hello",
    "hello OR",
    "^",
    "-",
    "--help",
    "{}",
    "[]",
    "\\",
    "%",
    "_",
    "日本語",
    "🙂",
    "naïve",
    "\u0301",
    "a" * 900,
    "x AND (y OR z) NOT w*",
    ";DROP TABLE mail;",
    "\u202e",
]


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
def test_any_text_finds_the_message_that_holds_it_and_no_other(post: Any, text: str) -> None:
    here = post.send(body=f"before {text} after").id
    post.send(body="quite different")
    assert found(post, text) == [here]


def test_every_word_must_be_there_in_subject_or_body_in_any_order_and_case(post: Any) -> None:
    here = post.send(subject="Deploy failed", body="on staging-7, see Übersicht").id
    post.send(subject="Deploy failed", body="on production")
    for text in ("staging deploy", "FAILED Staging-7", "ubersicht", "ÜBERSICHT", "stag fail", "staging-7,"):
        assert found(post, text) == [here], text
    assert found(post, "staging production") == []
    assert found(post, "taging") == []


def test_a_script_without_spaces_is_searched_inside_its_text(post: Any) -> None:
    here = post.send(body="昨日のデプロイは失敗しました ALERT🔥now").id
    for text in ("デプロイ", "失敗 alert", "🔥", "🔥NOW"):
        assert found(post, text) == [here], text


def test_no_words_are_a_plain_list_and_filters_hold_for_a_search_too(post: Any) -> None:
    a, b = post.send(body="needle", project_id="P").id, post.send(body="needle").id
    assert found(post, "") == found(post, " \n ") == [b, a]
    assert found(post, "needle", project_id="P") == [a]
    assert found(post, "needle", limit=1) == [b]
    assert found(post, "needle", to=(parse_address("run:x"),)) == []


def test_a_book_as_a_query_is_refused_by_its_size(post: Any) -> None:
    post.send()
    found(post, " ".join(str(i) for i in range(200)))
    with pytest.raises(TooLargeError, match="up to 200 words"):
        found(post, " ".join(str(i) for i in range(201)))


def test_every_message_is_found_from_the_moment_it_is_stored(post: Any) -> None:
    """The index is filled by the batch; heartbeats, whose places in the order are used again, must not upset it."""
    sent: list[str] = []
    for number in range(INDEX_EVERY * 2 + 5):
        if number % 9 == 0 or (number + 1) % INDEX_EVERY == 0:
            post.send(type="heartbeat", subject="word", from_=f"run:{number % 5}")
        sent.append(post.send(body=f"word number{number}").id)
        assert found(post, f"number{number}") == sent[-1:]
    assert found(post, "word") == sent[::-1]
    # A heartbeat is replaced by the next; its words in the index would outlive it.
    held = "SELECT id FROM mail_text_docsize ORDER BY id"
    due = "SELECT seq FROM mail WHERE seq <= (SELECT up_to FROM mail_indexed) AND type <> 'heartbeat' ORDER BY seq"
    indexed, expected = (post.read(lambda db, q=q: run(db, q).fetchall()) for q in (held, due))
    assert indexed == expected
    assert len(indexed) >= INDEX_EVERY


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_searching_never_fails_and_every_word_of_a_body_finds_it(post: Any, body: str) -> None:
    sent = post.send(body=body).id
    found(post, body, limit=1)
    for word in body.split():
        assert sent in found(post, word, limit=5), word
