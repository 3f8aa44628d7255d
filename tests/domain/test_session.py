"""Sessions as records: what may be done with panes and their terminals."""

from __future__ import annotations

from typing import Any

import pytest

from whisk.errors import InvalidError, NotFoundError, RefusedError
from whisk.values import decode, encode
from whisk.work import session as rules
from whisk.work.layout import panes
from whisk.work.session import CreateSession, Session, new_session
from whisk.work.start import StartPtyOptions, check_start


def make(**fields: Any) -> Session:
    request = CreateSession(**{"root_dir": "/src/app", **fields})
    return new_session(request, session_id="sess_1", window_id="win_1", pane_id="pane_1")


def test_a_new_session_is_one_window_with_one_pane_at_the_root() -> None:
    session = make()
    assert session.name == "app"
    assert session.windows["win_1"].name == "Main"
    assert session.panes["pane_1"].working_dir == "/src/app"
    assert session.panes["pane_1"].current_pty_id is None
    assert session.project_id is None


def test_a_pane_may_start_elsewhere_and_a_name_is_trimmed() -> None:
    session = make(name="  build ", working_dir="/src/app/web/", project_id="proj_1")
    assert session.name == "build"
    assert session.panes["pane_1"].working_dir == "/src/app/web"
    assert session.project_id == "proj_1"


def test_a_session_at_the_root_of_the_disk_still_has_a_name() -> None:
    assert make(root_dir="/").name == "New Session"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"root_dir": ""}, "root dir required"),
        ({"root_dir": "  "}, "root dir required"),
        ({"root_dir": "src/app"}, "root dir must be absolute"),
        ({"root_dir": "~/app"}, "root dir must be absolute"),
        ({"root_dir": "/a\0b"}, "root dir holds a NUL"),
        ({"root_dir": "/a\ud800"}, "root dir is not valid Unicode"),
        ({"working_dir": "web"}, "working dir must be absolute"),
        ({"name": "a\0"}, "name holds a NUL"),
    ],
)
def test_a_directory_or_name_that_cannot_be_is_refused(fields: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidError, match=sentence):
        make(**fields)


def test_a_path_is_kept_without_dots_and_doubled_slashes() -> None:
    assert make(root_dir="//src/./app/../lib//").root_dir == "/src/lib"


def test_a_split_pane_starts_in_the_directory_of_its_target() -> None:
    session = rules.split_pane(make(working_dir="/src/app/web"), "win_1", "pane_1", "vertical", "pane_2")
    assert session.panes["pane_2"].working_dir == "/src/app/web"
    assert session.panes["pane_2"].window_id == "win_1"
    assert list(panes(session.windows["win_1"].layout)) == ["pane_1", "pane_2"]


def test_a_split_names_what_it_does_not_find() -> None:
    with pytest.raises(NotFoundError, match="pane pane_9 not found in session sess_1"):
        rules.split_pane(make(), "win_1", "pane_9", "", "pane_2")
    with pytest.raises(NotFoundError, match="window win_9 not found in session sess_1"):
        rules.split_pane(make(), "win_9", "pane_1", "", "pane_2")


def test_the_last_pane_of_a_window_cannot_be_closed() -> None:
    with pytest.raises(RefusedError, match="cannot close last pane in window"):
        rules.close_pane(make(), "win_1", "pane_1")


def test_a_closed_pane_leaves_the_window_and_the_session() -> None:
    session = rules.split_pane(make(), "win_1", "pane_1", "", "pane_2")
    session = rules.close_pane(session, "win_1", "pane_1")
    assert list(session.panes) == ["pane_2"]
    assert list(panes(session.windows["win_1"].layout)) == ["pane_2"]


def test_a_pane_shows_one_terminal_at_a_time() -> None:
    session = rules.attach_pty(make(), "pane_1", "pty_1")
    assert session.pty_ids == ("pty_1",)
    with pytest.raises(RefusedError, match="pane pane_1 already has a current pty"):
        rules.attach_pty(session, "pane_1", "pty_2")


def test_a_detached_terminal_leaves_the_pane_but_stays_the_sessions() -> None:
    session, pty = rules.detach_pty(rules.attach_pty(make(), "pane_1", "pty_1"), "pane_1")
    assert pty == "pty_1"
    assert session.panes["pane_1"].current_pty_id is None
    assert session.pty_ids == ("pty_1",)
    with pytest.raises(RefusedError, match="has no current pty"):
        rules.detach_pty(session, "pane_1")


def test_a_restart_puts_a_new_terminal_in_the_place_of_the_old() -> None:
    session, old = rules.replace_pty(rules.attach_pty(make(), "pane_1", "pty_1"), "pane_1", "pty_2")
    assert old == "pty_1"
    assert session.panes["pane_1"].current_pty_id == "pty_2"
    assert session.pty_ids == ("pty_1", "pty_2")
    with pytest.raises(RefusedError, match="has no pty to restart"):
        rules.replace_pty(make(), "pane_1", "pty_2")


def test_a_forgotten_terminal_is_shown_nowhere() -> None:
    session = rules.forget_pty(rules.attach_pty(make(), "pane_1", "pty_1"), "pty_1")
    assert session.panes["pane_1"].current_pty_id is None
    assert session.pty_ids == ()


def test_panes_at_the_old_root_move_with_it() -> None:
    session = rules.split_pane(make(), "win_1", "pane_1", "", "pane_2")
    session = rules.set_working_dir(session, "pane_2", "/elsewhere", running=False)
    session = rules.set_root_dir(session, "/new", running=False)
    assert session.root_dir == "/new"
    assert session.panes["pane_1"].working_dir == "/new"
    assert session.panes["pane_2"].working_dir == "/elsewhere"


def test_directories_do_not_move_under_a_running_terminal() -> None:
    with pytest.raises(RefusedError, match="cannot change root dir while session has running ptys"):
        rules.set_root_dir(make(), "/new", running=True)
    with pytest.raises(RefusedError, match="cannot change working dir"):
        rules.set_working_dir(make(), "pane_1", "/new", running=True)


def test_a_project_is_set_and_cleared() -> None:
    session = rules.set_project(make(), "proj_1")
    assert session.project_id == "proj_1"
    assert rules.set_project(session, "").project_id is None


def test_the_wire_carries_the_contracts_names() -> None:
    session = rules.attach_pty(make(), "pane_1", "pty_1")
    wire = decode(encode(session), dict[str, Any])
    assert wire == {
        "id": "sess_1",
        "name": "app",
        "rootDir": "/src/app",
        "windows": {
            "win_1": {
                "id": "win_1",
                "sessionId": "sess_1",
                "name": "Main",
                "layout": {"kind": "leaf", "paneId": "pane_1"},
            }
        },
        "panes": {
            "pane_1": {"id": "pane_1", "windowId": "win_1", "workingDir": "/src/app", "currentPtyId": "pty_1"},
        },
        "ptyIds": ["pty_1"],
    }
    assert decode(encode(session), Session) == session


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"exec": True}, "exec needs a command"),
        ({"args": ("a",), "command": "ls"}, "args need exec"),
        ({"command": "a\0b"}, "command holds a NUL"),
        ({"exec": True, "command": "ls", "args": ("ok", "\ud800")}, r"args\[1\] is not valid Unicode"),
        ({"env": {"A=B": "x"}}, "holds '='"),
        ({"env": {"": "x"}}, "env name required"),
        ({"agent_profile_id": "claude", "command": "ls"}, "not both"),
    ],
)
def test_a_start_that_no_process_could_have_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidError, match=sentence):
        check_start(StartPtyOptions(**options))


def test_start_options_read_from_the_wire_with_defaults() -> None:
    options = decode(b'{"command":"ls","exec":true,"args":["-l"],"agentBridge":{"enabled":true}}', StartPtyOptions)
    assert (options.cols, options.rows) == (80, 24)
    assert options.agent_bridge is not None
    assert options.agent_bridge.provider == ""
