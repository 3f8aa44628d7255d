"""A session: a root directory, a window, its panes, and which terminal each pane shows.

Records are what the wire carries; the rules are functions from record to record and raise before anything changes.
Whether a directory exists is not known here: the actor looks.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import ClassVar, TypeVar

import msgspec

from whisk.errors import InvalidError, NotFoundError, RefusedError
from whisk.values import Record, check_text
from whisk.work import layout
from whisk.work.layout import LayoutNode
from whisk.work.start import StartPtyOptions

T = TypeVar("T")
NAME_LIMIT = 512
PATH_LIMIT = 4095


class Pane(Record, frozen=True):
    id: str
    window_id: str
    working_dir: str
    current_pty_id: str | None = None


class SessionWindow(Record, frozen=True):
    id: str
    session_id: str
    name: str
    layout: LayoutNode


class Session(Record, frozen=True):
    """`pty_ids` are all terminals started here that still exist, shown in a pane or not."""

    id: str
    name: str
    root_dir: str
    windows: dict[str, SessionWindow]
    panes: dict[str, Pane]
    project_id: str | None = None
    pty_ids: tuple[str, ...] = ()


class CreateSession(Record, frozen=True):
    """The name defaults to the last part of the root directory."""

    wire_name: ClassVar[str] = "CreateSessionRequest"

    root_dir: str
    name: str = ""
    working_dir: str = ""
    project_id: str = ""
    initial_pty: StartPtyOptions | None = None


class CreatedSession(Record, frozen=True):
    session: Session
    window_id: str
    pane_id: str
    pty_id: str | None = None
    main_pty_id: str | None = None


class SplitPaneResult(Record, frozen=True):
    session: Session
    pane_id: str
    pty_id: str | None = None
    legacy_pty_id: str | None = None


class StartedPanePty(Record, frozen=True):
    session: Session
    pty_id: str


class RestartedPanePty(Record, frozen=True):
    session: Session
    pty_id: str
    old_pty_id: str


class DetachedPanePty(Record, frozen=True):
    session: Session
    pty_id: str


def check_directory(path: str, field: str) -> str:
    """The form of a directory's path: given, absolute, storable. Returns it without `.`, `..` and doubled slashes."""
    label = {"rootDir": "root dir", "workingDir": "working dir"}.get(field, field)
    check_text(path, label, empty=False, limit=PATH_LIMIT)
    if not path.startswith("/"):
        raise InvalidError(f"{label} must be absolute", field=field, path=path)
    clean = posixpath.normpath(path)
    # POSIX lets two leading slashes mean something else, and normpath keeps them.
    return "/" + clean.lstrip("/")


def new_session(request: CreateSession, *, session_id: str, window_id: str, pane_id: str) -> Session:
    """One window with one pane. Raises `InvalidError` for a missing or relative directory or an unusable name."""
    root = check_directory(request.root_dir, "rootDir")
    working = check_directory(request.working_dir, "workingDir") if request.working_dir else root
    name = check_text(request.name.strip(), "name", limit=NAME_LIMIT) or posixpath.basename(root) or "New Session"
    window = SessionWindow(id=window_id, session_id=session_id, name="Main", layout=layout.leaf(pane_id))
    pane = Pane(id=pane_id, window_id=window_id, working_dir=working)
    return Session(
        id=session_id,
        name=name,
        root_dir=root,
        windows={window_id: window},
        panes={pane_id: pane},
        project_id=request.project_id or None,
    )


def find_pane(session: Session, pane_id: str) -> Pane:
    pane = session.panes.get(pane_id)
    if pane is None:
        raise NotFoundError(f"pane {pane_id} not found in session {session.id}", pane=pane_id, session=session.id)
    return pane


def find_window(session: Session, window_id: str) -> SessionWindow:
    window = session.windows.get(window_id)
    if window is None:
        raise NotFoundError(
            f"window {window_id} not found in session {session.id}", window=window_id, session=session.id
        )
    return window


def split_pane(session: Session, window_id: str, target_pane_id: str, direction: str, new_pane_id: str) -> Session:
    """Add a pane after the target, in the target's directory. An empty `window_id` is the target's own window."""
    target = find_pane(session, target_pane_id)
    window = find_window(session, window_id or target.window_id)
    tree = layout.split_leaf(window.layout, target_pane_id, layout.parse_direction(direction), new_pane_id)
    pane = Pane(id=new_pane_id, window_id=window.id, working_dir=target.working_dir)
    return msgspec.structs.replace(
        session,
        windows=_with(session.windows, window.id, msgspec.structs.replace(window, layout=tree)),
        panes=_with(session.panes, new_pane_id, pane),
    )


def close_pane(session: Session, window_id: str, pane_id: str) -> Session:
    """Take the pane out of its window; the last pane of a window stays. Its terminal is the caller's to end."""
    pane = find_pane(session, pane_id)
    window = find_window(session, window_id or pane.window_id)
    if pane.window_id != window.id:
        raise NotFoundError(f"pane {pane_id} is not in window {window.id}", pane=pane_id, window=window.id)
    tree = layout.remove_leaf(window.layout, pane_id)
    if tree is None:
        raise RefusedError("cannot close last pane in window", pane=pane_id, window=window.id)
    return msgspec.structs.replace(
        session,
        windows=_with(session.windows, window.id, msgspec.structs.replace(window, layout=tree)),
        panes={key: each for key, each in session.panes.items() if key != pane_id},
    )


def attach_pty(session: Session, pane_id: str, pty_id: str) -> Session:
    """Show a new terminal in an empty pane."""
    pane = find_pane(session, pane_id)
    if pane.current_pty_id is not None:
        raise RefusedError(
            f"pane {pane_id} already has a current pty", pane=pane_id, pty=pane.current_pty_id, session=session.id
        )
    return _show(session, pane, pty_id)


def replace_pty(session: Session, pane_id: str, pty_id: str) -> tuple[Session, str]:
    """Show a new terminal in place of one that has ended. Returns the session and the id that was replaced.

    The old terminal stays one of the session's until it is deleted. That it has ended is the caller's to know.
    """
    pane = find_pane(session, pane_id)
    if pane.current_pty_id is None:
        raise RefusedError(f"pane {pane_id} has no pty to restart", pane=pane_id, session=session.id)
    return _show(session, pane, pty_id), pane.current_pty_id


def detach_pty(session: Session, pane_id: str) -> tuple[Session, str]:
    """Empty the pane; the terminal runs on and still belongs to the session."""
    pane = find_pane(session, pane_id)
    if pane.current_pty_id is None:
        raise RefusedError(f"pane {pane_id} has no current pty", pane=pane_id, session=session.id)
    empty = msgspec.structs.replace(pane, current_pty_id=None)
    return msgspec.structs.replace(session, panes=_with(session.panes, pane_id, empty)), pane.current_pty_id


def forget_pty(session: Session, pty_id: str) -> Session:
    """A terminal was deleted, or never came to life: no pane shows it and it is no longer counted."""
    shown = {
        key: msgspec.structs.replace(pane, current_pty_id=None) if pane.current_pty_id == pty_id else pane
        for key, pane in session.panes.items()
    }
    kept = tuple(each for each in session.pty_ids if each != pty_id)
    return msgspec.structs.replace(session, panes=shown, pty_ids=kept)


def set_root_dir(session: Session, root_dir: str, *, running: bool) -> Session:
    """Panes that were at the old root move along; refused while a terminal shown in a pane runs."""
    root = check_directory(root_dir, "rootDir")
    if running:
        raise RefusedError("cannot change root dir while session has running ptys", session=session.id)
    moved = {
        key: msgspec.structs.replace(pane, working_dir=root) if pane.working_dir in ("", session.root_dir) else pane
        for key, pane in session.panes.items()
    }
    return msgspec.structs.replace(session, root_dir=root, panes=moved)


def set_working_dir(session: Session, pane_id: str, working_dir: str, *, running: bool) -> Session:
    pane = find_pane(session, pane_id)
    directory = check_directory(working_dir, "workingDir")
    if running:
        raise RefusedError("cannot change working dir while the pane's pty runs", pane=pane_id, session=session.id)
    moved = msgspec.structs.replace(pane, working_dir=directory)
    return msgspec.structs.replace(session, panes=_with(session.panes, pane_id, moved))


def set_project(session: Session, project_id: str) -> Session:
    """Assign to a project; an empty id clears it."""
    return msgspec.structs.replace(session, project_id=project_id or None)


def shown_ptys(session: Session) -> tuple[str, ...]:
    return tuple(pane.current_pty_id for pane in session.panes.values() if pane.current_pty_id is not None)


def _show(session: Session, pane: Pane, pty_id: str) -> Session:
    shown = msgspec.structs.replace(pane, current_pty_id=pty_id)
    owned = (*(each for each in session.pty_ids if each != pty_id), pty_id)
    return msgspec.structs.replace(session, panes=_with(session.panes, pane.id, shown), pty_ids=owned)


def _with(table: Mapping[str, T], key: str, value: T) -> dict[str, T]:
    return {**table, key: value}
