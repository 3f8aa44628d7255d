"""Sessions, their panes, and which terminal each pane shows.

Bodies may repeat the ids of the path, as other clients do; the path's are meant.
"""

from __future__ import annotations

from typing import Any, ClassVar

from whisk.actors.session import START_SECONDS, SessionHandle
from whisk.actors.session_book import CLOSE_SECONDS
from whisk.http import trail
from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.values import Record
from whisk.work.session import (
    CreatedSession,
    CreateSession,
    DetachedPanePty,
    RestartedPanePty,
    Session,
    SplitPaneResult,
    StartedPanePty,
)
from whisk.work.start import LaunchContext, StartPtyOptions


class SplitPane(Record, frozen=True):
    wire_name: ClassVar[str] = "SplitPaneRequest"

    target_pane_id: str
    window_id: str = ""
    direction: str = ""
    initial_pty: StartPtyOptions | None = None
    session_id: str = ""


class StartPanePty(Record, frozen=True):
    wire_name: ClassVar[str] = "StartPanePTYRequest"

    options: StartPtyOptions = StartPtyOptions()
    session_id: str = ""
    pane_id: str = ""


class RestartPanePty(StartPanePty, frozen=True):
    wire_name: ClassVar[str] = "RestartPanePTYRequest"


class DetachPanePty(Record, frozen=True):
    wire_name: ClassVar[str] = "DetachPanePTYRequest"

    session_id: str = ""
    pane_id: str = ""


class ClosePane(Record, frozen=True):
    wire_name: ClassVar[str] = "ClosePaneRequest"

    session_id: str = ""
    window_id: str = ""
    pane_id: str = ""


class SetRootDir(Record, frozen=True):
    wire_name: ClassVar[str] = "SetSessionRootDirRequest"

    root_dir: str
    session_id: str = ""


class SetWorkingDir(Record, frozen=True):
    wire_name: ClassVar[str] = "SetPaneWorkingDirRequest"

    working_dir: str
    session_id: str = ""
    pane_id: str = ""


class SetProject(Record, frozen=True):
    wire_name: ClassVar[str] = "SetSessionProjectRequest"

    project_id: str = ""
    session_id: str = ""


def _session(api: Api, request: Request[Any, Any]) -> SessionHandle:
    return api.sessions.session(request.path["session_id"])


def list_sessions(api: Api, request: Request[None, Paged]) -> list[Session]:
    return api.sessions.sessions(page=request.query.page)


def create_session(api: Api, request: Request[CreateSession, None]) -> CreatedSession:
    return api.sessions.create(request.body)


def show_session(api: Api, request: Request[None, None]) -> Session:
    return api.sessions.show(request.path["session_id"])


def close_session(api: Api, request: Request[None, None]) -> list[Session]:
    session_id = request.path["session_id"]
    left = api.sessions.close(session_id)
    trail.note(api, request, "close", "session", session_id, "closed", session_id=session_id)
    return left


def split_pane(api: Api, request: Request[SplitPane, None]) -> SplitPaneResult:
    body = request.body
    call = _session(api, request).split_pane.options(timeout=START_SECONDS)
    asked = call.remote(body.window_id, body.target_pane_id, body.direction, body.initial_pty, LaunchContext())
    return request.wait(asked, START_SECONDS)


def start_pty(api: Api, request: Request[StartPanePty, None]) -> StartedPanePty:
    call = _session(api, request).start_pty.options(timeout=START_SECONDS)
    return request.wait(call.remote(request.path["pane_id"], request.body.options, LaunchContext()), START_SECONDS)


def restart_pty(api: Api, request: Request[RestartPanePty, None]) -> RestartedPanePty:
    call = _session(api, request).restart_pty.options(timeout=START_SECONDS)
    return request.wait(call.remote(request.path["pane_id"], request.body.options, LaunchContext()), START_SECONDS)


def detach_pty(api: Api, request: Request[DetachPanePty, None]) -> DetachedPanePty:
    return request.wait(_session(api, request).detach_pty.remote(request.path["pane_id"]), None)


def close_pane(api: Api, request: Request[ClosePane, None]) -> Session:
    call = _session(api, request).close_pane.options(timeout=CLOSE_SECONDS)
    return request.wait(call.remote(request.path["window_id"], request.path["pane_id"]), CLOSE_SECONDS)


def set_root_dir(api: Api, request: Request[SetRootDir, None]) -> Session:
    return request.wait(_session(api, request).set_root_dir.remote(request.body.root_dir), None)


def set_working_dir(api: Api, request: Request[SetWorkingDir, None]) -> Session:
    asked = _session(api, request).set_working_dir.remote(request.path["pane_id"], request.body.working_dir)
    return request.wait(asked, None)


def set_project(api: Api, request: Request[SetProject, None]) -> Session:
    return request.wait(_session(api, request).set_project.remote(request.body.project_id), None)


_ONE = "/v1/sessions/{session_id}"
_PANE = _ONE + "/panes/{pane_id}"
_IN_WINDOW = _ONE + "/windows/{window_id}/panes/{pane_id}"

ROUTES = (
    Route(
        "GET",
        "/v1/sessions",
        list_sessions,
        "List sessions, oldest first",
        query=Paged,
        reply=list[Session],
        operation="listSessions",
    ),
    Route(
        "POST",
        "/v1/sessions",
        create_session,
        "Create a session with one pane, and a terminal in it if asked for",
        body=CreateSession,
        reply=CreatedSession,
        status=201,
        operation="createSession",
    ),
    Route("GET", _ONE, show_session, "Show one session with its panes", reply=Session, operation="getSession"),
    Route(
        "DELETE",
        _ONE,
        close_session,
        "End a session; the sessions that are left",
        reply=list[Session],
        operation="closeSession",
    ),
    Route(
        "POST",
        f"{_ONE}/split",
        split_pane,
        "Split a pane",
        body=SplitPane,
        reply=SplitPaneResult,
        operation="splitPane",
    ),
    Route(
        "POST",
        f"{_PANE}/start-pty",
        start_pty,
        "Start a terminal in an empty pane",
        body=StartPanePty,
        reply=StartedPanePty,
        status=201,
        operation="startPanePTY",
    ),
    Route(
        "POST",
        f"{_PANE}/restart-pty",
        restart_pty,
        "Start a terminal in the place of one that has ended",
        body=RestartPanePty,
        reply=RestartedPanePty,
        status=201,
        operation="restartPanePTY",
    ),
    Route(
        "POST",
        f"{_PANE}/detach-pty",
        detach_pty,
        "Empty a pane; its terminal runs on",
        body=DetachPanePty,
        reply=DetachedPanePty,
        operation="detachPanePTY",
    ),
    Route(
        "POST",
        f"{_IN_WINDOW}/close",
        close_pane,
        "Close a pane and end what runs in it",
        body=ClosePane,
        reply=Session,
        operation="closePane",
    ),
    Route(
        "POST",
        f"{_ONE}/set-root-dir",
        set_root_dir,
        "Move a session",
        body=SetRootDir,
        reply=Session,
        operation="setSessionRootDir",
    ),
    Route(
        "POST",
        f"{_PANE}/set-working-dir",
        set_working_dir,
        "Move a pane in which nothing runs",
        body=SetWorkingDir,
        reply=Session,
        operation="setPaneWorkingDir",
    ),
    Route(
        "POST",
        f"{_ONE}/set-project",
        set_project,
        "Assign a session to a project, or with an empty id to none",
        body=SetProject,
        reply=Session,
        operation="setSessionProject",
    ),
)
