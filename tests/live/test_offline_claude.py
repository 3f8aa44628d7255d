"""Real Claude Code against a scripted model: what whisk says through its hooks is what the model then reads.

WHISK_LIVE_FAKES=<folder> pytest -m live tests/live/test_offline_claude.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.real_agent import CLAUDE_EVENTS, DEADLINE, Claude
from whisk.cli.process import wait_until

pytestmark = pytest.mark.live

Employ = Callable[..., Claude]
ESC = "\x1b"


def option(label: str) -> dict[str, str]:
    return {"label": label, "description": f"about {label}"}


def question(text: str, *labels: str, multi: bool = False) -> dict[str, Any]:
    return {"question": text, "header": "Pick", "multiSelect": multi, "options": [option(label) for label in labels]}


COLOR = question("Which color?", "Red", "Blue")
TOPPINGS = question("Which toppings?", "Cheese", "Olives", "Ham, smoked", multi=True)
NAME = question("Which name?", "Ada", "Grace")


def ask(*questions: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "AskUserQuestion", "input": {"questions": list(questions)}}]


def bash(command: str) -> list[dict[str, Any]]:
    return [{"name": "Bash", "input": {"command": command, "description": "Do it"}}]


def says(claude: Claude, text: str) -> None:
    """Type a prompt, once the turn before it is over, and wait until the model has it."""
    claude.shows("GO-AHEAD|OK|TURN-DONE")
    before = len(claude.model.requests())
    claude.types(text)
    claude.types("\r")
    assert wait_until(lambda: len(claude.model.requests()) > before, DEADLINE), claude.screen()[-3000:]


def elicits(claude: Claude, tool: str) -> None:
    """Let the model call a tool of the MCP server, which is only known some time after the start."""
    known = ""
    for _ in range(20):
        says(claude, "Are we there yet?")
        known = json.dumps([request.get("tools") for request in claude.model.requests()[-2:]])
        if tool in known:
            break
    claude.model.plays([{"name": tool, "input": {}}])
    says(claude, "GO-AHEAD again")


WITHOUT_PRE = tuple(name for name in CLAUDE_EVENTS if name != "PreToolUse")


@pytest.fixture
def employ(tmp_path: Path) -> Iterator[Employ]:
    made: list[Claude] = []

    def make(tools: list[dict[str, Any]], events: tuple[str, ...] = CLAUDE_EVENTS) -> Claude:
        made.append(Claude(tmp_path / f"home{len(made)}", events, tools))
        made[-1].go()
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("events", [CLAUDE_EVENTS, WITHOUT_PRE], ids=["before the tool", "at its permission request"])
def test_a_question_is_answered_and_no_dialog_is_left(employ: Employ, events: tuple[str, ...]) -> None:
    claude = employ(ask(COLOR), events)
    prompt = claude.asks()
    claude.resolve(prompt, "-answer", "Blue")
    [read] = claude.reads()
    assert 'answered: "Which color?"="Blue".' in read
    claude.shows("TURN-DONE")
    assert claude.outcome(prompt, "answered")["appliedAt"]


@pytest.mark.parametrize("events", [CLAUDE_EVENTS, WITHOUT_PRE], ids=["before the tool", "at its permission request"])
def test_several_questions_choices_and_free_text_reach_the_model(employ: Employ, events: tuple[str, ...]) -> None:
    claude = employ(ask(COLOR, TOPPINGS, NAME), events)
    claude.resolve(
        claude.asks(), "-answer", "Red", "-answer", "Cheese, Ham, smoked", "-answer", 'Barbara "Babs" Liskov'
    )  # fmt: skip
    [read] = claude.reads()
    for pair in ('"Red"', '"Which toppings?"="Cheese, Ham, smoked"', '"Which name?"="Barbara "Babs" Liskov"'):
        assert pair in read


@pytest.mark.parametrize("events", [CLAUDE_EVENTS, WITHOUT_PRE], ids=["before the tool", "at its permission request"])
def test_a_question_is_denied_with_the_reason_word_for_word(employ: Employ, events: tuple[str, ...]) -> None:
    claude = employ(ask(COLOR), events)
    claude.resolve(claude.asks(), "-deny", "-reason", "No colours today; use grey.")
    assert claude.reads() == ["No colours today; use grey."]


@pytest.mark.parametrize("events", [CLAUDE_EVENTS, WITHOUT_PRE], ids=["before the tool", "at its permission request"])
def test_a_released_question_is_asked_in_the_agents_own_window(employ: Employ, events: tuple[str, ...]) -> None:
    claude = employ(ask(COLOR), events)
    prompt = claude.asks()
    claude.whiskd.cli("prompt", "release", prompt["id"], check=0)
    claude.shows("Entertoselect")
    assert claude.whiskd.json("prompt", "list") == []
    claude.types("2")
    [read] = claude.reads()
    assert '"Which color?"="Blue"' in read
    assert "answers" not in claude.outcome(prompt, "released")


def test_a_rule_denies_before_the_tool_runs(employ: Employ) -> None:
    claude = employ([])
    added = claude.whiskd.json("policy", "add", "deny", "Bash(touch *)", "-reason", "Nothing is touched here.")
    claude.model.plays(bash("cd . && touch denied.txt"))
    says(claude, "GO-AHEAD again")
    [read] = claude.reads()
    assert read == f"Denied by the whisk rule Bash(touch *) ({added['id']}). Nothing is touched here."
    assert not (claude.root / "denied.txt").exists()


@pytest.mark.parametrize("answer", ["allow", "deny", "edit"])
def test_a_permission_is_given_refused_or_given_for_something_else(employ: Employ, answer: str) -> None:
    claude = employ(bash("touch wanted.txt"))
    prompt = claude.asks()
    assert (prompt["kind"], prompt["eventName"]) == ("approval", "PermissionRequest")
    match answer:
        case "allow":
            claude.resolve(prompt, "-answer", "allow")
        case "deny":
            claude.resolve(prompt, "-deny", "-reason", "Not on main.")
        case _:
            claude.resolve(prompt, "-input-json", '{"command": "touch other.txt", "description": "Other"}')
    [read] = claude.reads()
    claude.shows("TURN-DONE")
    made = {path.name for path in claude.root.iterdir()} - {".claude"}
    assert made == {"allow": {"wanted.txt"}, "deny": set(), "edit": {"other.txt"}}[answer]
    assert (read == "Not on main.") is (answer == "deny")
    outcome = claude.outcome(prompt, "denied" if answer == "deny" else "answered")
    assert wait_until(lambda: claude.whiskd.json("prompt", "show", prompt["id"]).get("appliedAt"), 10), outcome


def test_an_asking_rule_holds_a_call_before_it_runs_and_its_release_opens_the_dialog(employ: Employ) -> None:
    claude = employ([])
    claude.whiskd.cli("policy", "add", "ask", "Bash(touch *)", check=0)
    claude.model.plays(bash("touch asked.txt"))
    says(claude, "GO-AHEAD again")
    prompt = claude.asks()
    assert (prompt["kind"], prompt["eventName"]) == ("approval", "PreToolUse")
    claude.whiskd.cli("prompt", "release", prompt["id"], check=0)
    claude.shows("Doyouwanttoproceed")
    assert claude.whiskd.json("prompt", "list") == []
    assert not (claude.root / "asked.txt").exists()
    claude.types("1")
    claude.reads()
    assert (claude.root / "asked.txt").exists()


def test_a_native_yes_closes_the_waiting_prompt(employ: Employ) -> None:
    claude = employ(bash("touch native.txt"))
    prompt = claude.asks()
    claude.shows("Doyouwanttoproceed")
    claude.types("1")
    closed = claude.outcome(prompt, "withdrawn")
    assert closed["reason"] == "answered_elsewhere"
    assert (claude.root / "native.txt").exists()
    late = claude.whiskd.cli("prompt", "resolve", prompt["id"], "-deny")
    assert (late.returncode, "answered_elsewhere" in late.stderr) == (1, True), late.stderr


def test_a_native_answer_to_a_question_closes_the_waiting_prompt(employ: Employ) -> None:
    claude = employ(ask(COLOR), WITHOUT_PRE)
    prompt = claude.asks()
    claude.shows("Entertoselect")
    claude.types("1")
    assert claude.outcome(prompt, "withdrawn")["reason"] == "answered_elsewhere"
    assert '"Which color?"="Red"' in claude.reads()[0]


@pytest.mark.parametrize("events", [CLAUDE_EVENTS, WITHOUT_PRE], ids=["before the tool", "at its permission request"])
def test_esc_ends_the_hook_and_withdraws_the_prompt(employ: Employ, events: tuple[str, ...]) -> None:
    claude = employ(ask(COLOR), events)
    prompt = claude.asks()
    claude.shows("Whichcolor|PreToolUse|esctointerrupt")
    claude.types(ESC)
    assert claude.outcome(prompt, "withdrawn")["reason"] == "hook_gone"


@pytest.mark.parametrize(
    ("arguments", "server_got"),
    [
        (
            ["-answer", "Ada", "-answer", "M", "-answer", "yes"],
            {"action": "accept", "content": {"name": "Ada", "size": "M", "ok": True}},
        ),
        (["-answers-json", '{"name": "Ada"}'], {"action": "accept", "content": {"name": "Ada"}}),
        (["-deny"], {"action": "decline"}),
        (["-action", "cancel"], {"action": "cancel"}),
    ],
    ids=["fields", "object", "decline", "cancel"],
)
def test_a_form_reaches_the_mcp_server_as_it_was_filled_in(
    employ: Employ, arguments: list[str], server_got: dict[str, Any]
) -> None:
    claude = employ([])
    elicits(claude, "mcp__elicit__ask_form")
    prompt = claude.asks()
    claude.resolve(prompt, *arguments)
    [read] = claude.reads()
    assert json.loads(read) == server_got


def test_a_daemon_that_was_killed_comes_back_and_the_answer_reaches_the_model(employ: Employ) -> None:
    claude = employ(ask(COLOR))
    prompt = claude.asks()
    claude.whiskd.kill9()
    claude.whiskd.start("-addr", claude_address(claude))
    assert claude.asks()["id"] == prompt["id"]
    claude.resolve(prompt, "-answer", "Blue")
    assert '"Which color?"="Blue"' in claude.reads()[0]


def claude_address(claude: Claude) -> str:
    return str(claude.whiskd.state["url"]).removeprefix("http://")
