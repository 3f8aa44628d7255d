"""One real daemon as its clients see it: any operation by name, its answer held against the document of the wire."""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.hook_agent import Agent
from tests.openapi_schema import faults
from whisk.cli.client import Client, Reply, quote
from whisk.http.openapi import document
from whisk.http.reply import JSON
from whisk.http.route import Route
from whisk.http.table import all_routes

from .conftest import Whiskd

ROUTES = {route.operation: route for route in all_routes()}
DOCUMENT = document(all_routes())
OPERATIONS = {operation["operationId"]: operation for path in DOCUMENT["paths"].values() for operation in path.values()}
SECONDS = 30.0
WAIT = {"exec": True, "command": "/bin/sh", "args": ["-c", "echo ready; exec sleep 600"]}
"""A terminal that shows a line and stays."""


class World:
    """`do` asks, `ok` also insists on the answer that the document promises. The rest makes what operations need."""

    def __init__(self, whiskd: Whiskd, root: Path) -> None:
        self.whiskd = whiskd
        self.root = root
        self.agents: list[Agent] = []
        self.reached: set[str] = set()
        """The operations that have answered as the document says."""

    def do(
        self, operation: str, body: Any = None, query: dict[str, Any] | None = None, *, token: bool = True, **ids: str
    ) -> Reply:
        route = ROUTES[operation]
        client = self.whiskd.client if token else Client(self.whiskd.url, None)
        path = re.sub(r"\{(\w+)\}", lambda found: quote(ids[found[1]]), route.path)
        if body is None and route.body is not None:
            body = {}
        return client.request(route.method, path, body, query=query, timeout=SECONDS)

    def ok(self, operation: str, body: Any = None, query: dict[str, Any] | None = None, **ids: str) -> Any:
        """The decoded answer."""
        reply = self.do(operation, body, query, **ids)
        assert reply.status == ROUTES[operation].status, reply
        return self.read(operation, reply)

    def refused(self, reply: Reply) -> str:
        """The code of a refusal, which must have the shape of one."""
        assert reply.status >= 400, reply
        assert faults(DOCUMENT, {"$ref": "#/components/schemas/ErrorResponse"}, reply.json()) == []
        return str(reply.json()["code"])

    def read(self, operation: str, reply: Reply) -> Any:
        self.reached.add(operation)
        promised = OPERATIONS[operation]["responses"][str(reply.status)].get("content", {})
        media = reply.headers.get("content-type", "").partition(";")[0]
        assert [media] == (list(promised) or [""])
        if media != JSON:
            return reply.body
        value = json.loads(reply.body)
        assert faults(DOCUMENT, promised[JSON]["schema"], value) == []
        return value

    @cached_property
    def project(self) -> str:
        return str(self.ok("createProject", {"name": "World", "rootDir": str(self.root)})["id"])

    def item(self) -> str:
        return str(self.ok("createWorkItem", {"projectId": self.project, "title": "Something to do"})["id"])

    def run(self, **more: Any) -> dict[str, Any]:
        """Queued, in an item of its own."""
        wanted = {"workItemId": self.item(), "agentProfileId": "plain-shell", "preset": "writer"}
        return dict(self.ok("startWorkItemRun", wanted | more))

    def session(self, pty: Any = None) -> dict[str, Any]:
        """What the answer to `createSession` says, with the ids of session, window and pane as paths name them."""
        made = self.ok("createSession", {"name": "s", "rootDir": str(self.root), "initialPty": pty})
        return made | {"ids": {"session_id": made["session"]["id"], "pane_id": made["paneId"]}}

    def pty(self) -> str:
        return str(self.session(WAIT)["ptyId"])

    def ended_pty(self) -> str:
        pty = self.pty()
        self.ok("killPTY", pty_id=pty)
        return pty

    def mail(self, **more: Any) -> str:
        wanted = {"from": "run:ada", "to": ["run:bob"], "type": "status", "subject": "Hello"}
        return str(self.ok("sendMail", wanted | more)["id"])

    def question(self) -> str:
        return str(self.ok("askQuestion", {"workItemId": self.item(), "prompt": "Which?"})["id"])

    def gate(self) -> str:
        item = self.item()
        self.mail(**{"from": "run:x"}, to=[f"work-item:{item}"], type="decision_gate", subject="Ship it?")
        (gate,) = self.ok("listGateReports", query={"workItemId": item})
        return str(gate["id"])

    def agent(self) -> Agent:
        self.agents.append(Agent(self.whiskd))
        return self.agents[-1]

    def prompt(self, payload: str = "PermissionRequest-Bash") -> str:
        """A hook of an agent that waits for a person."""
        agent = self.agent()
        agent.hook(payload)
        return str(agent.prompt()["id"])

    def hook_event(self) -> dict[str, Any]:
        sent = {"provider": "claude", "eventName": "Notification", "message": "m", "token": ""}
        return dict(self.ok("recordAgentHookEvent", sent))

    def close(self) -> None:
        for agent in self.agents:
            agent.close()


def ids_of(route: Route, value: str) -> dict[str, str]:
    """That value for each id in the path."""
    return dict.fromkeys(re.findall(r"\{(\w+)\}", route.path), value)
