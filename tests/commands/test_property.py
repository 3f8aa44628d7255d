"""What must hold for any commands, names, texts and answers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.commands.shelf import batch, command, everywhere, palette_ids
from whisk.commands import (
    CommandRuntime,
    ContributionError,
    ExecutionInput,
    PaletteProjection,
    Projections,
    SlashArguments,
    SlashText,
    SlashWord,
    catalog_commands,
    parse_catalog,
)
from whisk.commands.data import freeze, thaw
from whisk.commands.projection import SURFACES, canonical_keys
from whisk.commands.slash import check_grammar, complete, hint, parse, split_alias
from whisk.errors import InvalidError
from whisk.values import decode, encode

# Everything that UTF-8 can hold, but for NUL.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
NAME = TEXT.map(str.strip).filter(bool)
WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(WORD, JSON, max_size=3)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(st.lists(st.tuples(NAME, st.integers(-3, 3)), unique_by=lambda pair: pair[0], max_size=12), st.randoms())
def test_the_order_is_the_explicit_one_then_the_bytes_of_the_id(named: list[tuple[str, int]], chance: Any) -> None:
    runtime = CommandRuntime()
    shuffled = list(named)
    chance.shuffle(shuffled)
    for name, order in shuffled:
        shown = Projections(palette=PaletteProjection(order=order))
        runtime.contribute("s", "a", [command(f"a.{name}", title="t", projections=shown)])
    wanted = sorted(named, key=lambda pair: (pair[1], f"a.{pair[0]}".encode()))
    assert palette_ids(runtime.snapshot()) == [f"a.{name}" for name, _ in wanted]


@quick
@given(st.lists(st.sampled_from(["a.1", "a.2", "a.3", "b.1", " ", "a."]), min_size=1, max_size=5), st.booleans())
def test_a_contribution_is_admitted_whole_or_leaves_no_trace(ids: list[str], taken: bool) -> None:
    runtime = CommandRuntime()
    if taken:
        runtime.contribute("s", "a", batch(["a.2"]))
    before = runtime.snapshot()
    try:
        lease = runtime.contribute("s", "a", batch(ids, title="t"))
    except ContributionError:
        assert runtime.snapshot() is before
        return
    assert set(palette_ids(runtime.snapshot())) == {*ids, *(["a.2"] if taken else [])}
    assert lease.dispose()
    assert runtime.snapshot() == before


@quick
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["dispose", "update", "again"])), max_size=20))
def test_a_lease_touches_its_own_generation_only(steps: list[tuple[int, str]]) -> None:
    runtime = CommandRuntime()
    leases = [runtime.contribute("s", f"n{n}", batch([f"n{n}.x"])) for n in range(5)]
    live = {n: f"n{n}.x" for n in range(5)}
    for n, step in steps:
        if step == "dispose":
            assert leases[n].dispose() == (n in live)
            live.pop(n, None)
        elif step == "update":
            assert leases[n].update(batch([f"n{n}.y"])) == (n in live)
            live |= {n: f"n{n}.y"} if n in live else {}
        elif n not in live:
            stale, leases[n] = leases[n], runtime.contribute("s", f"n{n}", batch([f"n{n}.x"]))
            live[n] = f"n{n}.x"
            assert not stale.dispose()
        assert palette_ids(runtime.snapshot()) == sorted(live.values())


@quick
@given(st.lists(st.booleans(), max_size=12))
def test_a_snapshot_is_the_same_object_just_as_long_as_nothing_changes(flips: list[bool]) -> None:
    from whisk.commands import AVAILABLE, unavailable

    facts = {"on": True}
    runtime = CommandRuntime()
    runtime.contribute(
        "s", "a", [command("a.x", availability=lambda: AVAILABLE if facts["on"] else unavailable("off"))]
    )
    shown = runtime.snapshot()
    for on in flips:
        changed, facts["on"] = on != facts["on"], on
        again = runtime.snapshot()
        assert (again is not shown) == changed
        assert again.palette[0].available == on
        shown = again


def test_a_snapshot_taken_under_churn_is_never_torn() -> None:
    """Each contribution has ten commands on each surface, so every count is a multiple of ten."""
    runtime = CommandRuntime()
    stop = threading.Event()
    torn: list[Any] = []

    def look() -> None:
        while not stop.is_set():
            shown = runtime.snapshot()
            counts = {len(getattr(shown, surface)) for surface in SURFACES}
            ids = [row.command_id for row in shown.palette]
            if len(counts) > 1 or counts.pop() % 10 or ids != sorted(ids):
                torn.append(shown)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(30):
            leases = [
                runtime.contribute(
                    "s",
                    f"n{n}",
                    [command(f"n{n}.{each}", projections=everywhere(f"n{n}.{each}")) for each in range(10)],
                )
                for n in range(5)
            ]
            for n, lease in enumerate(leases):
                lease.update(
                    [command(f"n{n}.{each}", projections=everywhere(f"x{n}.{each}")) for each in range(10, 20)]
                )
                lease.dispose()
    finally:
        stop.set()
        for looker in lookers:
            looker.join(10)
    assert torn == []


@quick
@given(JSON)
def test_frozen_json_is_the_same_json(value: Any) -> None:
    frozen = freeze(value, "value")
    assert thaw(frozen) == value
    assert decode(encode(frozen), Any) == value  # type: ignore[arg-type]
    if isinstance(frozen, Mapping):
        with pytest.raises(TypeError):
            frozen["x"] = 1  # type: ignore[index]


@st.composite
def grammars(draw: Any) -> SlashArguments:
    phrases = draw(st.lists(st.lists(WORD, min_size=1, max_size=2).map(" ".join), unique=True, max_size=4))
    words = tuple(SlashWord(word=word, arguments=draw(OBJECT)) for word in phrases)
    text = SlashText(field="the field", arguments=draw(OBJECT), request_id_field="the request", hint=draw(WORD))
    has_text = not words or draw(st.booleans())
    return check_grammar(SlashArguments(words=words, text=text if has_text else None), "arguments")


@quick
@given(grammars(), TEXT, WORD)
def test_what_is_parsed_is_what_was_written(grammar: SlashArguments, text: str, request: str) -> None:
    words = {each.word: each.arguments for each in grammar.words}
    typed = text.strip()
    if not typed or (grammar.text is None and typed not in words):
        with pytest.raises(InvalidError) as refused:
            parse(grammar, text, request)
        assert refused.value.details["hint"] == hint(grammar, "")
        return
    parsed = parse(grammar, text, request).arguments
    if typed in words:
        assert parsed == words[typed]
    else:
        assert grammar.text is not None
        assert parsed == {**grammar.text.arguments, "the field": typed, "the request": request}


@quick
@given(grammars(), st.data())
def test_every_completion_of_every_beginning_parses_to_its_word(grammar: SlashArguments, data: Any) -> None:
    for each in grammar.words:
        begun = each.word[: data.draw(st.integers(0, len(each.word) - 1))]
        found = [completion.text for completion in complete(grammar, begun)]
        assert each.word in found
        assert all(text.startswith(begun) for text in found)
        assert parse(grammar, each.word).arguments == each.arguments
        assert hint(grammar, each.word) == ""
    assert set(hint(grammar, "").split(" | ")) >= {each.word for each in grammar.words}


@quick
@given(st.lists(st.lists(WORD, min_size=1, max_size=3).map(" ".join), unique=True, min_size=1, max_size=5), TEXT)
def test_a_line_belongs_to_its_longest_alias(aliases: list[str], rest: str) -> None:
    known = dict.fromkeys(aliases)
    for alias in aliases:
        found = split_alias(f"{alias} {rest}", known)
        assert found is not None
        assert f"{found[0]} {found[1]}".startswith(alias)
        assert found[0].startswith(alias)
        assert split_alias(alias, known) == (alias, "")


@quick
@given(st.permutations(["ctrl", "alt", "shift", "meta"]), st.integers(0, 4), WORD | st.just("+"))
def test_keys_have_one_form(modifiers: list[str], count: int, key: str) -> None:
    used = modifiers[:count]
    written = "+".join([*used, key])
    canonical = canonical_keys(written)
    assert canonical == canonical_keys(written.upper()) or key.upper().lower() != key.lower()
    assert canonical_keys(canonical) == canonical
    assert canonical.endswith(key.lower())


@quick
@given(
    st.lists(NAME, unique=True, max_size=4),
    st.sampled_from(["drop", "rename", "type", "double", "extra"]),
    st.sampled_from(["id", "title", "category"]),
)
def test_a_catalog_that_parses_is_admitted_and_a_spoilt_one_is_refused(
    names: list[str], fault: str, field: str
) -> None:
    commands: list[dict[str, Any]] = [{"id": f"a.{name}", "title": "t", "category": "c"} for name in names]
    catalog: dict[str, Any] = {"version": "whistle.catalog/v1", "namespace": "a", "commands": commands}
    runtime = CommandRuntime()
    runtime.contribute("s", "a", catalog_commands(parse_catalog(encode(catalog)), lambda *_: {"step": "done"}))
    for each in commands:
        assert runtime.execute(each["id"], ExecutionInput("agent")).__class__.__name__ == "Handled"
    if not commands:
        return
    spoilt = commands[-1]
    match fault:
        case "drop":
            del spoilt[field]
        case "rename":
            spoilt["id"] = "b.x"
        case "type":
            spoilt[field] = 1
        case "double":
            commands.append(dict(spoilt))
        case "extra":
            spoilt["presentation"] = {"kind": "form"}
    with pytest.raises(InvalidError):
        parse_catalog(catalog)


@quick
@given(st.one_of(JSON, st.binary(max_size=40), st.text(max_size=40)))
def test_no_value_at_all_breaks_the_reader_of_catalogs(value: Any) -> None:
    with contextlib.suppress(InvalidError):
        parse_catalog(value)
