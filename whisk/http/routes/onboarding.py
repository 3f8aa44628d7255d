"""What whisk may add to a person's agents: how it stands, and adding what was named."""

from __future__ import annotations

from whisk.hooks.install.onboarding import OnboardingStatus
from whisk.http import trail
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.values import Record, check_text


class OnboardingQuery(Record, frozen=True):
    """The agents' own folders, absolute, where they are not those of the daemon's environment."""

    claude_dir: str = ""
    codex_dir: str = ""


class OnboardingApplyRequest(OnboardingQuery, frozen=True, kw_only=True):
    """Only these items are applied; none of them changes nothing."""

    item_ids: list[str] | None


def show_onboarding(api: Api, request: Request[None, OnboardingQuery]) -> OnboardingStatus:
    return api.setup.onboarding(_folders(request.query))


def apply_onboarding(api: Api, request: Request[OnboardingApplyRequest, None]) -> OnboardingStatus:
    wanted = list(request.body.item_ids or ())
    status = api.setup.apply(wanted, _folders(request.body))
    if wanted:
        trail.note(api, request, "apply", "onboarding", "onboarding", "applied", about=", ".join(wanted))
    return status


def _folders(asked: OnboardingQuery) -> dict[str, str]:
    return {
        "claude": check_text(asked.claude_dir, "claudeDir", limit=4096),
        "codex": check_text(asked.codex_dir, "codexDir", limit=4096),
    }


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/onboarding",
        show_onboarding,
        "Say what whisk may add to the agents here",
        query=OnboardingQuery,
        reply=OnboardingStatus,
        operation="getOnboarding",
    ),
    Route(
        "POST",
        "/v1/onboarding/apply",
        apply_onboarding,
        "Add what was named; each item says what became of it",
        body=OnboardingApplyRequest,
        reply=OnboardingStatus,
        operation="applyOnboarding",
    ),
)
