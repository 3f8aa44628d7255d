from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.errors import InvalidError, NotFoundError, RefusedError, TooLargeError
from whisk.mail.address import (
    CONCRETE_KINDS,
    SELECTOR_KINDS,
    MailAddress,
    check_address,
    parse_address,
    unique,
)
from whisk.mail.selector import concrete, expand


def address(text: str) -> MailAddress:
    kind, _, id_ = text.partition(":")
    return MailAddress(kind=kind, id=id_)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run:run_01", "run:run_01"),
        ("  pty : pty_1 ", "pty:pty_1"),
        ("RUN:Run_01", "run:Run_01"),
        ("workitem:i", "work-item:i"),
        ("work_item:i", "work-item:i"),
        ("Work-Item:i", "work-item:i"),
        ("@workitem:i", "@work-item:i"),
        ("@work_item:i", "@work-item:i"),
        ("@idle:p", "@idle:p"),
        ("session:ünïcode-名前", "session:ünïcode-名前"),
    ],
)
def test_an_address_is_read_with_its_aliases(text: str, expected: str) -> None:
    assert str(parse_address(text)) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "mail address required"),
        ("   ", "mail address required"),
        ("run", "mail address must be kind:id"),
        (":x", "mail address kind required"),
        ("human:bob", 'unsupported mail address kind "human"'),
        ("run:", "mail address id required"),
        ("run:  ", "mail address id required"),
        ("run:a b", 'invalid mail address id "a b"'),
        ("run:a:b", 'invalid mail address id "a:b"'),
        ("run:a,b", 'invalid mail address id "a,b"'),
        ("run:a\x1b[2Jb", r'invalid mail address id "a\\x1b\[2Jb"'),
        ("run:a\u202eb", r'invalid mail address id "a\\u202eb"'),
        ("run:a\0b", "holds a NUL"),
        ("run:a\ud83d", "not valid Unicode"),
        ("@idle", "mail selector @idle needs an id"),
        ("@project:", "mail address id required"),
    ],
)
def test_a_malformed_address_is_refused_by_name(text: str, error: str) -> None:
    with pytest.raises(InvalidError, match=error):
        parse_address(text)


def test_an_id_has_a_limit() -> None:
    with pytest.raises(TooLargeError, match="mail address id exceeds 200 bytes"):
        parse_address("run:" + "x" * 201)


def test_two_kinds_with_one_id_are_two_addresses() -> None:
    assert parse_address("run:12") != parse_address("session:12")


def test_a_list_keeps_the_first_of_each_and_its_order() -> None:
    given = [parse_address(text) for text in ("run:b", " pty:a", "RUN:b", "run:B")]
    assert [str(one) for one in unique(given)] == ["run:b", "pty:a", "run:B"]


def test_an_address_object_must_be_canonical() -> None:
    assert check_address(address("work-item:i")) == address("work-item:i")
    for kind in ("workitem", "RUN", "human"):
        with pytest.raises(InvalidError, match=f'unsupported mail address kind "{kind}"'):
            check_address(MailAddress(kind=kind, id="x"))
    with pytest.raises(InvalidError, match="mail address kind required"):
        check_address(MailAddress(kind="", id="x"))
    with pytest.raises(InvalidError, match="mail address id required"):
        check_address(MailAddress(kind="run", id=""))


@given(
    st.sampled_from([*CONCRETE_KINDS, *SELECTOR_KINDS]),
    st.text(st.characters(exclude_characters=",:", exclude_categories=["Z", "C"]), min_size=1, max_size=40),
)
def test_every_address_survives_being_written_and_read(kind: str, id_: str) -> None:
    whole = MailAddress(kind=kind, id=id_)
    assert parse_address(str(whole)) == whole


@given(st.text())
def test_any_text_is_an_address_or_an_invalid_one(text: str) -> None:
    try:
        found = parse_address(text)
    except (InvalidError, TooLargeError) as error:
        # The message goes to terminals and logs.
        assert all(char.isprintable() for char in str(error))  # noqa: PT017
    else:
        assert parse_address(str(found)) == found


def test_a_selector_is_only_a_recipient() -> None:
    with pytest.raises(InvalidError, match="mail group selector @project must be expanded before storage"):
        concrete(address("@project:p"))
    with pytest.raises(InvalidError, match="from: mail group selector @idle must be"):
        concrete(address("@idle:p"), "from")


def test_a_selector_is_replaced_in_place_and_nobody_is_named_twice() -> None:
    workers = {"@project:p": ["run:1", "run:2"], "@work-item:i": ["run:2"]}
    found = expand(
        [address("run:0"), address("@project:p"), address("run:1"), address("@work-item:i")],
        lambda selector: [address(text) for text in workers[str(selector)]],
    )
    assert [str(one) for one in found] == ["run:0", "run:1", "run:2"]


def test_a_selector_for_nobody_is_an_error() -> None:
    with pytest.raises(RefusedError, match="mail selector @project:p resolved to no recipients"):
        expand([address("run:1"), address("@project:p")], lambda _: [])


def test_an_unknown_project_is_the_finders_refusal() -> None:
    def find(selector: MailAddress) -> list[MailAddress]:
        raise NotFoundError(f"project {selector.id} not found")

    with pytest.raises(NotFoundError, match="project p not found"):
        expand([address("@project:p")], find)
