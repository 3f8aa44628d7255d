"""Agent profiles, and which agents are installed here."""

from __future__ import annotations

import shutil

from whisk.actors.offload import offload
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.profiles.detect import Which, describe, detect
from whisk.profiles.launch import search_path
from whisk.profiles.profile import AgentProfile, DetectedAgent


def list_profiles(api: Api, request: Request[None, None]) -> list[AgentProfile]:
    services = api.sessions.services
    # Looking through the folders of a PATH may touch a slow disk.
    return offload(describe, services.profiles(), _which(api))


def list_detected(api: Api, request: Request[None, None]) -> list[DetectedAgent]:
    return offload(detect, api.sessions.services.profiles(), _which(api))


def _which(api: Api) -> Which:
    path = search_path(api.sessions.services.environ)
    return lambda command: shutil.which(command, path=path)


ROUTES = (
    Route(
        "GET",
        "/v1/agent-profiles",
        list_profiles,
        "List the agents that can be started, and which are installed",
        reply=list[AgentProfile],
        operation="listAgentProfiles",
    ),
    Route(
        "GET",
        "/v1/agents/detected",
        list_detected,
        "List the agents found here",
        reply=list[DetectedAgent],
        operation="listDetectedAgents",
    ),
)
