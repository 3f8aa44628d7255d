"""Whisk's hooks in the settings of agents: how they stand, putting them in, taking them out."""

from __future__ import annotations

from whisk.hooks.install.standing import AgentHookIntegration
from whisk.http import trail
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.values import Record, check_text


class AgentHookIntegrationRequest(Record, frozen=True):
    """`configDir` is the agent's own folder, absolute; without it that of the daemon's environment is meant.

    `dryRun` says what would change and changes nothing.
    """

    provider: str
    config_dir: str = ""
    dry_run: bool = False


Asked = Request[AgentHookIntegrationRequest, None]


def list_integrations(api: Api, request: Request[None, None]) -> list[AgentHookIntegration]:
    return api.setup.integrations()


def check_integration(api: Api, request: Asked) -> AgentHookIntegration:
    return api.setup.check(request.body.provider, _folder(request))


def install_integration(api: Api, request: Asked) -> AgentHookIntegration:
    done = api.setup.install(request.body.provider, _folder(request), dry=request.body.dry_run)
    return _noted(api, request, "install", "installed", done)


def remove_integration(api: Api, request: Asked) -> AgentHookIntegration:
    done = api.setup.remove(request.body.provider, _folder(request), dry=request.body.dry_run)
    return _noted(api, request, "remove", "removed", done)


def _noted(api: Api, request: Asked, action: str, outcome: str, done: AgentHookIntegration) -> AgentHookIntegration:
    if not request.body.dry_run:
        trail.note(api, request, action, "hook", request.body.provider, outcome, about=request.body.config_dir)
    return done


def _folder(request: Asked) -> str:
    return check_text(request.body.config_dir, "configDir", limit=4096)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/agent-hook-integrations",
        list_integrations,
        "List how whisk's hooks stand in each agent's settings",
        reply=list[AgentHookIntegration],
        operation="listAgentHookIntegrations",
    ),
    Route(
        "POST",
        "/v1/agent-hook-integrations/check",
        check_integration,
        "Look at whisk's hooks in an agent's settings",
        body=AgentHookIntegrationRequest,
        reply=AgentHookIntegration,
        operation="checkAgentHookIntegration",
    ),
    Route(
        "POST",
        "/v1/agent-hook-integrations/install",
        install_integration,
        "Put whisk's hooks into an agent's settings",
        body=AgentHookIntegrationRequest,
        reply=AgentHookIntegration,
        operation="installAgentHookIntegration",
    ),
    Route(
        "POST",
        "/v1/agent-hook-integrations/remove",
        remove_integration,
        "Take whisk's hooks out of an agent's settings",
        body=AgentHookIntegrationRequest,
        reply=AgentHookIntegration,
        operation="removeAgentHookIntegration",
    ),
)
