"""Hooks, prompts, approvals, policies and the hook log over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import pytest

from tests.captured import raw
from whisk.actors.bridge import BridgeHandle, BridgeServices
from whisk.actors.bridges import BridgesActor, BridgesHandle
from whisk.actors.future import get
from whisk.bridges.bridge import BridgeCredentials, BridgeOwner
from whisk.bridges.setting import PromptSettings
from whisk.clock import Instant, SystemClock
from whisk.http import relay
from whisk.http.server import Server
from whisk.http.table import all_routes

DEADLINE = 10.0


@pytest.fixture
def keeper(parts: dict[str, Any], desk: Any) -> Iterator[BridgesHandle]:
    def announce(kind: str, id: str) -> None:
        parts["events"].publish.tell(kind, id)

    services = BridgeServices(parts["store"], parts["journal"], PromptSettings(detach_grace=0.05), announce)
    yield parts["system"].spawn(BridgesActor, services, name="bridges", handle=BridgesHandle)
    get(parts["system"].stop("bridges"), timeout=DEADLINE)


@pytest.fixture
def bridge(keeper: BridgesHandle) -> BridgeCredentials:
    return get(keeper.register.remote(BridgeOwner(provider="claude", pty_id="pty_1", session_id="sess_1")))


@pytest.fixture
def house(serve: Callable[..., Server], parts: dict[str, Any], keeper: BridgesHandle) -> Server:
    return serve(all_routes(), **parts)


def hook_body(bridge: BridgeCredentials, name: str, **more: Any) -> dict[str, Any]:
    payload = json.loads(raw("claude", name))
    return {"token": bridge.token, "provider": "claude", "eventName": payload["hook_event_name"],
            "rawPayload": payload, "hookProtocol": 1} | more  # fmt: skip


class House:
    """Clients of a real server: blocking hooks in greenlets, the person beside them."""

    def __init__(self, server: Server, connect: Callable[[Server], Any], bridge: BridgeCredentials) -> None:
        self.server = server
        self.connect = connect
        self.bridge = bridge

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        return self.connect(self.server).request(method, path, data)

    def hook(self, name: str, **more: Any) -> Any:
        path = f"/v1/agent-bridges/{self.bridge.id}/hooks"
        return gevent.spawn(self.call, "POST", path, hook_body(self.bridge, name, **more))

    def prompt(self) -> dict[str, Any]:
        """The one prompt that waits, as soon as there is one."""
        with gevent.Timeout(DEADLINE):
            seq = 0
            while not (found := self.call("GET", "/v1/agent-prompts?status=pending").json):
                seq = self.call("GET", f"/v1/events/next?afterSeq={seq}").json["event"]["seq"]
        (prompt,) = found
        return dict(prompt)


@pytest.fixture
def desk_of(house: Server, connect: Callable[[Server], Any], bridge: BridgeCredentials) -> House:
    return House(house, connect, bridge)


def test_a_json_hook_blocks_until_the_answer_and_gets_it_as_output(desk_of: House) -> None:
    hook = desk_of.hook("PreToolUse-AskUserQuestion-single")
    prompt = desk_of.prompt()
    assert (prompt["kind"], prompt["message"], prompt["ptyId"]) == ("question", "Proceed?", "pty_1")
    resolved = desk_of.call("POST", f"/v1/agent-prompts/{prompt['id']}/resolve", {"answer": "Yes"})
    assert (resolved.status, resolved.json["status"], resolved.json["answer"]) == (200, "resolved", "Yes")
    output = hook.get(timeout=DEADLINE).json["output"]["hookSpecificOutput"]
    assert output["updatedInput"]["answers"] == {"Proceed?": "Yes"}
    assert desk_of.call("GET", f"/v1/agent-prompts/{prompt['id']}").json == resolved.json


def test_an_approval_is_listed_twice_and_answered_once(desk_of: House) -> None:
    hook = desk_of.hook("PermissionRequest-Bash")
    prompt = desk_of.prompt()
    (approval,) = desk_of.call("GET", "/v1/agent-bridge-approvals?status=pending").json
    assert (approval["id"], approval["toolName"], approval["status"]) == (prompt["id"], "Bash", "pending")
    path = f"/v1/agent-bridge-approvals/{approval['id']}/resolve"
    denied = desk_of.call("POST", path, {"action": "deny", "reason": "no", "actor": "ada"})
    assert denied.json["decision"] == {"action": "deny", "reason": "no"}
    assert hook.get(timeout=DEADLINE).json["output"]["hookSpecificOutput"]["decision"]["message"] == "no"
    late = desk_of.call("POST", f"/v1/agent-prompts/{prompt['id']}/resolve", {"answer": "allow"})
    assert (late.status, late.code) == (409, "conflict")
    assert late.json["details"]["by"] == "ada"
    assert [each["outcome"] for each in desk_of.call("GET", "/v1/agent-prompts?status=resolved").json] == ["denied"]
    assert desk_of.call("GET", "/v1/agent-prompts?status=pending,timed_out").json == []


def test_a_client_that_hangs_up_withdraws_its_request(desk_of: House) -> None:
    client = desk_of.connect(desk_of.server)
    body = json.dumps(hook_body(desk_of.bridge, "PermissionRequest-Bash")).encode()
    path = f"/v1/agent-bridges/{desk_of.bridge.id}/hooks"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{desk_of.server.address[1]}\r\nAuthorization: Bearer {client.token}"
    )
    client.send(f"{head}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    prompt = desk_of.prompt()
    client.close()
    with gevent.Timeout(DEADLINE):
        seq = 0
        while (shown := desk_of.call("GET", f"/v1/agent-prompts/{prompt['id']}").json)["outcome"] == "pending":
            seq = desk_of.call("GET", f"/v1/events/next?afterSeq={seq}").json["event"]["seq"]
    assert (shown["outcome"], shown["status"], shown["reason"]) == ("withdrawn", "cancelled", "hook_gone")
    gone = desk_of.call("POST", f"/v1/agent-prompts/{prompt['id']}/resolve", {"answer": "allow"})
    assert (gone.status, gone.code) == (410, "gone")


def test_the_relays_stream_tells_the_time_left_and_ends_with_one_netstring(desk_of: House) -> None:
    client = desk_of.connect(desk_of.server)
    payload = raw("claude", "PermissionRequest-Bash")
    lines = [
        "POST /v1/hook-relay HTTP/1.0", f"Host: 127.0.0.1:{desk_of.server.address[1]}",
        f"Authorization: Bearer {client.token}", f"Content-Length: {len(payload)}", "Whisk-Provider: claude",
        f"Whisk-Bridge: {desk_of.bridge.id}", f"Whisk-Bridge-Token: {desk_of.bridge.token}", "Whisk-Hook-Request: r1",
    ]  # fmt: skip
    client.send("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
    answer = client.receive()
    assert answer.status == 200
    assert "transfer-encoding" not in answer.headers
    assert 580.0 < float(client.reader.readline()) <= 590.0
    desk_of.call("POST", f"/v1/agent-prompts/{desk_of.prompt()['id']}/resolve", {"answer": "allow"})
    document = b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
    assert client.reader.read() == b"%d:%b," % (len(document), document)


class SetClock(SystemClock):
    moved = 0.0

    def now(self) -> Instant:
        return super().now().plus(self.moved)


@pytest.mark.parametrize("moved", [3600.0, -3600.0])
def test_the_time_left_is_told_by_a_clock_that_nobody_sets(
    desk_of: House, parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch, moved: float
) -> None:
    """A hook that believed a clock set forward would give up, and its call would run unanswered."""
    monkeypatch.setattr(relay, "HEARTBEAT", 0.02)
    parts["system"].clock = clock = SetClock()
    client = desk_of.connect(desk_of.server)
    payload = raw("claude", "PermissionRequest-Bash")
    lines = [
        "POST /v1/hook-relay HTTP/1.0", f"Host: 127.0.0.1:{desk_of.server.address[1]}",
        f"Authorization: Bearer {client.token}", f"Content-Length: {len(payload)}", "Whisk-Provider: claude",
        f"Whisk-Bridge: {desk_of.bridge.id}", f"Whisk-Bridge-Token: {desk_of.bridge.token}",
    ]  # fmt: skip
    client.send("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
    client.receive()
    assert 580.0 < float(client.reader.readline()) <= 590.0
    get(parts["system"].get(f"bridge:{desk_of.prompt()['id']}", handle=BridgeHandle).show.remote())
    clock.moved = moved
    assert [580.0 < float(client.reader.readline()) <= 590.0 for _ in range(3)] == [True] * 3


def test_a_decision_that_comes_with_the_request_is_only_translated(desk_of: House) -> None:
    hook = desk_of.hook("PermissionRequest-Bash", decision={"action": "deny", "reason": "mine"})
    decision = hook.get(timeout=DEADLINE).json["output"]["hookSpecificOutput"]["decision"]
    assert decision == {"behavior": "deny", "message": "mine"}
    assert desk_of.call("GET", "/v1/agent-prompts").json == []


def test_a_wrong_bridge_token_is_401(call: Any, bridge: BridgeCredentials) -> None:
    body = hook_body(bridge, "Stop", token="guessed")
    answer = call("POST", f"/v1/agent-bridges/{bridge.id}/hooks", body)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.json["error"] == "unauthorized agent bridge hook"


def test_an_event_is_logged_listed_and_marked_read(call: Any, bridge: BridgeCredentials) -> None:
    made = call("POST", "/v1/agent-hook-events", hook_body(bridge, "Notification-idle_prompt", ptyId="pty_7"))
    assert made.status == 201
    entry = made.json
    assert (entry["kind"], entry["title"], entry["ptyId"]) == ("notification", "Claude Code notification", "pty_7")
    assert call("GET", "/v1/agent-bridge-events?status=pending").json == [entry]
    read = call("POST", f"/v1/agent-bridge-events/{entry['id']}/read", {})
    assert read.json["status"] == "read"
    assert call("GET", "/v1/agent-bridge-events?status=pending").json == []
    log = call("GET", "/v1/agent-hook-log").json
    assert (log["enabled"], log["entries"], log["sizeBytes"] > 0) == (True, 1, True)
    assert call("POST", "/v1/agent-hook-log/clear", {}).json["entries"] == 0
    opened = call("POST", "/v1/agent-hook-log/open", {}).json
    assert (opened["path"], "nothing was opened" in opened["detail"]) == (log["path"], True)
    chosen = call("POST", "/v1/agent-hook-log/settings", {"enabled": False, "clearAfterSession": None}).json
    assert (chosen["enabled"], chosen["clearAfterSession"]) == (False, False)
    assert call("GET", "/v1/agent-hook-log").json["enabled"] is False


def test_an_event_without_a_name_is_refused(call: Any, keeper: BridgesHandle) -> None:
    answer = call("POST", "/v1/agent-hook-events", {"token": "", "provider": "claude", "eventName": " "})
    assert (answer.status, answer.json["error"]) == (400, "event name required")


def test_policies_are_added_listed_and_removed(call: Any, keeper: BridgesHandle) -> None:
    added = call("POST", "/v1/policies", {"effect": "deny", "rule": "Bash(rm *)", "actor": "ada"})
    assert (added.status, added.json["createdBy"]) == (201, "ada")
    assert call("GET", "/v1/policies").json == [added.json]
    assert call("POST", "/v1/policies", {"effect": "deny", "rule": "Bash("}).status == 400
    assert call("POST", "/v1/policies", {"effect": "maybe", "rule": "Bash"}).status == 400
    assert call("DELETE", f"/v1/policies/{added.json['id']}").json == added.json
    assert call("GET", "/v1/policies").json == []
    assert call("DELETE", f"/v1/policies/{added.json['id']}").status == 404


def test_an_unknown_status_is_refused_with_the_known_ones(call: Any, keeper: BridgesHandle) -> None:
    answer = call("GET", "/v1/agent-prompts?status=pendng")
    assert (answer.status, "known are answered, cancelled" in answer.json["error"]) == (400, True)
