"""Sessions with real terminals: starting, moving, ending, and what a dead daemon leaves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import msgspec
import psutil
import pytest

from tests.session_desk import SECONDS, SessionDesk, run
from whisk.actors.future import get
from whisk.actors.session import reconcile
from whisk.actors.session_book import CLOSE_SECONDS
from whisk.actors.system import ActorSystem
from whisk.errors import GoneError, InvalidError, NotFoundError, RefusedError, SpawnError, WhiskError
from whisk.ids import new_id
from whisk.storage import session as storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.project import PROJECTS
from whisk.work.project import CreateProject, new_project
from whisk.work.start import AgentBridgeOptions, LaunchContext, StartPtyOptions

NOBODY = LaunchContext()


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[SessionDesk]:
    desk = SessionDesk(system, tmp_path)
    yield desk
    desk.close()


def test_a_session_is_stored_before_anybody_hears_of_it(desk: SessionDesk) -> None:
    made = desk.create(name="work")
    assert desk.store.read(lambda db: storage.get(db, made.session.id)) == made.session
    assert made.session.panes[made.pane_id].working_dir == str(desk.folder)
    assert made.pty_id is None
    assert desk.changes == [made.session.id]
    assert desk.book.sessions() == [made.session]


def test_a_first_terminal_runs_in_the_pane(desk: SessionDesk) -> None:
    (desk.folder / "sub").mkdir()
    made = desk.create(run("/bin/sh", "-c", "pwd; tty; read x"), working_dir=str(desk.folder / "sub"))
    assert made.pty_id == made.main_pty_id == made.session.panes[made.pane_id].current_pty_id
    desk.expect(made.pty_id, f"{desk.folder}/sub\r\n/dev/")
    info = desk.book.ptys()[0]
    assert (info.id, info.session_id, info.pane_id, info.running) == (made.pty_id, made.session.id, made.pane_id, True)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"root_dir": "/no/such/place"}, "root dir invalid: /no/such/place: No such file or directory"),
        ({"root_dir": "/etc/passwd"}, "root dir must be a directory"),
        ({"working_dir": "/no/such/place"}, "working dir invalid"),
        ({"root_dir": "relative"}, "root dir must be absolute"),
    ],
)
def test_a_folder_that_is_none_makes_no_session(desk: SessionDesk, fields: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidError, match=sentence):
        desk.create(**fields)
    assert desk.book.sessions() == []


def test_a_folder_that_may_not_be_entered_is_refused(desk: SessionDesk) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may enter every folder")
    closed = desk.folder / "closed"
    closed.mkdir(mode=0)
    with pytest.raises(InvalidError, match="Permission denied"):
        desk.create(root_dir=str(closed))


def test_an_unknown_project_makes_no_session(desk: SessionDesk) -> None:
    with pytest.raises(NotFoundError, match="proj_x"):
        desk.create(project_id="proj_x")
    assert desk.book.sessions() == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (run("/no/such/program"), SpawnError),
        (run("/bin/sh", cols=0), InvalidError),
        (run("/bin/sh", rows=65_535), InvalidError),
        (StartPtyOptions(agent_profile_id="nobody"), InvalidError),
        (StartPtyOptions(agent_profile_id="claude-openrouter", prompt="x"), RefusedError),
        (StartPtyOptions(exec=True), InvalidError),
    ],
)
def test_a_terminal_that_cannot_start_leaves_nothing_behind(
    desk: SessionDesk, options: StartPtyOptions, error: type[WhiskError]
) -> None:
    with pytest.raises(error):
        desk.create(options)
    assert desk.book.sessions() == []
    assert desk.book.ptys() == []
    assert desk.store.read(terminal_storage.select) == []
    made = desk.create()
    with pytest.raises(error):
        start(desk, made.session.id, made.pane_id, options)
    assert desk.book.ptys() == []
    assert [info.name for info in desk.system.list() if info.name.startswith("pty:")] == []
    # The pane is free for a better try.
    started = start(desk, made.session.id, made.pane_id, run("/bin/sh", "-c", "echo fine; read x"))
    desk.expect(started, "fine")


def test_a_typed_command_reaches_the_shell(desk: SessionDesk) -> None:
    made = desk.create(StartPtyOptions(command="echo $((6 * 7))"))
    desk.expect(made.pty_id, r"42\r\n")


def test_the_child_knows_where_it_is_and_nothing_of_an_outer_agent(desk: SessionDesk) -> None:
    made = desk.create(run("/bin/sh", "-c", "env; echo END; read x", env={"MINE": "1", "WHISK_PTY_ID": "forged"}))
    desk.expect(made.pty_id, "END")
    env = environment(desk, made.pty_id)
    assert env["WHISKD_URL"] == "http://127.0.0.1:1"
    assert env["WHISK_CLI"] == "/opt/whisk/bin/whisk"
    assert env["PATH"].split(":")[0] == "/opt/whisk/bin"
    assert env["WHISK_STATE_DIR"] == "/state"
    assert env["WHISK_SESSION_ID"] == made.session.id
    assert env["WHISK_PTY_ID"] == made.pty_id
    assert env["MINE"] == "1"
    assert "CLAUDECODE" not in env
    assert not [name for name in env if name.startswith(("WHISK_RUN", "WHISK_ACTOR", "WHISK_AGENT"))]


def test_a_run_is_told_to_the_child_and_owns_the_terminal(desk: SessionDesk) -> None:
    context = LaunchContext(
        project_id="proj_1", project_root="/src", work_item_id="item_1", run_id="run_1", actor="agent"
    )
    made = desk.create(StartPtyOptions(command="env; echo EN''D"), context)
    desk.expect(made.pty_id, "END")
    env = environment(desk, made.pty_id)
    assert (env["WHISK_RUN_ID"], env["WHISK_WORK_ITEM_ID"], env["WHISK_ACTOR"]) == ("run_1", "item_1", "agent")
    assert (env["WHISK_PROJECT_ID"], env["WHISK_PROJECT_ROOT"]) == ("proj_1", "/src")
    assert made.pty_id is not None
    record = desk.store.read(lambda db: terminal_storage.get(db, made.pty_id or ""))
    assert record.owners == ("run:run_1",)
    assert record.run_id == "run_1"


def test_a_session_of_a_project_tells_its_children_the_project(desk: SessionDesk) -> None:
    project = new_project(
        CreateProject(root_dir="/src/app", name="App"), project_id=new_id("proj"), now=desk.system.clock.now()
    )
    desk.book.services.write(lambda db: PROJECTS.insert(db, project))
    made = desk.create(run("/bin/sh", "-c", "env; echo END; read x"), project_id=project.id)
    desk.expect(made.pty_id, "END")
    env = environment(desk, made.pty_id)
    assert (env["WHISK_PROJECT_ID"], env["WHISK_PROJECT_ROOT"]) == (project.id, "/src/app")


def test_an_agent_gets_its_prompt_and_credentials_that_were_stored_first(desk: SessionDesk) -> None:
    made = desk.create(StartPtyOptions(agent_profile_id="hooked", prompt="--do it"))
    desk.expect(made.pty_id, r"\['--', '--do it'\]")
    (asked,) = desk.bridges
    assert (asked.provider, asked.session_id, asked.pty_id) == ("claude", made.session.id, made.pty_id)
    child = psutil.Process(desk.book.ptys()[0].pid).environ()
    assert child["WHISK_AGENT_BRIDGE_ID"] == "brg_1"
    assert child["WHISK_AGENT_BRIDGE_TOKEN"] == "secret"
    assert child["WHISK_AGENT_BRIDGE_PROVIDER"] == "claude"
    assert child["WHISK_AGENT_PROFILE"] == "hooked"


@pytest.mark.parametrize(
    ("profile", "bridge", "providers"),
    [
        ("hooked", AgentBridgeOptions(enabled=False), []),
        ("hooked", AgentBridgeOptions(enabled=True, provider="codex"), ["codex"]),
        ("shown", None, []),
        ("shown", AgentBridgeOptions(enabled=True, provider="claude"), ["claude"]),
        ("", AgentBridgeOptions(enabled=True, provider="claude"), ["claude"]),
    ],
)
def test_credentials_are_made_only_when_they_are_wanted(
    desk: SessionDesk, profile: str, bridge: AgentBridgeOptions | None, providers: list[str]
) -> None:
    desk.create(StartPtyOptions(agent_profile_id=profile, agent_bridge=bridge))
    assert [request.provider for request in desk.bridges] == providers


def test_a_bridge_without_a_provider_is_refused(desk: SessionDesk) -> None:
    with pytest.raises(InvalidError, match="needs a provider"):
        desk.create(StartPtyOptions(agent_bridge=AgentBridgeOptions(enabled=True)))


def test_a_full_pane_takes_no_second_terminal(desk: SessionDesk) -> None:
    made, _ = desk.shell("read x")
    with pytest.raises(RefusedError, match="already has a current pty"):
        start(desk, made.session.id, made.pane_id, run("/bin/sh"))


def test_a_terminal_that_ended_is_restarted_in_its_place_and_not_before(desk: SessionDesk) -> None:
    made, pty = desk.shell("read x; echo over")
    session = desk.book.session(made.session.id)
    again = run("/bin/sh", "-c", "echo again; read x")
    with pytest.raises(RefusedError, match="is still running"):
        get(session.restart_pty.remote(made.pane_id, again, NOBODY))
    get(pty.write.remote(b"\r"))
    get(pty.wait_exit.remote(), timeout=SECONDS)
    result = get(session.restart_pty.options(timeout=SECONDS).remote(made.pane_id, again, NOBODY), timeout=SECONDS)
    assert result.old_pty_id == made.pty_id
    assert result.session.panes[made.pane_id].current_pty_id == result.pty_id
    desk.expect(result.pty_id, "again")
    desk.expect(made.pty_id, "over")


def test_a_split_adds_a_pane_with_its_terminal(desk: SessionDesk) -> None:
    made, _ = desk.shell("read x")
    call = desk.book.session(made.session.id).split_pane.options(timeout=SECONDS)
    split = get(call.remote("", made.pane_id, "vertical", run("/bin/sh", "-c", "pwd; read x"), NOBODY), timeout=SECONDS)
    assert split.session.panes[split.pane_id].current_pty_id == split.pty_id
    desk.expect(split.pty_id, str(desk.folder))
    assert len(desk.book.ptys()) == 2
    with pytest.raises(SpawnError):
        get(call.remote("", made.pane_id, "", run("/no/such"), NOBODY), timeout=SECONDS)
    assert len(desk.book.sessions()[0].panes) == 2


def test_a_detached_terminal_runs_on_outside_of_its_pane(desk: SessionDesk) -> None:
    made, pty = desk.shell("read x; echo got $x; read y")
    assert made.pty_id is not None
    result = get(desk.book.session(made.session.id).detach_pty.remote(made.pane_id))
    assert result.pty_id == made.pty_id
    get(pty.write.remote(b"it\r"))
    desk.expect(made.pty_id, "got it")
    info = get(pty.info.remote())
    assert (info.pane_id, info.window_id, info.origin_pane_id) == ("", "", made.pane_id)
    start(desk, made.session.id, made.pane_id, run("/bin/sh", "-c", "read x"))


def test_closing_a_pane_ends_what_runs_in_it(desk: SessionDesk) -> None:
    made, pty = desk.shell("read x")
    session = desk.book.session(made.session.id)
    with pytest.raises(RefusedError, match="cannot close last pane"):
        get(session.close_pane.remote(made.window_id, made.pane_id))
    split = get(session.split_pane.remote("", made.pane_id, "", None, NOBODY))
    pid = get(pty.info.remote()).pid
    after = get(session.close_pane.options(timeout=SECONDS).remote(made.window_id, made.pane_id), timeout=SECONDS)
    assert list(after.panes) == [split.pane_id]
    assert not is_alive(pid)
    assert get(pty.info.remote()).status == "killed"
    assert get(session.show.remote()).pty_ids == (made.pty_id,)


def test_closing_a_session_ends_everything_in_it_and_keeps_what_it_said(desk: SessionDesk) -> None:
    made, pty = desk.shell("echo last words; sleep 1000 & sleep 1000")
    other = desk.create()
    desk.expect(made.pty_id, "last words")
    info = get(pty.info.remote())
    pids = [info.pid, *(child.pid for child in psutil.Process(info.pid).children(recursive=True))]
    assert desk.book.close(made.session.id) == [other.session]
    assert not [pid for pid in pids if is_alive(pid)]
    assert desk.book.ptys() == []
    wait_until(lambda: desk.system.find(f"session:{made.session.id}") is None)
    with pytest.raises(NotFoundError, match=made.session.id):
        desk.book.session(made.session.id)
    # The terminal is known and can be read, though its session is gone.
    desk.expect(made.pty_id, "last words")
    assert get(desk.book.pty(made.pty_id or "").info.remote()).status == "killed"


def test_two_closes_at_once_get_the_same_answer(desk: SessionDesk) -> None:
    made, _ = desk.shell("read x")
    session = desk.book.session(made.session.id)
    closes = [session.close.options(timeout=CLOSE_SECONDS).remote() for _ in range(3)]
    with pytest.raises(GoneError, match="is being closed"):
        get(session.detach_pty.remote(made.pane_id))
    assert get(closes, timeout=CLOSE_SECONDS) == [None, None, None]


def test_directories_move_only_while_nothing_runs(desk: SessionDesk) -> None:
    made, pty = desk.shell("read x")
    (desk.folder / "new").mkdir()
    session = desk.book.session(made.session.id)
    target = str(desk.folder / "new")
    with pytest.raises(RefusedError, match="running ptys"):
        get(session.set_root_dir.remote(target))
    with pytest.raises(RefusedError, match="pty runs"):
        get(session.set_working_dir.remote(made.pane_id, target))
    get(pty.write.remote(b"\r"))
    get(pty.wait_exit.remote(), timeout=SECONDS)
    with pytest.raises(InvalidError, match="No such file"):
        get(session.set_root_dir.remote("/no/such/place"))
    assert get(session.set_root_dir.remote(target)).panes[made.pane_id].working_dir == target
    assert desk.book.sessions()[0].root_dir == target


def test_only_a_terminal_that_has_ended_is_deleted(desk: SessionDesk) -> None:
    made, pty = desk.shell("read x")
    assert made.pty_id is not None
    with pytest.raises(RefusedError, match="still running"):
        desk.book.remove_pty(made.pty_id)
    get(pty.write.remote(b"\r"))
    get(pty.wait_exit.remote(), timeout=SECONDS)
    desk.book.remove_pty(made.pty_id)
    assert desk.book.ptys() == []
    assert desk.book.sessions()[0].panes[made.pane_id].current_pty_id is None
    with pytest.raises(NotFoundError, match=made.pty_id):
        desk.book.pty(made.pty_id)


def test_the_next_daemon_finds_sessions_and_their_living_terminals(desk: SessionDesk) -> None:
    made, _ = desk.shell("read x; echo got $x; read y")
    empty = desk.create(name="empty")
    desk.crash()
    desk.open(ActorSystem())
    assert desk.book.restore() == 1
    assert [session.id for session in desk.book.sessions()] == [made.session.id, empty.session.id]
    (info,) = desk.book.ptys()
    assert (info.id, info.running, info.pane_id) == (made.pty_id, True, made.pane_id)
    get(desk.book.pty(info.id).write.remote(b"it\r"))
    desk.expect(info.id, "got it")
    # A session that nobody has asked for yet has no actor, and is found when somebody does.
    assert desk.system.find(f"session:{empty.session.id}") is None
    assert get(desk.book.session(empty.session.id).show.remote()) == empty.session


def test_a_crashed_session_comes_back_with_its_terminals(desk: SessionDesk) -> None:
    made, pty = desk.shell("read x; echo got $x; read y")
    session = desk.book.session(made.session.id)
    before = get(session.show.remote())
    get(desk.system.restart(session.name))
    assert get(session.show.remote()) == before
    get(pty.write.remote(b"it\r"))
    desk.expect(made.pty_id, "got it")


def test_a_terminal_that_a_dead_daemon_started_but_did_not_write_down_is_shown_again(desk: SessionDesk) -> None:
    made, _ = desk.shell("read x")
    records = desk.store.read(terminal_storage.select)
    bare = msgspec.structs.replace(
        made.session,
        pty_ids=(),
        panes={made.pane_id: msgspec.structs.replace(made.session.panes[made.pane_id], current_pty_id=None)},
    )
    assert reconcile(bare, records) == made.session
    assert reconcile(made.session, records) == made.session


def test_a_terminal_that_was_never_stored_is_forgotten(desk: SessionDesk) -> None:
    made, _ = desk.shell("read x")
    forgotten = reconcile(made.session, [])
    assert forgotten.pty_ids == ()
    assert forgotten.panes[made.pane_id].current_pty_id is None


def start(desk: SessionDesk, session_id: str, pane_id: str, options: StartPtyOptions) -> str:
    call = desk.book.session(session_id).start_pty.options(timeout=SECONDS)
    return get(call.remote(pane_id, options, NOBODY), timeout=SECONDS).pty_id


def environment(desk: SessionDesk, pty_id: str | None) -> dict[str, str]:
    """What `env` printed."""
    output = get(desk.book.pty(pty_id or "").read.remote(0, 65_536)).data.decode()
    return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)


def is_alive(pid: int | None) -> bool:
    """A zombie is not: whoever inherited it may take its time to notice."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: object) -> None:
    with gevent.Timeout(SECONDS):
        while not condition():  # type: ignore[operator]
            gevent.sleep(0.005)


@pytest.fixture
def restless(system: ActorSystem, tmp_path: Path) -> Iterator[SessionDesk]:
    """A desk whose actors rest after a moment."""
    desk = SessionDesk(system, tmp_path, idle=0.1)
    yield desk
    desk.close()


def until(condition: Callable[[], bool]) -> None:
    with gevent.Timeout(SECONDS):
        while not condition():
            gevent.sleep(0.01)


def actors_of(desk: SessionDesk) -> list[str]:
    return [name for name in desk.system.names() if name.startswith(("session:", "pty:"))]


def test_what_has_ended_and_rests_keeps_no_actor_and_is_still_known(restless: SessionDesk) -> None:
    made, pty = restless.shell("echo over")
    get(pty.wait_exit.remote(), timeout=SECONDS)
    before = restless.book.ptys()
    until(lambda: not actors_of(restless))
    assert restless.book.ptys() == before
    assert before[0].output_offset == len(b"over\r\n")
    assert get(restless.book.pty(before[0].id).read.remote(0, 100)).data == b"over\r\n"
    assert get(restless.book.session(made.session.id).show.remote()).pty_ids == (before[0].id,)


def test_a_running_terminal_keeps_its_session_awake(restless: SessionDesk) -> None:
    idle = restless.create()
    made, _ = restless.shell("echo up; read x; echo got $x; read y")
    restless.expect(made.pty_id, "up")
    until(lambda: f"session:{idle.session.id}" not in restless.system.names())
    assert sorted(actors_of(restless)) == sorted([f"session:{made.session.id}", f"pty:{made.pty_id}"])
    get(restless.book.pty(made.pty_id or "").write.remote(b"it\r"), timeout=SECONDS)
    restless.expect(made.pty_id, "got it")


def test_a_session_that_rested_is_woken_by_the_next_who_wants_something(restless: SessionDesk) -> None:
    made = restless.create()
    until(lambda: not actors_of(restless))
    started = start(restless, made.session.id, made.pane_id, run("/bin/sh", "-c", "echo fine; read x"))
    restless.expect(started, "fine")


def test_a_terminal_at_rest_that_is_replaced_is_in_no_pane_any_more(restless: SessionDesk) -> None:
    made, pty = restless.shell("exit 0")
    get(pty.wait_exit.remote(), timeout=SECONDS)
    until(lambda: not actors_of(restless))
    call = restless.book.session(made.session.id).restart_pty.options(timeout=SECONDS)
    get(call.remote(made.pane_id, run("/bin/sh", "-c", "read x"), NOBODY), timeout=SECONDS)
    until(lambda: [each.pane_id for each in restless.book.ptys()] == ["", made.pane_id])


def test_closing_a_session_ends_what_a_terminal_at_rest_had_left_in_the_background(restless: SessionDesk) -> None:
    made, pty = restless.shell("setsid sleep 600 & echo $!")
    get(pty.wait_exit.remote(), timeout=SECONDS)
    child = psutil.Process(int(get(pty.read.remote(0, 100)).data))
    until(lambda: not actors_of(restless))
    assert child.is_running()
    restless.book.close(made.session.id)
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
