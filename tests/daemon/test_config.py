"""The settings file: what is wrong in it is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from whisk.daemon.config import Seconds, Settings, check_addr, load
from whisk.errors import InvalidError


def settings(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load(file)


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path / "none.toml") == Settings()


def test_every_table_is_typed(tmp_path: Path) -> None:
    loaded = settings(
        tmp_path,
        '[daemon]\naddr = "127.0.0.1:0"\ndrain = 2\n[terminal]\nring_bytes = 4096\n[prompts]\nlimit = "1m30s"\n'
        '[mail]\nmax_hops = 0\n[profiles.aider]\nargv = ["aider", "{prompt}"]\n',
    )
    assert (loaded.mail.max_hops, loaded.mail.max_per_minute) == (0, 60)
    assert loaded.daemon.addr == "127.0.0.1:0"
    assert loaded.daemon.drain == Seconds(2)
    assert loaded.terminal.ring_bytes == 4096
    assert loaded.prompts.limit == 90
    assert [profile.id for profile in loaded.profiles][-1] == "aider"


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("[deamon]\n", "deamon", "did you mean daemon?"),
        ("[daemon]\nadr = 1\n", "daemon.adr", "did you mean daemon.addr?"),
        ("[daemon]\nallow-remote = true\n", "daemon.allow-remote", "did you mean daemon.allow_remote?"),
        ("[daemon]\naddr = 1\n", "daemon.addr", "expected `str`, got `int`"),
        ("[daemon]\nzzz = 1\n", "daemon.zzz", "known here: addr"),
        ('[prompts]\nlimit = "soon"\n', "prompts.limit", "expected a duration"),
        ('[prompts]\nlimit = "-1s"\n', "prompts.limit", "expected a duration"),
        ('[prompts]\nafter = "maybe"\n', "prompts.after", "invalid enum value 'maybe'"),
        ('[prompts]\nafter = "default"\n', "prompts", "prompts: after = default needs a default answer"),
        ("[mail]\nmax_hops = -1\n", "mail.max_hops", "expected `int` >= 0"),
        ("[profiles.x]\nargs = []\n", "profiles.x.args", "did you mean profiles.x.argv?"),
        ('[profiles.y]\nargv = ["y"]\n[profiles.x]\nlabel = "X"\n', "profiles.x", "missing required field `argv`"),
        ('[profiles.x]\nargv = ["x", 5]\n', "profiles.x.argv[1]", "got `int`"),
        ('[profiles.x]\nargv = ["x"]\nenv = {A = "1", B = 2}\n', "profiles.x.env.B", "expected `str`, got `int`"),
        ('[prompts.hook_limits]\nclaude = "1m"\ncodex = "x"\n', "prompts.hook_limits.codex", "expected a duration"),
        ("[profiles.x]\nargv = []\n", "profiles", "profiles.x: argv must begin with the program"),
        ("daemon = 3\n", "daemon", "expected `object`"),
        ("[daemon\n", "", "at line 1"),
        ("\xff", "", "not TOML"),
    ],
)
def test_a_mistake_is_refused_with_its_place(tmp_path: Path, text: str, place: str, hint: str) -> None:
    with pytest.raises(InvalidError) as refused:
        settings(tmp_path, text)
    assert f"{tmp_path / 'config.toml'}" in str(refused.value)
    assert hint in str(refused.value)
    assert refused.value.details.get("place", "") == place


@pytest.mark.parametrize("addr", ["127.0.0.1:0", "localhost:80", "[::1]:8787", "127.0.0.2:1"])
def test_loopback_needs_no_permission(addr: str) -> None:
    check_addr(addr, allow_remote=False)


@pytest.mark.parametrize("addr", ["0.0.0.0:8787", "[::]:1", "192.168.0.1:80", "example.org:80"])
def test_an_address_others_can_reach_needs_permission(addr: str) -> None:
    with pytest.raises(InvalidError, match="-allow-remote"):
        check_addr(addr, allow_remote=False)
    check_addr(addr, allow_remote=True)


@pytest.mark.parametrize("addr", ["", "8787", "127.0.0.1", "127.0.0.1:http", ":80", "127.0.0.1:70000"])
def test_a_malformed_address_is_refused(addr: str) -> None:
    with pytest.raises(InvalidError, match="host:port"):
        check_addr(addr, allow_remote=True)
