"""The rules that speak before a person is asked: in memory, changed on disk first. Half of the keeper of bridges."""

from __future__ import annotations

from typing import Any

from whisk.actors.actor import Actor
from whisk.actors.bridge import BridgeServices
from whisk.actors.future import Future
from whisk.bridges.bridge import Bridge
from whisk.bridges.policy import Policy, PolicyDraft, Verdict, find_same, judge, judge_unread, new_policy
from whisk.hooks.event import HookEvent
from whisk.matters.audit import Surface
from whisk.storage import bridge as bridge_storage
from whisk.values import check_text


class PolicyKeeper(Actor):
    """Whoever builds on it loads the policies when it starts."""

    def __init__(self, services: BridgeServices) -> None:
        super().__init__()
        self._services = services
        self._policies: dict[str, Policy] = {}

    def add_policy(self, draft: PolicyDraft) -> Future[Policy]:
        """Holds from the reply on. Raises `InvalidError` for what is no rule.

        The same rule given again is the one there is; `ConflictError` when only its reason differs.
        """
        policy = new_policy(draft, self.clock.now())
        reply: Future[Policy] = Future()
        if (same := find_same(self._policies.values(), policy)) is not None:
            reply.set(same)
            return reply
        write = self._services.journal.write.remote(lambda db: bridge_storage.insert_policy(db, policy, draft.surface))
        self.pipe(write, self._policy_written, policy, False, reply)
        return reply

    def remove_policy(self, policy_id: str, who: str = "", surface: Surface = "") -> Future[Policy]:
        """Raises `NotFoundError`."""
        check_text(who, "actor", limit=256)
        now = self.clock.now()
        reply: Future[Policy] = Future()
        write = self._services.journal.write.remote(
            lambda db: bridge_storage.delete_policy(db, policy_id, now, who, surface)
        )
        self.pipe(write, self._policy_written, None, True, reply)
        return reply

    def policies(self) -> list[Policy]:
        """Oldest first."""
        return sorted(self._policies.values(), key=lambda policy: (policy.created_at, policy.id))

    def _load_policies(self) -> None:
        found = self._services.store.read(bridge_storage.POLICIES.select)
        self._policies = {policy.id: policy for policy in found}

    def _policy_written(self, done: Future[Any], policy: Policy | None, removed: bool, reply: Future[Policy]) -> None:
        if (error := done.error()) is not None:
            reply.set_error(error)
            return
        changed: Policy = policy if policy is not None else done.get()
        if removed:
            self._policies.pop(changed.id, None)
        else:
            self._policies[changed.id] = changed
        self._services.announce("policies.changed", changed.id)
        reply.set(changed)

    def _judge(self, event: HookEvent, bridge: Bridge) -> Verdict | None:
        tool, project = event.tool, bridge.owner.project_id
        if tool is None:
            return None
        if event.payload.fault is not None:
            return judge_unread(self._policies.values(), event.provider, project, tool.name)
        return judge(self._policies.values(), event.provider, project, tool.name, tool.input, event.cwd)
