"""From a hook's bytes and headers to the keeper of bridges, and back to what the hook's process reads.

What is read back is any number of lines `+<seconds left>`, while a person is waited for, and then one netstring: the
document to print, or an empty one. A document that was cut short cannot be taken for a whole one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import msgspec

from whisk.actors.bridge import BridgeHandle
from whisk.actors.bridges import BridgesHandle
from whisk.actors.future import get
from whisk.actors.offload import offload
from whisk.bridges.hook import HookCall, HookOutcome
from whisk.errors import DeadlineError, UnavailableError, WhiskError
from whisk.hooks.entry import HookContext, kept_of
from whisk.hooks.event import HookEvent
from whisk.hooks.payload import plain_text, read_payload
from whisk.hooks.provider import PROVIDERS, find_provider
from whisk.http.api import Api
from whisk.http.client_gone import ClientGoneError
from whisk.http.route import Request
from whisk.ids import new_id

HEARTBEAT = 15.0
STORE_SECONDS = 10.0
_LARGE = 256 * 1024


def keeper(api: Api) -> BridgesHandle:
    """The keeper of bridges; `NoSuchActorError` while the daemon starts or stops."""
    return api.system.get("bridges", handle=BridgesHandle)


def text_header(request: Request[Any, Any], name: str) -> str:
    """A header that the relay may have percent-encoded, as text that can be stored."""
    return plain_text(unquote(request.header(name) or "", errors="replace")).replace("\0", "")


def context_of(request: Request[Any, Any]) -> HookContext:
    protocol, size = text_header(request, "Whisk-Hook-Protocol"), text_header(request, "Whisk-Hook-Size")
    return HookContext(
        bridge_id=text_header(request, "Whisk-Bridge"),
        session_id=text_header(request, "Whisk-Session-Id"),
        pty_id=text_header(request, "Whisk-Pty-Id"),
        run_id=text_header(request, "Whisk-Run-Id"),
        project_id=text_header(request, "Whisk-Project-Id"),
        work_item_id=text_header(request, "Whisk-Work-Item-Id"),
        actor=text_header(request, "Whisk-Actor"),
        tmux_server=text_header(request, "Whisk-Tmux-Server"),
        tmux_pane=text_header(request, "Whisk-Tmux-Pane"),
        ancestry=text_header(request, "Whisk-Ancestry"),
        protocol=int(protocol) if protocol.isdecimal() and len(protocol) < 9 else None,
        size=int(size) if size.isdecimal() and len(size) < 18 else 0,
    )


def read_event(provider: str, body: bytes, override: str) -> HookEvent:
    """The event of a payload; a large one is read on another thread, so that nobody waits for it."""
    found = find_provider(provider)
    if len(body) <= _LARGE:
        return found.read(read_payload(body), override)

    def read() -> HookEvent:
        payload = read_payload(body)
        return found.read(msgspec.structs.replace(payload, kept=kept_of(payload)), override)

    return offload(read)


def call_hook(
    api: Api, request: Request[Any, Any], context: HookContext, token: str, event: HookEvent, *, relay_id: str = ""
) -> HookOutcome:
    """What a hook with credentials is told at once; blocks until a request that it makes is on disk."""
    call = HookCall(
        bridge_id=context.bridge_id,
        token=token,
        relay_id=relay_id or new_id("relay"),
        event=event,
        context=context,
        again=bool(request.header("Whisk-Hook-Again")),
    )
    return request.wait(keeper(api).hook.options(timeout=STORE_SECONDS).remote(call), STORE_SECONDS)


def netstring(document: str) -> bytes:
    data = document.encode()
    return b"%d:%b," % (len(data), data)


def wait_in_stream(api: Api, request: Request[Any, Any], outcome: HookOutcome) -> Iterator[bytes]:
    """What a waiting hook reads. It ends without a document when the daemon stops: then the hook comes back."""
    clock = api.system.clock
    # Counted from here on: a wall clock that is set meanwhile must not end the wait, nor make it longer.
    ends = clock.monotonic() + _left(api, outcome)
    with _Attachment(api, outcome.request_id) as attached:
        while True:
            yield b"+%.1f\n" % max(0.0, ends - clock.monotonic())
            try:
                output = request.wait(attached.output, HEARTBEAT)
            except DeadlineError:
                continue
            except UnavailableError:
                attached.keep()
                return
            except (ClientGoneError, WhiskError):
                return
            attached.keep()
            yield netstring(output)
            return


def wait_at_once(api: Api, request: Request[Any, Any], outcome: HookOutcome) -> str:
    """The output for a client that holds its connection open until there is one."""
    with _Attachment(api, outcome.request_id) as attached:
        try:
            output = request.wait(attached.output, None)
        except UnavailableError:
            attached.keep()
            raise
        attached.keep()
        return output


class _Attachment:
    """One connection that waits for one request; left early, it tells the request that its hook is gone."""

    def __init__(self, api: Api, request_id: str) -> None:
        self._actor = BridgeHandle(f"bridge:{request_id}", api.system.node, api.system)
        self._hook = new_id("hook")
        self._kept = False

    def __enter__(self) -> _Attachment:
        self.output = self._actor.attach.options(timeout=None).remote(self._hook)
        return self

    def keep(self) -> None:
        """The hook has its answer, or will come back for it."""
        self._kept = True

    def __exit__(self, *_: object) -> None:
        if not self._kept:
            self._actor.detach.tell(self._hook)


def _left(api: Api, outcome: HookOutcome) -> float:
    return api.system.clock.now().seconds_until(outcome.expires_at) if outcome.expires_at is not None else 0.0


def provider_of(api: Api, named: str, bridge_id: str) -> str:
    """The agent whose hook this is: as it says, else as its bridge knows, else unknown.

    A name that nobody knows counts for less than the bridge: no rule would hold for it.
    """
    if named in PROVIDERS:
        return named
    return (get(keeper(api).provider.remote(bridge_id)) if bridge_id else "") or named or "unknown"
