"""Skills: what agents of this person and of a project can be told to do."""

from __future__ import annotations

from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.profiles.skill import SkillCatalog
from whisk.storage import project as project_storage
from whisk.storage import session as session_storage
from whisk.values import Record


class ListSkillsRequest(Record, frozen=True):
    """The skills of a project, or of the folder of a session, are listed too; an unknown id is 404."""

    project_id: str = ""
    session_id: str = ""


def list_skills(api: Api, request: Request[None, ListSkillsRequest]) -> SkillCatalog:
    return api.setup.skills(_root(api, request.query))


def rescan_skills(api: Api, request: Request[ListSkillsRequest, None]) -> SkillCatalog:
    return api.setup.skills(_root(api, request.body), anew=True)


def _root(api: Api, asked: ListSkillsRequest) -> str:
    if asked.project_id:
        return api.store.read(lambda db: project_storage.PROJECTS.get(db, asked.project_id)).root_dir
    if asked.session_id:
        return api.store.read(lambda db: session_storage.get(db, asked.session_id)).root_dir
    return ""


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/skills",
        list_skills,
        "List the skills that agents here have",
        query=ListSkillsRequest,
        reply=SkillCatalog,
        operation="listSkills",
    ),
    Route(
        "POST",
        "/v1/skills/rescan",
        rescan_skills,
        "Look for skills anew",
        body=ListSkillsRequest,
        reply=SkillCatalog,
        operation="rescanSkills",
    ),
)
