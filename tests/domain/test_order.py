"""From what was asked for to the exact process."""

from __future__ import annotations

from typing import Any

import pytest

from whisk.errors import InvalidError, TooLargeError
from whisk.profiles.builtin import BUILTIN
from whisk.terminal.keys import LINE_BYTES
from whisk.work.order import Callback, Order, place_order, pty_spec
from whisk.work.session import CreateSession, new_session
from whisk.work.start import AgentBridgeOptions, BridgeCredentials, LaunchContext, StartPtyOptions

ENVIRON = {"HOME": "/home/me", "PATH": "/usr/bin", "SHELL": "/bin/zsh", "TMUX": "outer"}
SESSION = new_session(CreateSession(root_dir="/src/app"), session_id="sess_1", window_id="win_1", pane_id="pane_1")
CALLBACK = Callback(url="http://127.0.0.1:1", cli="/opt/w/bin/whisk", state_dir="/state")


def order(**options: Any) -> Order:
    return place_order(StartPtyOptions(**options), BUILTIN, ENVIRON)


def test_nothing_asked_for_is_the_persons_shell() -> None:
    assert (order().argv, order().typed) == (("/bin/zsh",), "")
    assert place_order(StartPtyOptions(), BUILTIN, {}).argv == ("sh",)
    assert order(env={"SHELL": "/bin/fish"}).argv == ("/bin/fish",)


def test_a_command_is_typed_with_enter_and_never_becomes_an_argument() -> None:
    asked = order(command="echo 'a b' | wc")
    assert (asked.argv, asked.typed) == (("/bin/zsh",), "echo 'a b' | wc\r")


def test_an_executed_command_keeps_its_arguments() -> None:
    asked = order(command="ls", args=("-l", "a b", "$HOME"), exec=True)
    assert (asked.argv, asked.typed) == (("ls", "-l", "a b", "$HOME"), "")


def test_a_prompt_for_a_shell_is_typed_with_enter() -> None:
    assert order(agent_profile_id="prompt-capture", prompt="two\nlines").typed == "two\nlines\r"


@pytest.mark.parametrize("options", [{}, {"agent_profile_id": "prompt-capture"}])
def test_a_line_that_would_arrive_cut_is_not_typed_at_all(options: dict[str, str]) -> None:
    name = "prompt" if options else "command"
    assert order(**options, **{name: "é" * (LINE_BYTES // 2)}).typed
    assert order(**options, **{name: ("x" * 3000 + "\n") * 9}).typed
    with pytest.raises(TooLargeError, match=f"a line of {LINE_BYTES + 1} bytes cannot be typed"):
        order(**options, **{name: "short\n" + "x" * (LINE_BYTES + 1)})
    assert order(command="echo", args=("x" * 100_000,), exec=True).typed == ""


@pytest.mark.parametrize(
    ("options", "hooks"),
    [
        ({"agent_profile_id": "claude"}, "claude"),
        ({"agent_profile_id": "codex"}, "codex"),
        ({"agent_profile_id": "claude", "agent_bridge": AgentBridgeOptions(enabled=True)}, "claude"),
        ({"agent_profile_id": "claude", "agent_bridge": AgentBridgeOptions(enabled=False)}, None),
        ({"agent_profile_id": "plain-shell"}, None),
        ({}, None),
        ({"agent_bridge": AgentBridgeOptions(enabled=True, provider="codex")}, "codex"),
    ],
)
def test_an_agents_hooks_get_credentials_unless_told_otherwise(options: dict[str, Any], hooks: str | None) -> None:
    assert order(**options).hooks == hooks


@pytest.mark.parametrize("size", [{"cols": 0}, {"rows": 0}, {"cols": 65_535}, {"rows": -1}, {"cols": 1001}])
def test_a_size_that_no_screen_has_is_refused(size: dict[str, int]) -> None:
    with pytest.raises(InvalidError, match="must be between 1 and 1000"):
        order(**size)


def test_the_request_cannot_forge_what_whisk_tells_a_child() -> None:
    asked = order(agent_profile_id="claude", env={"WHISK_RUN_ID": "run_forged", "WHISK_PTY_ID": "pty_x", "MINE": "1"})
    context = LaunchContext(run_id="run_1", project_id="proj_1", actor="agent")
    bridge = BridgeCredentials(bridge_id="brg_1", token="t", provider="claude")
    spec = pty_spec(asked, SESSION, SESSION.panes["pane_1"], "pty_1", context, CALLBACK, ENVIRON, bridge)
    assert spec.env["WHISK_RUN_ID"] == "run_1"
    assert spec.env["WHISK_PTY_ID"] == "pty_1"
    assert spec.env["WHISK_AGENT_BRIDGE_ID"] == "brg_1"
    assert spec.env["WHISK_AGENT_PROFILE"] == "claude"
    assert spec.env["MINE"] == "1"
    assert "TMUX" not in spec.env
    assert spec.env["PATH"].split(":")[:2] == ["/opt/w/bin", "/usr/bin"]
    assert (spec.working_dir, spec.session_id, spec.window_id, spec.pane_id) == (
        "/src/app",
        "sess_1",
        "win_1",
        "pane_1",
    )
    assert spec.owners == ("run:run_1",)


def test_without_a_run_nobody_else_owns_the_terminal() -> None:
    spec = pty_spec(order(), SESSION, SESSION.panes["pane_1"], "pty_1", LaunchContext(), CALLBACK, ENVIRON, None)
    assert spec.owners == ()
    assert not [name for name in spec.env if name.startswith(("WHISK_AGENT", "WHISK_RUN", "WHISK_ACTOR"))]


@pytest.mark.parametrize(
    ("profile", "login", "through"),
    [("claude", True, True), ("claude", False, False), ("plain-shell", True, False), ("", True, False)],
)
def test_only_agents_are_started_through_the_login_shell(profile: str, login: bool, through: bool) -> None:
    asked = order(agent_profile_id=profile, prompt="Do $(this)" if profile == "claude" else "")
    context = LaunchContext(login_shell=login)
    spec = pty_spec(asked, SESSION, SESSION.panes["pane_1"], "pty_1", context, CALLBACK, ENVIRON, None)
    assert spec.argv == (("/bin/zsh", "-lc", 'exec "$@"', "zsh") if through else ()) + asked.argv
