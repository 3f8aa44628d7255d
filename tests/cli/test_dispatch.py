"""The whole command as a process: words, help, exit codes, pipes and keys."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whisk.cli import registry

HERE = Path(__file__).resolve().parents[2]


def whisk(*arguments: str, home: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("WHISK", "XDG_"))}
    clean |= {"HOME": str(home or "/nonexistent"), **env}
    command = [sys.executable, "-m", "whisk.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=clean, cwd=HERE, timeout=30, check=False)


@pytest.mark.parametrize("arguments", [[], ["help"], ["-h"], ["--help"]])
def test_the_list_names_every_noun_with_its_verbs(arguments: list[str]) -> None:
    done = whisk(*arguments)
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    text = " ".join(done.stdout.split())
    for words in registry.COMMANDS:
        noun, _, verb = words.rpartition(" ")
        shown = rf" {noun} ([a-z-]+, )*{verb}\b" if noun else rf" {words} {re.escape(registry.COMMANDS[words].summary)}"
        assert re.search(shown, text) or noun in registry.COMMANDS, words


def test_a_list_in_a_pipe_ends_with_where_to_go_on() -> None:
    assert "`whisk help <noun>`" in whisk("help").stdout


@pytest.mark.parametrize("arguments", [["help", "session", "pty"], ["session", "pty", "-h"]])
def test_a_noun_lists_its_verbs(arguments: list[str]) -> None:
    done = whisk(*arguments)
    assert done.returncode == 0
    assert "session pty output" in done.stdout
    assert "mail send" not in done.stdout


@pytest.mark.parametrize("arguments", [["version"], ["-version"], ["--version"]])
def test_version_is_printed(arguments: list[str]) -> None:
    done = whisk(*arguments)
    assert (done.returncode, done.stdout.split()[0]) == (0, "whisk")


@pytest.mark.parametrize(("arguments", "said"), [
    (["mial", "send"], "unknown command: mial; did you mean mail?"),
    (["mail", "sned"], "unknown command: mail sned; did you mean mail send?"),
    (["session", "pty", "oputput"], "did you mean session pty output?"),
    (["mail"], "whisk mail needs one more word: send, list"),
    (["-json"], "whisk needs one more word: daemon, doctor"),
    (["mail", "-json"], "whisk mail needs one more word: send, list"),
    (["help", "nonsense"], "unknown command: nonsense"),
    (["version", "-jsno"], "did you mean -json?"),
    (["version", "-url", "x"], "unknown option -url"),
])  # fmt: skip
def test_wrong_usage_is_exit_2_with_what_was_meant(arguments: list[str], said: str) -> None:
    done = whisk(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("arguments", [["help", "version"], ["version", "-h"], ["version", "--json", "--help"]])
def test_help_of_a_command_has_an_example(arguments: list[str]) -> None:
    done = whisk(*arguments)
    assert done.returncode == 0
    assert "Examples:\n  whisk version" in done.stdout


def test_shared_options_may_stand_first() -> None:
    assert whisk("-json", "version").stdout == whisk("version", "--json").stdout


@pytest.mark.parametrize("arguments", [
    ["-url", "http://127.0.0.1:1", "session", "pty", "list"],
    ["session", "-url", "http://127.0.0.1:1", "pty", "list"],
    ["session", "pty", "--url=http://127.0.0.1:1", "list", "sess_1"],
    ["session", "-json", "pty", "-url=http://127.0.0.1:1", "list", "--", "sess_1"],
])  # fmt: skip
def test_shared_options_may_stand_between_the_words(arguments: list[str]) -> None:
    done = whisk(*arguments)
    assert done.returncode == 3
    assert "unavailable at http://127.0.0.1:1" in done.stderr


def test_a_closed_pipe_is_quiet() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        command = [sys.executable, "-m", "whisk.cli.main", "help"]
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, cwd=HERE, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_terminal_encoding_without_the_character_is_no_traceback() -> None:
    done = whisk("help", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    program = (
        "import sys, os, signal\n"
        "from whisk.cli import dispatch\n"
        "from whisk.cli.main import main\n"
        "dispatch.load = lambda words: (print('ready', flush=True), signal.pause())\n"
        "sys.exit(main(['version']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HERE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "")


def test_listing_and_dispatching_import_nothing_heavy() -> None:
    program = (
        "import sys\nfrom whisk.cli.main import main\nmain(['version', '-json'])\n"
        "print([name for name in ('gevent', 'msgspec', 'peewee', 'http.client', 'urllib.request', 'socket',"
        " 'subprocess', 'whisk.errors', 'psutil', 'asyncio', 'email') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=HERE, timeout=30, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


NOT_UTF8 = b"caf\xe9"


@pytest.mark.parametrize("option", [[b"-subject", NOT_UTF8], [b"-subject=" + NOT_UTF8], [b"-to", b"run:" + NOT_UTF8]])
def test_an_argument_that_is_not_utf8_is_wrong_usage_and_named(option: list[bytes]) -> None:
    command = [sys.executable, "-m", "whisk.cli.main", "mail", "send", "-type", "status", *option]
    done = subprocess.run(command, capture_output=True, cwd=HERE, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"not UTF-8 text: " in done.stderr
    assert b"caf\\xe9" in done.stderr


def test_utf8_arguments_need_no_utf8_locale() -> None:
    done = whisk("mäil", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="utf-8")
    assert done.returncode == 2
    assert "unknown command: mäil" in done.stderr


@pytest.mark.parametrize(("redirection", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_takes_nothing_is_said_and_exit_1(redirection: str, why: str, unbuffered: str) -> None:
    shell = f"{sys.executable} -m whisk.cli.main help {redirection}"
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, cwd=HERE, timeout=30, check=False, env=env)
    assert (done.returncode, done.stderr.decode()) == (1, f"whisk: cannot write to stdout: {why}\n")


def test_who_closed_stderr_still_gets_the_exit_code() -> None:
    shell = f"{sys.executable} -m whisk.cli.main mail list -url http://127.0.0.1:1 2>&-"
    assert subprocess.run(["sh", "-c", shell], cwd=HERE, timeout=30, check=False).returncode == 3


def test_a_daemon_that_is_not_there_is_json_for_who_asked_for_json() -> None:
    done = whisk("mail", "list", "-json", "-url", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (3, "")
    said = json.loads(done.stderr)
    assert said["code"] == "unreachable"
    assert "whiskd unavailable at http://127.0.0.1:1" in said["error"]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_hook_command_has_the_help_of_a_command(option: str) -> None:
    done = whisk("agent-bridge", "hook", option)
    assert "Usage:\n  whisk agent-bridge hook" in done.stdout
    assert "Examples:" in done.stdout
