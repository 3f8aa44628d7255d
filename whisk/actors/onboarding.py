"""What a new person is offered: hooks and the skill for each agent. Nothing is applied that was not named."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Literal

import msgspec

from whisk import __version__
from whisk.errors import WhiskError
from whisk.hooks.install.onboarding import OnboardingItem, OnboardingStatus, check_ids
from whisk.hooks.install.plan import TARGETS, Target
from whisk.profiles.launch import search_path
from whisk.storage.hook_setup import AgentFolder, HookPlaces, HookSetup, find_folder
from whisk.storage.skill_setup import SkillSetup

Folders = Mapping[str, str]


class Onboarding:
    """All of it blocks. `folders` name an agent's folder where it is not that of `env`."""

    def __init__(self, env: Mapping[str, str], places: HookPlaces, hooks: HookSetup, skills: SkillSetup) -> None:
        self._env = env
        self._places = places
        self._hooks = hooks
        self._skills = skills

    def status(self, folders: Folders) -> OnboardingStatus:
        return self._status(self._items(folders))

    def apply(self, ids: list[str], folders: Folders) -> OnboardingStatus:
        """Each on its own: one that is refused keeps no other from being applied."""
        known = [item.id for item in self._items(folders)]
        results = {id: self._apply(id, folders) for id in check_ids(ids, known)}
        items = []
        for item in self._items(folders):
            result, said = results.get(item.id, (None, ""))
            items.append(msgspec.structs.replace(item, result=result, detail=said or item.detail))
        return self._status(tuple(items))

    def _apply(self, id: str, folders: Folders) -> tuple[Literal["applied", "unchanged", "refused"], str]:
        kind, _, provider = id.partition(":")
        try:
            if kind == "daemon":
                return "unchanged", "whiskd runs"
            agent = find_folder(provider, self._env, folders.get(provider, ""))
            changed = self._hooks.install(agent).changed if kind == "hook" else self._skills.install(agent)
        except WhiskError as error:
            return "refused", error.message
        return ("applied" if changed else "unchanged"), ""

    def _status(self, items: tuple[OnboardingItem, ...]) -> OnboardingStatus:
        shown = any(item.selected_by_default for item in items)
        return OnboardingStatus(
            items=items, should_show=shown, local_daemon=True, state_path=str(self._places.manifest)
        )  # fmt: skip

    def _items(self, folders: Folders) -> tuple[OnboardingItem, ...]:
        daemon = OnboardingItem(
            id="daemon",
            kind="daemon",
            label="whiskd",
            target="daemon",
            status="current",
            selected_by_default=False,
            version=__version__,
        )
        targets = [(target, find_folder(name, self._env, folders.get(name, ""))) for name, target in TARGETS.items()]
        hooks = [self._hook(target, agent) for target, agent in targets]
        return (daemon, *hooks, *(self._skill(target, agent) for target, agent in targets))

    def _hook(self, target: Target, agent: AgentFolder) -> OnboardingItem:
        found = self._hooks.check(agent)
        wants = found.status not in ("current", "unavailable") and self._suits(target, agent)
        return OnboardingItem(
            id=f"hook:{target.provider}",
            kind="hook",
            label=f"Hooks of {target.title}",
            description=f"{target.title} asks you through whisk, and whisk knows what it does",
            target=target.provider,
            status=found.status,
            selected_by_default=wants,
            installed_version=found.installed_version,
            latest_version=found.latest_version,
            path=found.config_path,
            detail=found.detail,
        )

    def _skill(self, target: Target, agent: AgentFolder) -> OnboardingItem:
        try:
            status, there = self._skills.check(agent)
            detail = "somebody changed it; applying keeps that as a backup" if status == "modified" else ""
        except WhiskError as error:
            status, there, detail = "unavailable", "", error.message
        # What a person wrote themselves is not replaced unless they ask.
        wants = status in ("missing", "outdated") and self._suits(target, agent)
        return OnboardingItem(
            id=f"skill:{target.provider}",
            kind="skill",
            label=f"Whisk's skill for {target.title}",
            description=f"tells {target.title} how to use the whisk command",
            target=target.provider,
            status=status,
            selected_by_default=wants,
            hash=self._skills.hash,
            installed_hash=there,
            path=str(self._skills.path_of(agent)),
            detail=detail,
        )

    def _suits(self, target: Target, agent: AgentFolder) -> bool:
        """Whether that agent is on this machine."""
        return agent.file.parent.is_dir() or shutil.which(target.program, path=search_path(self._env)) is not None
