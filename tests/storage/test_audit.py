"""The audit trail in a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import IntegrityError
from typing import Any

import pytest
from peewee import IntegrityError as PeeweeIntegrityError

from tests.captured import NOW, request
from whisk.bridges.policy import PolicyDraft, new_policy
from whisk.bridges.request import answered, close, ended
from whisk.bridges.resolution import Resolution, resolve
from whisk.errors import ConflictError
from whisk.matters.audit import AuditEntry, AuditFilter
from whisk.storage import audit
from whisk.storage import bridge as bridge_storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    yield store
    store.close()


@pytest.fixture
def writer(store: Store) -> GroupWriter:
    return GroupWriter(store)


def entry(number: int = 0, **fields: Any) -> AuditEntry:
    whole = {"who": "ada", "surface": "cli", "action": "allow", "noun": "approval", "id": "appr_1", **fields}
    return AuditEntry(at=NOW.plus(number), **whole)


def listed(store: Store, **chosen: Any) -> list[AuditEntry]:
    return store.read(lambda db: audit.select(db, AuditFilter(**chosen)))


def test_an_entry_cannot_be_changed(store: Store, writer: GroupWriter) -> None:
    writer.write(lambda db: audit.record(db, entry()))
    with pytest.raises((IntegrityError, PeeweeIntegrityError), match="stays"):
        writer.write(lambda db: db.execute_sql("UPDATE audit SET who = 'bob'"))
    assert [each.who for each in listed(store)] == ["ada"]


def test_the_number_of_a_deleted_entry_is_not_given_again(store: Store, writer: GroupWriter) -> None:
    for number in range(3):
        writer.write(lambda db, number=number: audit.record(db, entry(number)))
    assert writer.write(lambda db: audit.prune(db, NOW.plus(10))) == 3
    writer.write(lambda db: audit.record(db, entry(20)))
    assert [each.seq for each in listed(store)] == [4]


def test_pages_neither_skip_nor_repeat_though_all_have_one_time(store: Store, writer: GroupWriter) -> None:
    for number in range(50):
        writer.write(lambda db, number=number: audit.record(db, entry(id=f"appr_{number}")))
    found: list[str] = []
    after = 0
    while page := listed(store, after=after, limit=7):
        found += [each.id for each in page]
        after = page[-1].seq
    assert found == [f"appr_{number}" for number in range(50)]
    assert [each.id for each in listed(store, limit=2)] == ["appr_48", "appr_49"]


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        ({"who": "bob"}, ["c"]),
        ({"noun": "policy"}, ["b"]),
        ({"id": "a"}, ["a"]),
        ({"action": "deny"}, ["c"]),
        ({"outcome": "denied"}, ["c"]),
        ({"surface": "http"}, ["b"]),
        ({"project_id": "proj_1"}, ["a"]),
        ({"since": NOW.plus(1)}, ["b", "c"]),
        ({"until": NOW.plus(1)}, ["a"]),
        ({"who": "nobody"}, []),
    ],
)
def test_each_field_narrows(store: Store, writer: GroupWriter, chosen: dict[str, Any], ids: list[str]) -> None:
    entries = [
        entry(0, id="a", project_id="proj_1"),
        entry(1, id="b", noun="policy", surface="http"),
        entry(2, id="c", who="bob", action="deny", outcome="denied"),
    ]
    for each in entries:
        writer.write(lambda db, each=each: audit.record(db, each))
    assert [each.id for each in listed(store, **chosen)] == ids


def test_a_secret_in_a_reason_is_hidden(store: Store, writer: GroupWriter) -> None:
    writer.write(lambda db: audit.record(db, entry(reason="no: password=hunter22 is live", about="x\ny")))
    (found,) = listed(store)
    assert "hunter22" not in found.reason
    assert found.reason.startswith("no: password=")
    assert found.about == "x y"


def test_an_answer_is_recorded_with_who_gave_it_but_not_its_text(store: Store, writer: GroupWriter) -> None:
    asked = request("claude", "PreToolUse-AskUserQuestion")
    writer.write(lambda db: bridge_storage.insert_request(db, asked))
    assert listed(store) == []
    said = Resolution(answers=["the combination is 4711"] * len(asked.ask.questions))  # type: ignore[union-attr]
    closing = answered(asked, resolve(asked.ask, said), NOW.plus(1), "ada", surface="cli")
    writer.write(lambda db: bridge_storage.close_request(db, close(asked, closing)))
    (found,) = listed(store)
    assert (found.who, found.surface, found.action, found.outcome) == ("ada", "cli", "answer", "answered")
    assert (found.noun, found.id) == ("prompt", asked.id)
    rows = store.read(lambda db: db.execute_sql("SELECT doc FROM audit").fetchall())
    assert "4711" not in str(rows)


def test_who_comes_second_leaves_no_entry(store: Store, writer: GroupWriter) -> None:
    asked = request("claude", "PermissionRequest-Bash")
    writer.write(lambda db: bridge_storage.insert_request(db, asked))
    allow, deny = (
        close(asked, answered(asked, resolve(asked.ask, Resolution(answer=word)), NOW, who))
        for word, who in (("allow", "ada"), ("deny", "bob"))
    )
    writer.write(lambda db: bridge_storage.close_request(db, allow))
    with pytest.raises(ConflictError):
        writer.write(lambda db: bridge_storage.close_request(db, deny))
    assert [each.who for each in listed(store)] == ["ada"]


def test_a_rule_that_decides_is_named(store: Store, writer: GroupWriter) -> None:
    asked = request("claude", "PermissionRequest-Bash")
    answer = resolve(asked.ask, Resolution(answer="allow"))
    decided = close(asked, answered(asked, answer, NOW, "rule", "pol_1"))
    writer.write(lambda db: bridge_storage.insert_request(db, decided))
    (found,) = listed(store)
    assert (found.who, found.surface, found.rule_id, found.about) == ("rule", "rule", "pol_1", "Bash")


def test_a_wait_that_ended_by_itself_names_nobody(store: Store, writer: GroupWriter) -> None:
    first, second = request("claude", "PermissionRequest-Bash"), request("claude", "PermissionRequest-Bash")
    for each in (first, second):
        writer.write(lambda db, each=each: bridge_storage.insert_request(db, each))
    gone = close(first, ended("withdrawn", NOW, "agent", "hook_gone"))
    lost = close(second, ended("orphaned", NOW, "whiskd", "daemon_restarted"))
    for each in (gone, lost):
        writer.write(lambda db, each=each: bridge_storage.close_request(db, each))
    assert [(each.who, each.surface, each.action) for each in listed(store)] == [
        ("agent", "hook", "withdraw"),
        ("whiskd", "whiskd", "orphan"),
    ]


def test_adding_and_removing_a_rule_are_recorded(store: Store, writer: GroupWriter) -> None:
    rule = new_policy(PolicyDraft(effect="deny", rule="Bash(rm *)", actor="ada"), NOW)
    writer.write(lambda db: bridge_storage.insert_policy(db, rule, "http"))
    writer.write(lambda db: bridge_storage.delete_policy(db, rule.id, NOW.plus(5), "bob", "cli"))
    assert [(each.who, each.surface, each.action, each.about) for each in listed(store, id=rule.id)] == [
        ("ada", "http", "add", "deny Bash(rm *)"),
        ("bob", "cli", "remove", "deny Bash(rm *)"),
    ]
