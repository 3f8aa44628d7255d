"""Policies: rules that decide tool calls without a person."""

from __future__ import annotations

from whisk.actors.future import get
from whisk.bridges.policy import Policy, PolicyDraft, RemovePolicy
from whisk.http.api import Api
from whisk.http.relay import keeper
from whisk.http.route import Request, Route


def list_policies(api: Api, request: Request[None, None]) -> list[Policy]:
    return get(keeper(api).policies.remote())


def add_policy(api: Api, request: Request[PolicyDraft, None]) -> Policy:
    return get(keeper(api).add_policy.remote(request.body))


def remove_policy(api: Api, request: Request[None, RemovePolicy]) -> Policy:
    who = request.query.actor or request.who
    return get(keeper(api).remove_policy.remote(request.path["policy_id"], who, request.surface))


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/policies",
        list_policies,
        "List policies, the oldest first",
        reply=list[Policy],
        operation="listPolicies",
    ),
    Route(
        "POST",
        "/v1/policies",
        add_policy,
        "Add a policy",
        body=PolicyDraft,
        reply=Policy,
        status=201,
        operation="addPolicy",
    ),
    Route(
        "DELETE",
        "/v1/policies/{policy_id}",
        remove_policy,
        "Remove a policy",
        query=RemovePolicy,
        reply=Policy,
        operation="removePolicy",
    ),
)
