import pytest

from whisk.terminal.environment import PtyContext, build_environment, join_path, scrub

CONTEXT = PtyContext(whiskd_url="http://127.0.0.1:1", cli="/opt/w/bin/whisk", session_id="sess_1", pty_id="pty_1")


FOREIGN = """
    CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SSE_PORT CLAUDE_CODE_CHILD_SESSION
    CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE AI_AGENT CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_THREAD_ID CODEX_CI
    GEMINI_CLI GEMINI_SESSION_ID GEMINI_PROJECT_DIR GEMINI_CWD OPENCODE TMUX TMUX_PANE STY TERM_PROGRAM COLUMNS LINES
    WHISK_PTY_ID WHISK_AGENT_BRIDGE_TOKEN WHISK_DATABASE_URL WHISKD_URL WHISKD_ADDR NOTIFY_SOCKET LISTEN_FDS
"""

OWN = """
    CLAUDE_CONFIG_DIR CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_MAX_OUTPUT_TOKENS
    CLAUDE_CODE_SUBAGENT_MODEL CODEX_HOME CODEX_API_KEY GEMINI_API_KEY GEMINI_MODEL VIRTUAL_ENV ANTHROPIC_API_KEY
    OPENCODE_CONFIG OPENCODE_DISABLE_AUTOUPDATE SSH_AUTH_SOCK LANG EDITOR WHISKY
"""


@pytest.mark.parametrize("name", FOREIGN.split())
def test_what_belongs_to_an_outer_session_does_not_reach_a_child(name: str) -> None:
    assert scrub({name: "x", "HOME": "/h"}) == {"HOME": "/h"}


@pytest.mark.parametrize("name", OWN.split())
def test_a_persons_own_settings_stay(name: str) -> None:
    assert scrub({name: "x"}) == {name: "x"}
    assert scrub({name: "x", "CLAUDECODE": "1"}) == {name: "x"}


def test_unknown_marks_of_claude_code_go_only_when_the_daemon_runs_inside_it() -> None:
    assert scrub({"CLAUDE_CODE_FRESHLY_INVENTED": "1"}) == {"CLAUDE_CODE_FRESHLY_INVENTED": "1"}
    assert scrub({"CLAUDE_CODE_FRESHLY_INVENTED": "1", "CLAUDECODE": "1"}) == {}


def test_habits_of_an_outer_agent_go_with_it_and_a_persons_own_stay() -> None:
    habits = {"NO_COLOR": "1", "PAGER": "cat", "GIT_EDITOR": "true"}
    assert scrub(habits) == habits
    assert scrub({**habits, "CODEX_TOOL_CALL_ID": "call_1"}) == {}
    assert scrub({**habits, "PAGER": "less", "CLAUDECODE": "1"}) == {"PAGER": "less"}


def test_the_context_wins_over_the_request_the_profile_and_the_daemon() -> None:
    base = {"PATH": "/usr/bin", "A": "daemon", "B": "daemon", "C": "daemon", "TERM": "dumb"}
    env = build_environment(
        base,
        {"A": "profile", "B": "profile", "WHISK_PTY_ID": "forged"},
        CONTEXT,
        "/w",
        {"B": "request", "TERM": "vt100"},
    )
    assert (env["A"], env["B"], env["C"], env["TERM"]) == ("profile", "request", "daemon", "vt100")
    assert (env["WHISK_PTY_ID"], env["WHISK_SESSION_ID"], env["WHISK_SESSION"]) == ("pty_1", "sess_1", "1")
    assert env["PWD"] == "/w"


def test_the_daemons_own_terminal_type_is_not_the_childs() -> None:
    assert build_environment({"TERM": "dumb"}, {}, CONTEXT, "/")["TERM"] == "xterm-256color"


def test_whisk_is_found_first_even_on_a_path_that_the_request_gave() -> None:
    assert build_environment({}, {}, CONTEXT, "/", {"PATH": "/a:/b"})["PATH"] == "/opt/w/bin:/a:/b"
    assert build_environment({}, {}, CONTEXT, "/")["PATH"].startswith("/opt/w/bin:/usr")


def test_only_what_is_known_is_told() -> None:
    assert not [name for name in build_environment({}, {}, CONTEXT, "/") if name.startswith("WHISK_RUN")]
    told = PtyContext(
        whiskd_url="u",
        cli="/whisk",
        session_id="s",
        pty_id="p",
        state_dir="/s",
        project_id="proj_1",
        project_root="/p",
        work_item_id="item_1",
        run_id="run_1",
        actor="agent",
        bridge_id="brg_1",
        bridge_token="t",
        bridge_provider="claude",
    ).variables()
    assert told["WHISK_AGENT_BRIDGE_TOKEN"] == "t"
    assert len(told) == 14


def test_paths_are_joined_without_doubles_and_without_the_current_folder() -> None:
    assert join_path(["/a", "", "/b", "/a"]) == "/a:/b"
