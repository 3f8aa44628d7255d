"""Credentials for the hooks of a terminal that is about to start."""

from __future__ import annotations

from whisk.actors.bridges import BridgesHandle
from whisk.actors.future import get
from whisk.bridges.bridge import BridgeOwner
from whisk.work.start import BridgeCredentials, BridgeRequest


class Registrar:
    """What `SessionServices.register_bridge` wants; blocks the calling greenlet only, and raises refusals."""

    def __init__(self, bridges: BridgesHandle) -> None:
        self._bridges = bridges

    def __call__(self, request: BridgeRequest) -> BridgeCredentials:
        owner = BridgeOwner(
            provider=request.provider,
            session_id=request.session_id,
            pty_id=request.pty_id,
            run_id=request.context.run_id or "",
            project_id=request.context.project_id or "",
            work_item_id=request.context.work_item_id or "",
        )
        made = get(self._bridges.register.remote(owner))
        return BridgeCredentials(bridge_id=made.id, token=made.token, provider=made.provider)
