"""What a terminal's agent is doing: a table of titles and screens, true ones and lies, and who is believed."""

from __future__ import annotations

import pytest

from whisk.clock import Instant
from whisk.hooks.turn import Turn, TurnState
from whisk.terminal.agent import AgentStatus, Sighting, agent_named, agent_of, tidy
from whisk.terminal.agent_report import read_report
from whisk.terminal.agent_status import Evidence, agent_status, needs_screen
from whisk.terminal.agent_tail import read_tail
from whisk.terminal.agent_title import read_title, still

NOW = Instant(1_800_000_000_000_000_000)


def turn(state: TurnState, provider: str = "claude", prompt: str = "") -> Turn:
    return Turn(state=state, at=NOW, provider=provider, prompt=prompt)


def told(**evidence: object) -> tuple[str, str, str] | None:
    """Agent, state and source."""
    found = agent_status(Evidence(**evidence))  # type: ignore[arg-type]
    return None if found is None else (found.agent, found.state, found.source)


@pytest.mark.parametrize(
    ("title", "agent", "state"),
    [
        ("✳ Claude Code", "claude", "unknown"),
        ("✳ Fix the cart", "claude", "unknown"),
        ("⠂ Claude Code", "claude", "working"),
        ("◇  Ready (shop)", "gemini", "idle"),
        ("✦  Working… (shop)", "gemini", "working"),
        ("⏲  Working… (shop)", "gemini", "working"),
        ("✋  Action Required (shop)", "gemini", "waiting"),
        ("gemini - thinking", "gemini", "working"),
        ("Codex: waiting for approval", "codex", "waiting"),
        ("codex requires approval, still running", "codex", "waiting"),
        ("⠋ codex", "codex", "working"),
        ("codex.exe finished", "codex", "done"),
        ("OpenCode ready", "opencode", "idle"),
        ("aider: working", "aider", "working"),
        ("codex edits CLAUDE.md for claude: idle", "codex", "idle"),
        ("claude", "claude", "unknown"),
        (". claude: cart", "claude", "working"),
        ("✳ working on the waiting room", "claude", "unknown"),
        ("[ ! ] Action Required | Fix the cart | shop", "codex", "waiting"),
        ("[ . ] Action Required | Fix the cart | shop", "codex", "waiting"),
        ("⠐ claude: is the permission check done?", "claude", "working"),
        ("\x1b[31m✳\x1b[0m\tClaude", "claude", "unknown"),
    ],
)
def test_what_a_title_tells(title: str, agent: str, state: str) -> None:
    found = read_title(title)
    assert found is not None
    assert (found.agent, found.state) == (agent, state)


@pytest.mark.parametrize(
    "title",
    [
        "",
        "bash",
        "vim: waiting for approval",
        "⠋ npm install",
        "* main",
        ". ~/.profile",
        "done",
        "~/src/claude-code",
        "~/.claude",
        "/opt/claude/readme",
        "claude_notes ready",
        "my.codex working",
        "claude agents",
        "/usr/bin/claude agents",
        "claude.exe agents",
        "geminid idle",
    ],
)
def test_a_title_of_no_agent_tells_nothing(title: str) -> None:
    assert read_title(title) is None


def test_a_title_without_a_name_is_read_for_the_agent_that_runs_there() -> None:
    assert read_title("⠐ Fix the tests that are done", "claude") == Sighting(state="working", agent="claude")
    assert read_title("⠋ waiting for approval | shop", "codex") == Sighting(state="working", agent="codex")
    assert read_title("~/src: working", "aider") == Sighting(state="working", agent="aider")


@pytest.mark.parametrize("title", ["shop", "Is it done? | shop", "make claude ready | shop", "waiting room | shop"])
def test_the_words_of_a_prompt_in_a_title_say_nothing_of_an_agent_that_has_signs(title: str) -> None:
    assert read_title(title, "codex") == Sighting(state="unknown", agent="codex")


def test_what_moves_in_a_title_is_no_news() -> None:
    assert {still(f"{mark} Fix the cart | shop") for mark in ("⠋", "⠙", "⠂", "")} == {"Fix the cart | shop"}
    assert still("[ ! ] Action Required | x") == still("[ . ] Action Required | x") == "Action Required | x"
    assert still("✳ Claude Code") == "✳ Claude Code"


WORKING_CLAUDE = [
    "● I will look at the cart first.",
    "",
    "✻ Thinking… (12s · ↑ 1.2k tokens · esc to interrupt)",
    "",
    "╭──────────────────────────────────────────╮",
    "│ >                                        │",
    "╰──────────────────────────────────────────╯",
    "  ? for shortcuts",
]
# As Claude Code 2.1.197 and Codex 0.171.0 really show them.
RULE = "─" * 100
CLAUDE_WORKS = [
    *("● Bash(sleep 4; touch wanted.txt)", "  ⎿ \xa0Running…", "✶ Roosting… (0s · ↓ 17 tokens)", RULE, "❯", RULE),
    "  esc to interrupt · ← for agents                                                 ● high · /effort",
]
CLAUDE_IDLE = [
    *("● TURN-DONE", "✻ Cogitated for 4s", RULE, "❯", RULE),
    "  ? for shortcuts · ← for agents                                                  ● high · /effort",
]
CLAUDE_ASKS = [
    *(RULE, " Bash command", "   sleep 4; touch wanted.txt", " Do you want to proceed?", " ❯ 1. Yes", "   3. No"),
    " Esc to cancel · Tab to amend · ctrl+e to explain",
]
CODEX_FOOT = [
    "› Ask Codex to do anything",
    "  GPT-5.5 default · ~/project · GO-AHEAD",
    "  ← for agents · ? for shortcuts",
]
DIALOG = [
    "╭──────────────────────────────────────────╮",
    "│ Bash command                             │",
    "│   rm -rf build                           │",
    "│ Do you want to proceed?                  │",
    "│ ❯ 1. Yes                                 │",
    "│   2. No, and tell Claude what to do      │",
    "╰──────────────────────────────────────────╯",
]


@pytest.mark.parametrize(
    ("lines", "known", "state"),
    [
        (WORKING_CLAUDE, "claude", "working"),
        (CLAUDE_WORKS, "claude", "working"),
        (CLAUDE_IDLE, "claude", "idle"),
        (["• Working (0s • esc to interrupt)", *CODEX_FOOT], "codex", "working"),
        (["⠏ Thinking... (esc to cancel, 5s)", "> "], "gemini", "working"),
        (["Codex: working..."], "unknown", "working"),
        (["[aider] done."], "unknown", "done"),
        (["OpenCode is idle", "", ""], "unknown", "idle"),
        (["claude idle", "claude working"], "claude", "working"),
    ],
)
def test_a_status_line_at_the_bottom_of_the_screen_tells(lines: list[str], known: str, state: str) -> None:
    found = read_tail(lines, known)  # type: ignore[arg-type]
    assert found is not None
    assert found.state == state
    assert found.prompt in [" ".join(line.split()) for line in lines]


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (DIALOG, "claude"),
        (CLAUDE_ASKS, "claude"),
        ([*CLAUDE_IDLE, "$ "], "claude"),
        (CLAUDE_IDLE, "unknown"),
        (["• TURN-DONE", "  Worked for 10s • 23:21", *CODEX_FOOT], "codex"),
        (["Claude is waiting for your permission"], "claude"),
        (["codex: waiting for approval"], "codex"),
        (["> the log said: Codex: working"], "codex"),
        (["claude is done with the cart, go on"], "claude"),
        (["README: codex working"], "unknown"),
        (["Codex: idle"], "claude"),
        (WORKING_CLAUDE, "unknown"),
        (WORKING_CLAUDE, "codex"),
        (["(esc to interrupt)"], "claude"),
        (["Codex: working", *(f"line {number}" for number in range(8))], "codex"),
        (["❯ ", "$ "], "claude"),
        (["›"], "codex"),
        ([], "claude"),
    ],
)
def test_a_screen_that_only_quotes_or_shows_nothing_known_tells_nothing(lines: list[str], known: str) -> None:
    assert read_tail(lines, known) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("idle", Sighting(state="idle")),
        (" Working ", Sighting(state="working")),
        ('{"state":"waiting"}', Sighting(state="waiting")),
        ('{"state":"blocked","prompt":"Which\\u001b[31m table?"}', Sighting(state="waiting", prompt="Which table?")),
        (
            '{"state":"done","agentType":"codex","label":"Reviewer"}',
            Sighting(state="done", agent="codex", label="Reviewer"),
        ),
        ('{"state":"idle","agent":"mine","tool":"Bash"}', Sighting(state="idle")),
        ("", Sighting(state="unknown")),
        ("sleeping", None),
        ('{"state":"sleeping"}', None),
        ('{"state":1}', None),
        ('{"state":"idle"', None),
        ("[]", None),
        ("frame=12", None),
    ],
)
def test_what_a_program_reports_of_itself(payload: str, expected: Sighting | None) -> None:
    assert read_report(payload) == expected


def test_hooks_beat_the_programs_word_that_beats_the_title_that_beats_the_screen() -> None:
    report, title, tail = Sighting(state="waiting"), "⠂ Claude Code", CLAUDE_IDLE
    argv = ("/usr/bin/claude",)
    assert told(argv=argv, turn=turn("working"), report=report, title=title, tail=tail) == (
        "claude",
        "working",
        "bridge",
    )
    assert told(argv=argv, report=report, title=title, tail=tail) == ("claude", "waiting", "osc9999")
    assert told(argv=argv, title=title, tail=tail) == ("claude", "working", "osc-title")
    assert told(argv=argv, title="✳ Claude Code", tail=tail) == ("claude", "idle", "output-tail")
    assert told(argv=argv, title="✳ Claude Code", tail=CLAUDE_ASKS) == ("claude", "unknown", "process")


def test_only_the_agents_own_word_is_explicit_and_only_its_hooks_are_no_guess() -> None:
    found = [
        agent_status(Evidence(argv=("claude",), turn=turn("idle"))),
        agent_status(Evidence(argv=("claude",), report=Sighting(state="idle"))),
        agent_status(Evidence(argv=("claude",), title="⠂ x")),
        agent_status(Evidence(argv=("claude",), tail=WORKING_CLAUDE)),
        agent_status(Evidence(argv=("claude",))),
    ]
    assert [(each.confidence, each.advisory) for each in found if each is not None] == [
        ("explicit", False),
        ("explicit", True),
        ("fallback", True),
        ("fallback", True),
        ("unknown", True),
    ]


def test_a_terminal_of_no_agent_has_no_status() -> None:
    assert told(argv=("/bin/bash",), title="bash", tail=["$ make", "done"]) is None
    assert told() is None


def test_an_agent_of_which_nothing_tells_is_unknown_and_not_idle() -> None:
    assert told(argv=("codex", "--full-auto"), title="~/src") == ("codex", "unknown", "process")
    assert told(argv=("bash",), title="claude") == ("claude", "unknown", "process")


def test_an_agent_that_has_ended_is_done_whatever_it_left_on_the_screen() -> None:
    assert told(turn=turn("ended"), title="✳ Fix the cart", tail=WORKING_CLAUDE) == ("claude", "done", "bridge")
    assert told(turn=turn("ended"), title="⠋ make") == ("claude", "done", "bridge")


def test_another_agent_in_the_terminal_of_one_that_has_ended_is_seen() -> None:
    assert told(turn=turn("ended"), title="✦  Working… (shop)") == ("gemini", "working", "osc-title")
    assert told(turn=turn("idle"), title="✦  Working… (shop)") == ("claude", "idle", "bridge")


def test_hooks_that_title_and_screen_contradict_are_doubted_and_neither_alone_is_enough() -> None:
    star, works = "✳ Claude Code", turn("working")
    assert told(turn=works, title=star, tail=CLAUDE_IDLE, doubted=True) == ("claude", "idle", "output-tail")
    assert told(turn=works, title=star, tail=CLAUDE_IDLE) == ("claude", "working", "bridge")
    assert told(turn=works, title=star, tail=CLAUDE_ASKS, doubted=True) == ("claude", "working", "bridge")
    assert told(turn=works, title="⠂ Claude Code", tail=CLAUDE_IDLE, doubted=True) == ("claude", "working", "bridge")
    asks = turn("waiting")
    assert told(turn=asks, title=star, tail=CLAUDE_IDLE, doubted=True) == ("claude", "waiting", "bridge")


def test_a_status_says_what_is_waited_for_in_one_clean_line() -> None:
    found = agent_status(Evidence(turn=turn("waiting", prompt="Bash: rm -rf\nbuild " + "x" * 300), title="a\x07b  c"))
    assert isinstance(found, AgentStatus)
    assert found.prompt is not None
    assert found.prompt.startswith("Bash: rm -rf build xxx")
    assert (len(found.prompt), found.prompt[-3:]) == (200, "...")
    assert (found.title, found.label, found.since) == ("ab c", "Claude Code", NOW)


def test_the_screen_is_looked_at_only_when_nothing_better_tells() -> None:
    assert needs_screen(None)
    assert needs_screen(agent_status(Evidence(argv=("claude",))))
    assert needs_screen(agent_status(Evidence(argv=("claude",), tail=WORKING_CLAUDE)))
    assert not needs_screen(agent_status(Evidence(argv=("claude",), title="⠂ x")))
    assert not needs_screen(agent_status(Evidence(turn=turn("working"))))


@pytest.mark.parametrize(
    ("argv", "agent"),
    [
        (("claude",), "claude"),
        (("/opt/bin/Codex", "exec"), "codex"),
        ((r"C:\bin\gemini.cmd",), "gemini"),
        (("bash", "claude"), "unknown"),
        (("claude-wrapper",), "unknown"),
        ((), "unknown"),
    ],
)
def test_a_program_is_known_by_its_whole_name(argv: tuple[str, ...], agent: str) -> None:
    assert agent_of(argv) == agent


def test_a_long_text_is_read_in_no_time() -> None:
    """The patterns must not search for ever in what an agent may print."""
    awkward = ["claude " * 5000, "✻ " + "(" * 20_000 + "esc to interrupt", "codex is " * 5000, "—" * 50_000]
    assert read_tail(awkward, "claude") is None
    assert agent_named("x" * 100_000) == "unknown"
    assert tidy("y" * 100_000, 200).endswith("...")
