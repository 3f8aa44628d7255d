"""A bridge: the credential by which one terminal's hooks may wait for a person. Only the token's hash is stored."""

from __future__ import annotations

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.hooks.provider import PROVIDERS
from whisk.ids import new_id, secret_token, token_hash, token_matches
from whisk.values import Record

HOOK_PROTOCOL = 1


class BridgeOwner(Record, frozen=True):
    """Whose hooks these are; ids that do not apply are empty."""

    provider: str
    session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    project_id: str = ""
    work_item_id: str = ""


class Bridge(Record, frozen=True):
    """`closed_at` is set when the terminal has ended; its token then opens nothing any more."""

    id: str
    owner: BridgeOwner
    token_hash: str
    created_at: Instant
    closed_at: Instant | None = None

    def admits(self, token: str) -> bool:
        return self.closed_at is None and token_matches(token, self.token_hash)


class BridgeCredentials(Record, frozen=True):
    """What the agent's environment gets. The token exists here and in that environment, nowhere else."""

    id: str
    token: str
    provider: str


def open_bridge(owner: BridgeOwner, now: Instant) -> tuple[Bridge, BridgeCredentials]:
    """A new bridge and its credentials; `InvalidError` for an agent that has no hooks whisk can answer."""
    if owner.provider not in PROVIDERS:
        raise InvalidError(
            f"unsupported agent bridge provider {owner.provider!r}; known are {', '.join(PROVIDERS)}",
            providers=list(PROVIDERS),
        )
    token = secret_token()
    bridge = Bridge(id=new_id("brg"), owner=owner, token_hash=token_hash(token), created_at=now)
    return bridge, BridgeCredentials(id=bridge.id, token=token, provider=owner.provider)
