"""Codex' trust in hooks: the right hash at the right position, and not one other byte of config.toml."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whisk.errors import InvalidError
from whisk.hooks.install import codex_trust as trust
from whisk.hooks.install.hook_document import Placed, install, placed, remove

SOURCE = "/home/u/.codex/hooks.json"
OURS = {"type": "command", "command": "/c/whisk-hook-helper agent-bridge hook -provider codex", "timeout": 600}
WANTED = {name: {"hooks": [OURS]} for name in ("PreToolUse", "Stop")}


def hook(event: str, command: str, matcher: str | None = None, **more: object) -> Placed:
    return Placed(event, 0, 0, matcher, {"type": "command", "command": command, **more})


@pytest.mark.parametrize(
    ("placed_hook", "digest"),
    [
        (hook("SessionStart", "repowire hook session --backend=codex", "startup|resume|clear"), "de1c943b80a4f3e5"),
        (hook("Stop", "repowire hook stop --backend=codex"), "8c71eb47c0ea4dcc"),
        (hook("UserPromptSubmit", "repowire hook prompt --backend=codex"), "4b89aa826ab51da3"),
        (hook("Stop", "/usr/bin/true", timeout=30), "277db6aed273bedb"),
        (hook("SessionStart", "/usr/bin/true", "startup", statusMessage="hi"), "b0591b6b53ab9bfb"),
        (hook("Stop", "/opt/outil-é/hook"), "e6cf822354f5dc3f"),
        (hook("SessionEnd", "repowire hook session --backend=codex", timeout=1), "dfdfcf7264e2dd70"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.event,
)
def test_a_hash_is_the_one_that_codex_computes(placed_hook: Placed, digest: str) -> None:
    assert trust.hash_of(placed_hook).startswith(f"sha256:{digest}")


def test_a_matcher_of_an_event_that_takes_none_and_default_times_count_for_nothing() -> None:
    assert trust.hash_of(hook("Stop", "x", "any")) == trust.hash_of(hook("Stop", "x"))
    assert trust.hash_of(hook("Stop", "x", timeout=600)) == trust.hash_of(hook("Stop", "x"))
    assert trust.hash_of(hook("SessionEnd", "x", timeout=86400)) == trust.hash_of(hook("SessionEnd", "x", timeout=3))
    assert trust.hash_of(hook("PreToolUse", "x", "any")) != trust.hash_of(hook("PreToolUse", "x"))


def after_install(hooks: str | None, config: str | None) -> tuple[str, str, Any]:
    """Both files after an install, and the trace."""
    text, trace = install(hooks, WANTED)
    states = trust.wanted_states(placed(hooks), placed(text), SOURCE, config)
    return text, trust.write_states(config, states), trace


def after_removal(hooks: str, config: str, trace: Any) -> tuple[str | None, str]:
    text = remove(hooks, trace)
    states = trust.wanted_states(placed(hooks), placed(text), SOURCE, config)
    return text, trust.write_states(config, states)


CONFIGS = [
    "",
    "\n",
    "   \n",
    "# only a comment",
    'model = "gpt-5.5"',
    'model = "gpt-5.5"\n\n[features]\nhooks = true # mine\n\n\n# the end\n',
    '\ufeffmodel = "x"\r\n[a]\r\nb = """\r\nlines\r\n"""\r\n',
    f'[hooks.state."{SOURCE}:session_start:0:0"]\ntrusted_hash = "sha256:1"\nenabled = false\n',
    '[hooks.state."/other/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n\n[z]\n',
    "[hooks.state]\n",
    '[hooks]\nStop = [{ hooks = [{ type = "command", command = "x" }] }]\n[z]\na = nan\n',
    '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "x"\n',
    '[hooks.state]\n"/o/hooks.json:stop:0:0" = { trusted_hash = "x" } # note\n[q]\nx = 1\n',
]


@pytest.mark.parametrize("config", CONFIGS)
def test_install_then_remove_leaves_config_toml_as_it_was(config: str) -> None:
    hooks, trusted, trace = after_install(None, config)
    read = trust.states(trusted)
    for each in placed(hooks):
        assert read[trust.key_of(each, SOURCE)]["trusted_hash"] == trust.hash_of(each)
    assert after_removal(hooks, trusted, trace) == (None, config)


printable = st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs"])
tables = st.dictionaries(
    st.text("abcé. \"'", min_size=1, max_size=5),
    st.integers(-5, 5) | st.booleans() | st.text(printable, max_size=5) | st.lists(st.integers(0, 3), max_size=2),
    max_size=3,
)


@given(st.dictionaries(st.text("xyz-", min_size=1, max_size=4), tables, max_size=4), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=60, deadline=None)
def test_any_config_comes_back_byte_for_byte(document: dict[str, dict[str, Any]], newline: str) -> None:
    lines = ["# mine", ""]
    for name, table in document.items():
        lines.append(f"[{json.dumps(name)}]")
        for key, value in table.items():
            lines.append(f"{json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}  # {len(lines)}")
        lines.append("")
    config = newline.join(lines)
    hooks, trusted, trace = after_install(None, config)
    assert tomllib.loads(trusted) | {"hooks": None} == tomllib.loads(config) | {"hooks": None}
    assert ("\n" in trusted.replace("\r\n", "")) is (newline == "\n")
    assert after_removal(hooks, trusted, trace) == (None, config)


def test_a_second_install_changes_nothing_and_a_new_time_is_trusted_in_place() -> None:
    hooks, config, _ = after_install(None, CONFIGS[5])
    assert after_install(hooks, config)[:2] == (hooks, config)
    changed = hooks.replace('"timeout": 600', '"timeout": 5')
    again, config2, _ = after_install(changed, config)
    assert (again, config2) == (hooks, config)


def test_a_hook_that_the_person_switched_off_stays_off() -> None:
    hooks, config, _ = after_install(None, "")
    header = f'\n\n[hooks.state."{SOURCE}:stop'
    off = config.replace(header, "\nenabled = false" + header)
    assert sum("enabled" in state for state in trust.states(off).values()) == 1
    assert after_install(hooks, off)[1] == off


def test_hooks_of_others_that_move_take_their_trust_along() -> None:
    """A hook that somebody added behind ours moves up when ours goes."""
    theirs = {"hooks": [{"type": "command", "command": "/b"}]}
    hooks, config, trace = after_install(None, 'model = "x"\n')
    document = json.loads(hooks)
    document["hooks"]["Stop"].append(theirs)
    hooks = json.dumps(document)
    key = f"{SOURCE}:stop:1:0"
    config = trust.write_states(config, trust.states(config) | {key: {"trusted_hash": "sha256:b", "enabled": False}})
    removed, left = after_removal(hooks, config, trace)
    assert [each.handler for each in placed(removed)] == theirs["hooks"]
    assert trust.states(left) == {f"{SOURCE}:stop:0:0": {"trusted_hash": "sha256:b", "enabled": False}}
    assert left.startswith('model = "x"\n')


def test_ours_that_somebody_moved_is_trusted_where_it_is_now() -> None:
    hooks, config, _ = after_install(None, "")
    document = json.loads(hooks)
    document["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "/first"}]})
    again, trusted, _ = after_install(json.dumps(document), config)
    ours = next(each for each in placed(again) if each.event == "Stop" and each.ours)
    assert (ours.group, trust.states(trusted)[f"{SOURCE}:stop:1:0"]["trusted_hash"]) == (1, trust.hash_of(ours))
    assert f"{SOURCE}:stop:0:0" not in trust.states(trusted)


def test_a_leftover_of_another_hook_at_our_position_does_not_count() -> None:
    config = f'[hooks.state."{SOURCE}:stop:0:0"]\ntrusted_hash = "sha256:old"\n'
    hooks, trusted, _ = after_install(None, config)
    ours = next(each for each in placed(hooks) if each.event == "Stop")
    assert trust.states(trusted)[f"{SOURCE}:stop:0:0"] == {"trusted_hash": trust.hash_of(ours)}


def test_paths_with_quotes_and_backslashes_are_escaped() -> None:
    source = 'C:\\x "y"\x7f/é/hooks.json'
    text, _ = install(None, WANTED)
    config = trust.write_states("", trust.wanted_states([], placed(text), source, ""))
    assert f"{source}:stop:0:0" in trust.states(config)


def test_inline_states_are_added_to_and_taken_from_in_their_own_way() -> None:
    config = 'hooks = { state = { "/o:stop:0:0" = { trusted_hash = "x" } } } # note\nmodel = "m"\n'
    hooks, trusted, trace = after_install(None, config)
    assert len(trust.states(trusted)) == 3
    assert trusted.endswith('# note\nmodel = "m"\n')
    assert trust.states(after_removal(hooks, trusted, trace)[1]) == trust.states(config)


@pytest.mark.parametrize("config", ["a = ", "[a\n", "a = 1\na = 2\n"])
def test_what_is_no_toml_is_refused(config: str) -> None:
    with pytest.raises(InvalidError, match="not TOML"):
        after_install(None, config)


@pytest.mark.parametrize("config", ["hooks = 5\n", "[hooks]\nstate = 1\n"])
def test_a_state_that_is_no_table_is_refused(config: str) -> None:
    with pytest.raises(InvalidError, match=r"hooks\.state is no table"):
        after_install(None, config)


def test_switched_off_hooks_are_noticed() -> None:
    assert trust.hooks_are_off("[features]\nhooks = false\n")
    assert not trust.hooks_are_off("[features]\nhooks_foo = false\n")
    assert not trust.hooks_are_off(None)
