"""Agent profiles: which one, its exact command line, and what the config file may say."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whisk.errors import InvalidError, RefusedError, TooLargeError
from whisk.profiles.builtin import BUILTIN
from whisk.profiles.detect import describe, detect
from whisk.profiles.launch import Launch, launch, search_path
from whisk.profiles.profile import Profile, choose, custom_profile, find, merge
from whisk.values import encode

ENVIRON = {"HOME": "/home/me", "PATH": "/usr/bin:/bin", "SHELL": "/bin/zsh", "OPENROUTER_API_KEY": "sk-or-1"}


def start(profile_id: str, prompt: str = "", system: str = "", **environ: str) -> Launch:
    return launch(find(BUILTIN, profile_id), prompt, system, {**ENVIRON, **environ})


def test_the_builtin_profiles_come_in_their_order() -> None:
    assert [profile.id for profile in BUILTIN] == [
        "claude",
        "claude-plan",
        "claude-openrouter",
        "codex",
        "codex-plan",
        "gemini",
        "opencode",
        "plain-shell",
        "prompt-capture",
    ]


OWN = ("-c", "features.daemon_auto_start=false")


@pytest.mark.parametrize(
    ("profile_id", "argv"),
    [
        ("claude", ("claude", "P")),
        ("claude-plan", ("claude", "--permission-mode", "plan", "P")),
        (
            "claude-openrouter",
            ("claude", "--print", "--max-budget-usd", "0.05", "--allowedTools=Bash(whisk question ask*)", "P"),
        ),
        ("codex", ("codex", *OWN, "P")),
        ("codex-plan", ("codex", "--sandbox", "read-only", *OWN, "P")),
        ("gemini", ("gemini", "--prompt-interactive=P")),
        ("opencode", ("opencode", "--prompt=P")),
        ("plain-shell", ("/bin/zsh",)),
        ("prompt-capture", ("cat",)),
    ],
)
def test_every_builtin_has_exactly_this_command_line(profile_id: str, argv: tuple[str, ...]) -> None:
    assert start(profile_id, "P").argv == argv


@pytest.mark.parametrize(
    ("profile_id", "argv"),
    [
        ("claude", ("claude", "--append-system-prompt", "S", "P")),
        ("claude-plan", ("claude", "--permission-mode", "plan", "--append-system-prompt", "S", "P")),
        ("codex", ("codex", *OWN, "-c", 'developer_instructions="S"', "P")),
        ("gemini", ("gemini", "--prompt-interactive=S\n\nP")),
        ("opencode", ("opencode", "--prompt=S\n\nP")),
        ("plain-shell", ("/bin/zsh",)),
    ],
)
def test_a_system_prompt_goes_where_the_program_takes_it(profile_id: str, argv: tuple[str, ...]) -> None:
    assert start(profile_id, "P", "S").argv == argv


@pytest.mark.parametrize("profile", BUILTIN, ids=lambda profile: str(profile.id))
def test_without_a_prompt_nothing_is_appended(profile: Profile) -> None:
    started = launch(profile, "", "", ENVIRON)
    assert not any("{" in word or word.endswith("=") for word in started.argv)
    assert started.typed == ""


def test_shell_profiles_get_the_prompt_typed_and_ignore_the_system_prompt() -> None:
    for profile_id in ("plain-shell", "prompt-capture"):
        assert start(profile_id, "echo hi", "be brief").typed == "echo hi\n"
    assert start("claude", "P").typed == ""


def test_a_shell_is_found_without_shell_being_set() -> None:
    assert launch(find(BUILTIN, "plain-shell"), "", "", {"PATH": "/bin"}).argv == ("sh",)


@pytest.mark.parametrize(
    ("profile_id", "tail"),
    [
        ("claude", ("--", "--version")),
        ("codex", ("--", "--version")),
        ("gemini", ("--prompt-interactive=--version",)),
        ("opencode", ("--prompt=--version",)),
    ],
)
def test_a_prompt_that_looks_like_an_option_is_a_prompt(profile_id: str, tail: tuple[str, ...]) -> None:
    assert start(profile_id, "--version").argv[-len(tail) :] == tail


def test_a_prompt_is_never_expanded() -> None:
    text = "cost is ${HOME} {system} {prompt} $(rm -rf /) `x` {prompt:toml}"
    assert start("claude", text, "S").argv[-1] == text


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1))
@example('\x7f\n"\\')
def test_codex_reads_back_the_system_prompt_that_was_given(text: str) -> None:
    word = start("codex", "P", text).argv[4]
    assert tomllib.loads(word) == {"developer_instructions": text}


def test_openrouter_uses_its_key_and_empties_the_other() -> None:
    env = start("claude-openrouter", "P", ANTHROPIC_DEFAULT_OPUS_MODEL="mine").env
    assert env["ANTHROPIC_BASE_URL"] == "https://openrouter.ai/api"
    assert env["ANTHROPIC_AUTH_TOKEN"] == "sk-or-1"
    assert env["ANTHROPIC_API_KEY"] == ""
    assert env["ANTHROPIC_DEFAULT_OPUS_MODEL"] == "mine"
    assert env["ANTHROPIC_DEFAULT_SONNET_MODEL"] == "~anthropic/claude-haiku-latest"
    assert env["CLAUDE_CODE_SUBAGENT_MODEL"] == "~anthropic/claude-haiku-latest"


def test_a_profile_says_which_variable_it_misses() -> None:
    with pytest.raises(RefusedError, match="claude-openrouter needs OPENROUTER_API_KEY") as caught:
        launch(find(BUILTIN, "claude-openrouter"), "P", "", {"PATH": "/bin"})
    assert caught.value.details["variable"] == "OPENROUTER_API_KEY"


def test_the_path_knows_where_agents_are_installed_and_keeps_what_came_first() -> None:
    env = start("claude", PATH="/home/me/.nvm/bin::/usr/local/bin:/home/me/.nvm/bin").env
    assert env["PATH"] == "/home/me/.nvm/bin:/usr/local/bin:/opt/homebrew/bin:/home/me/.local/bin:/home/me/bin"
    assert search_path({}) == "/usr/bin:/bin:/opt/homebrew/bin:/usr/local/bin"


def test_a_prompt_that_no_argument_can_hold_is_refused() -> None:
    with pytest.raises(TooLargeError, match="prompt exceeds 131071 bytes"):
        start("claude", "x" * 131_072)
    with pytest.raises(TooLargeError):
        start("gemini", "x" * 131_071)
    assert len(start("claude", "x" * 131_071).argv[-1]) == 131_071
    with pytest.raises(InvalidError, match="NUL"):
        start("claude", "a\0b")


@pytest.mark.parametrize(
    ("explicit", "preset", "defaults", "expected"),
    [
        ("codex", "writer", {}, "codex"),
        ("", "writer", {"writer": "gemini"}, "gemini"),
        ("", "reader", {"writer": "gemini"}, "claude-plan"),
        ("", "reviewer", {}, "claude"),
        ("", "manager", {}, "claude"),
        ("", "something", {}, "plain-shell"),
        ("codex", "reader", {}, "codex-plan"),
        ("", "reader", {"reader": "codex"}, "codex-plan"),
    ],
)
def test_a_run_gets_the_profile_asked_for_else_its_projects_else_its_presets(
    explicit: str, preset: str, defaults: dict[str, str], expected: str
) -> None:
    assert choose(BUILTIN, explicit, preset, defaults).id == expected


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(InvalidError, match='unknown agent profile "x"'):
        choose(BUILTIN, "x", "writer")


def test_a_custom_profile_needs_only_its_command_line() -> None:
    (profile,) = merge((), {"aider": {"argv": ["aider", "--message", "{prompt}"]}})
    assert profile.info.prompt_injection_mode == "argv"
    assert profile.info.source == "config"
    assert profile.info.detect_cmd == "aider"
    started = launch(profile, "-x", "S", ENVIRON)
    assert started.argv == ("aider", "--message", "S\n\n-x")


def test_a_custom_profile_takes_groups_env_and_a_typed_prompt() -> None:
    table = tomllib.loads(
        """
        argv = ["mine", ["--system", "{system}"], "--home=${HOME}"]
        env = { MODEL = "${MODEL:-small}", KEY = "${OPENROUTER_API_KEY}" }
        provider = "mine"
        label = "Mine"
        detect = ["mine", "mine2"]
        """
    )
    profile = custom_profile("mine", table)
    started = launch(profile, "hello", "S", ENVIRON)
    assert started.argv == ("mine", "--system", "S", "--home=/home/me")
    assert started.env["MODEL"] == "small"
    assert started.env["KEY"] == "sk-or-1"
    assert started.typed == "hello\n"
    assert launch(profile, "", "", ENVIRON).argv == ("mine", "--home=/home/me")


def test_a_custom_profile_may_take_a_builtins_place() -> None:
    profiles = merge(BUILTIN, {"claude": {"argv": ["/opt/claude", "{prompt}"]}})
    assert [profile.id for profile in profiles] == [profile.id for profile in BUILTIN]
    assert launch(find(profiles, "claude"), "P", "", ENVIRON).argv == ("/opt/claude", "P")


@pytest.mark.parametrize(
    ("profile_id", "table", "sentence"),
    [
        ("Bad Id", {"argv": ["x"]}, "an id has small letters"),
        ("x", {}, r"profiles\.x: .*argv"),
        ("x", {"argv": "x"}, r"profiles\.x: .*array"),
        ("x", {"argv": []}, "argv must begin with the program"),
        ("x", {"argv": [["x"]]}, "argv must begin with the program"),
        ("x", {"argv": ["x"], "colour": 1}, "colour"),
        ("x", {"argv": ["x", "{prompt}", "{prompt}"]}, "2 times"),
        ("x", {"argv": ["x", "{promt}"], "prompt_injection": "argv"}, "holds no {prompt}"),
        ("x", {"argv": ["x", "{prompt}"], "prompt_injection": "none"}, "holds {prompt}"),
        ("x", {"argv": ["x"], "system_prompt": "argument"}, "does not fit argv"),
        ("x", {"argv": ["x", "a\0"]}, "NUL"),
        ("x", {"argv": ["x"], "env": {"A": 1}}, r"profiles\.x: .*str"),
    ],
)
def test_a_custom_profile_that_cannot_work_is_refused_by_name(
    profile_id: str, table: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidError, match=sentence):
        custom_profile(profile_id, table)


def test_a_program_that_asks_for_its_work_itself_is_not_given_the_prompt() -> None:
    profile = custom_profile("x", {"argv": ["x"], "prompt_injection": "none"})
    assert launch(profile, "P", "S", ENVIRON) == launch(profile, "", "", ENVIRON)
    assert launch(profile, "P", "S", ENVIRON).argv == ("x",)


def test_detection_looks_each_command_up_once_and_gives_paths() -> None:
    asked: list[str] = []

    def which(command: str) -> str | None:
        asked.append(command)
        return f"/bin/{command}" if command == "claude" else None

    found = detect(BUILTIN, which)
    assert [agent.profile_id for agent in found] == ["claude", "claude-plan", "claude-openrouter"]
    assert found[0].path == "/bin/claude"
    assert found[0].detect_command == "claude"
    assert asked == ["claude", "codex", "gemini", "opencode"]


def test_an_alias_is_found_too() -> None:
    profile = custom_profile("x", {"argv": ["${BIN:-x}"], "detect": ["x", "y"]})
    (found,) = detect((profile,), lambda command: "/bin/y" if command == "y" else None)
    assert (found.detect_command, found.path) == ("y", "/bin/y")


def test_the_list_of_profiles_says_which_are_installed() -> None:
    listed = describe(BUILTIN, lambda command: f"/bin/{command}" if command == "codex" else None)
    installed = {profile.id: profile.installed for profile in listed}
    assert installed["codex"] is True
    assert installed["claude"] is False
    assert installed["plain-shell"] is True
    assert next(profile.path for profile in listed if profile.id == "codex") == "/bin/codex"


def test_the_wire_record_has_the_contracts_names() -> None:
    wire = encode(find(BUILTIN, "codex").info)
    assert b'"promptInjectionMode":"argv"' in wire
    assert b'"hookProvider":"codex"' in wire
    assert b'"preflightTrust":"codex"' in wire
