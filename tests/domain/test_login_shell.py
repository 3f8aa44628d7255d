"""Programs through login shells: real shells, which must hand on every byte of every argument."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from whisk.errors import RefusedError
from whisk.profiles.login_shell import through_login_shell

NASTY = (
    *("", " ", "-l", "--", "-c", "it's", '"', "\\", "\\\\'", "a\\", "$HOME ${HOME} $(id) `id`", "*", "~", "a\nb\n"),
    *("; exit 3", "#", "!!", "{a,b}", "<x >y &", "é日", "%s", "\t", "x" * 100_000),
)
ECHO = (sys.executable, "-c", "import sys; sys.stdout.write('\\0'.join(sys.argv[1:])); sys.exit(7)")


@pytest.mark.parametrize("name", ["sh", "dash", "bash", "zsh", "fish"])
def test_a_shell_hands_on_every_argument_and_the_exit_code(name: str, tmp_path: Path) -> None:
    shell = shutil.which(name)
    if shell is None:
        pytest.skip(f"{name} is not installed")
    argv = through_login_shell((*ECHO, *NASTY), {"SHELL": shell})
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(argv, capture_output=True, env=env, timeout=60, check=False)
    assert (done.stdout.decode().split("\0"), done.stderr, done.returncode) == (list(NASTY), b"", 7)


def test_what_the_start_files_set_is_there(tmp_path: Path) -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("bash is not installed")
    (tmp_path / ".bash_profile").write_text("export NVM=here\n")
    argv = through_login_shell(("sh", "-c", "echo $NVM"), {"SHELL": shell})
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    assert subprocess.run(argv, capture_output=True, env=env, timeout=60, check=True).stdout == b"here\n"


def test_without_a_shell_of_the_person_it_is_sh() -> None:
    assert through_login_shell(("claude",), {}) == ("sh", "-lc", 'exec "$@"', "sh", "claude")


@pytest.mark.parametrize("shell", ["/bin/tcsh", "/usr/bin/nu", "/usr/bin/xonsh"])
def test_a_shell_of_another_language_is_refused(shell: str) -> None:
    with pytest.raises(RefusedError, match=f"cannot be started through {shell}"):
        through_login_shell(("claude",), {"SHELL": shell})
