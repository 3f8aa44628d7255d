"""Completion: what may come next, from the help texts and the daemon's ids, and the scripts in their real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from whisk.cli import registry
from whisk.cli.candidate import Candidate, Candidates, complete
from whisk.cli.dispatch import load
from whisk.cli.shell import SCRIPTS, render, split_line

IDS = {
    "prompt": [Candidate("prompt_1", "Which format?"), Candidate("prompt_2")],
    "run": [Candidate("run_1", "running"), Candidate("run_2")],
    "project": [Candidate("proj_1", "Shop")],
    "pty": [Candidate("pty_1")],
}


def after(line: str) -> Candidates:
    """What may follow `line`, the text behind `whisk `."""
    return complete(split_line(f"whisk {line}"), load, lambda noun: IDS.get(noun, []))


def texts(line: str) -> list[str]:
    return [each.text for each in after(line).found]


def test_the_first_word_is_a_noun_or_a_command() -> None:
    found = texts("")
    assert {"mail", "session", "version", "help"} <= set(found)
    assert len(found) == len(set(found))


def test_words_are_completed_one_by_one() -> None:
    assert texts("prompt re") == ["resolve", "release"]
    assert "kill" in texts("session pty ")
    assert texts("nothing ") == []


def test_a_command_is_shown_with_what_it_does() -> None:
    assert after("prompt res").found == [Candidate("resolve", registry.COMMANDS["prompt resolve"].summary)]


def test_options_are_those_of_the_command_with_their_help_and_each_once() -> None:
    assert after("question answer q_1 -an").found == [Candidate("-answer", "The answer; - reads it from stdin.")]
    assert texts("question answer q_1 --an") == ["--answer"]
    assert "-answer" not in texts("question answer q_1 -answer yes -")


def test_an_option_that_may_be_repeated_is_offered_again() -> None:
    assert "-to" in texts("mail send -to run:run_1 -")


def test_values_that_the_help_lists_are_offered() -> None:
    assert texts("gate complete gate_1 -status ") == ["passed", "failed", "overridden"]
    assert texts("gate complete gate_1 -status=pa") == ["-status=passed"]
    assert "worker_done" in texts("mail send -type ")


def test_ids_come_from_the_daemon() -> None:
    assert texts("prompt resolve ") == ["prompt_1", "prompt_2"]
    assert after("prompt resolve prompt_1").found == [Candidate("prompt_1", "Which format?")]
    assert texts("session pty kill ") == ["pty_1"]
    assert texts("work-item create -project ") == ["proj_1"]


def test_options_and_their_values_are_no_positionals() -> None:
    assert texts("prompt resolve -answer yes -json ") == ["prompt_1", "prompt_2"]
    assert texts("-json prompt resolve ") == ["prompt_1", "prompt_2"]
    assert texts("prompt resolve prompt_1 ") == []


def test_addresses_are_completed_kind_first_then_id_and_one_behind_the_other() -> None:
    assert texts("mail send -to r") == ["run:"]
    assert texts("mail send -to run:") == ["run:run_1", "run:run_2"]
    assert texts("mail send -to @project:") == ["@project:proj_1"]
    assert texts("mail send -to @idle:") == ["@idle:proj_1"]
    assert texts("mail send -to run:run_1,pty:") == ["run:run_1,pty:pty_1"]


def test_paths_are_left_to_the_shell() -> None:
    assert after("session create -root ").paths == "folders"
    assert after("mail send -body-file ").paths == "files"
    assert after("mail send -body-file=/e") == Candidates([], "files", "-body-file=")


def test_an_unfinished_quotation_is_one_word() -> None:
    assert split_line("whisk mail send -subject 'two words") == ["mail", "send", "-subject", "two words"]
    assert split_line("whisk mail send ") == ["mail", "send", ""]
    assert split_line("whisk") == [""]


def test_bash_gets_only_what_follows_its_last_word_break() -> None:
    found = Candidates([Candidate("run:run_1", "running")])
    assert render(found, "bash", "run:ru") == ["run_1"]
    assert render(found, "zsh", "run:ru") == ["run:run_1\trunning"]
    assert render(Candidates([], "files", "-body-file="), "zsh", "-body-file=x") == [":files -body-file="]


@pytest.mark.parametrize("words", sorted(registry.COMMANDS))
def test_every_command_has_its_options_completed(words: str) -> None:
    command = load(words)
    offered = texts(f"{words} -") if command.options else []
    assert {text.lstrip("-") for text in offered} == set(command.options)


# -- in the shells themselves, against no daemon: words, options and files ---------------------------------------------


def environment(home: Path) -> dict[str, str]:
    """A person's shell: whisk on the PATH, and no daemon to ask."""
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "WHISKD_URL": "http://127.0.0.1:9",
        "XDG_STATE_HOME": str(home),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def bash(home: Path, line: str) -> list[str]:
    """What bash would offer at the end of `line`."""
    script = (
        SCRIPTS["bash"]
        + "compopt() { :; }\n"
        + 'COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _whisk\n'
        + 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    words = [word or "" for word in line.replace("=", " = ").split(" ")]
    done = subprocess.run(
        [shell("bash"), "-c", script, "bash", line, *words],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_words_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    assert bash(tmp_path, "whisk prompt re") == ["resolve", "release"]
    assert bash(tmp_path, "whisk gate complete g -status=pa") == ["passed"]
    assert bash(tmp_path, "whisk mail send -body-file no") == ["notes.md"]


def test_zsh_takes_the_script(tmp_path: Path) -> None:
    script = (
        "compdef() { :; }\ncompadd() { print -l -- $texts; }\n"
        + SCRIPTS["zsh"]
        + "words=(whisk prompt re); CURRENT=3; _whisk\n"
    )
    done = subprocess.run(
        [shell("zsh"), "-fc", script], env=environment(tmp_path), capture_output=True, text=True, timeout=30, check=True
    )
    assert (done.stdout.split(), done.stderr) == (["resolve", "release"], "")


def test_fish_completes_words(tmp_path: Path) -> None:
    done = subprocess.run(
        [shell("fish"), "-c", SCRIPTS["fish"] + "complete -C 'whisk prompt re'"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert sorted(line.split("\t")[0] for line in done.stdout.splitlines()) == ["release", "resolve"]
