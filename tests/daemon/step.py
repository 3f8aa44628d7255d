"""How each operation is brought to succeed: one line, or a function where it takes more. A route needs one."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

from tests.captured import raw
from whisk.cli.process import wait_until

from .work_step import WORK_STEPS
from .world import SECONDS, WAIT, World

Step = Callable[[World], Any]


def attach_pty(w: World) -> None:
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    }  # fmt: skip
    with w.whiskd.client.open("GET", f"/v1/ptys/{w.pty()}/attach", headers=upgrade) as stream:
        status, headers = stream.head()
    w.reached.add("attachPTY")
    assert (status, headers["upgrade"].lower()) == (101, "websocket")


def stream_events(w: World) -> None:
    w.item()
    with w.whiskd.client.open("GET", "/v1/events", query={"afterSeq": 0}) as stream:
        status, headers = stream.head()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        chunks = stream.body(headers)
        while b"data: " not in next(chunks):
            pass
    w.reached.add("streamEvents")


def relay_hook(w: World) -> None:
    reply = w.do("relayHook", raw("claude", "Stop"))
    assert w.read("relayHook", reply) == b"0:,"


def bridge_hook(w: World) -> None:
    env = w.agent().env
    sent = {
        "token": env["WHISK_AGENT_BRIDGE_TOKEN"], "provider": "claude", "eventName": "PermissionRequest",
        "toolName": "Bash", "toolInput": {"command": "ls"}, "decision": {"action": "deny", "reason": "no"},
    }  # fmt: skip
    assert "output" in w.ok("agentBridgeHook", sent, bridge_id=env["WHISK_AGENT_BRIDGE_ID"])


def read_peer(w: World) -> None:
    told = {"provider": "claude", "eventName": "Stop", "token": "", "rawPayload": {"session_id": "of a step"}}
    w.ok("recordAgentHookEvent", told)
    mine = {"providerSessionId": "of a step"}
    assert wait_until(lambda: w.ok("listPeers", query=mine) != [], SECONDS)
    (peer,) = w.ok("listPeers", query=mine)
    assert w.ok("getPeer", peer_id=peer["id"])["state"] == "idle"


def close_pane(w: World) -> None:
    made = w.session(WAIT)
    session = made["session"]["id"]
    split = w.ok("splitPane", {"targetPaneId": made["paneId"], "direction": "vertical"}, session_id=session)
    ids = {"session_id": session, "window_id": made["windowId"], "pane_id": split["paneId"]}
    assert split["paneId"] not in w.ok("closePane", **ids)["panes"]


def restart_pane(w: World) -> None:
    made = w.session(WAIT)
    w.ok("killPTY", pty_id=made["ptyId"])
    assert w.ok("restartPanePTY", {"options": WAIT}, **made["ids"])["oldPtyId"] == made["ptyId"]


def reply_mail(w: World) -> None:
    answer = w.ok("replyMail", {"from": "run:bob", "body": "Yes"}, mail_id=w.mail())
    assert answer["recipients"][0]["address"] == {"kind": "run", "id": "ada"}


def await_answer(w: World) -> None:
    question = w.question()
    assert w.ok("awaitAnswer", query={"timeoutMs": 0}, question_id=question)["status"] == "open"


def read_status(w: World) -> None:
    told = w.ok("reportStatus", {"kind": "blocked", "message": "No key", "workItemId": w.item()})
    assert w.ok("listStatusEvents", query={"unreadOnly": "true"}) != []
    assert "readAt" in w.ok("markStatusEventRead", status_event_id=told["event"]["id"])


def exchange_definition(w: World) -> None:
    """Out into a file, looked at, and in again under another name."""
    (w.root / ".whisk/workflows").mkdir(parents=True, exist_ok=True)
    place = str(w.root / ".whisk/workflows/plan-execute-review.json")
    w.ok("exportWorkflowDefinitionFile", {"id": "plan-execute-review", "version": 1, "path": place})
    assert w.ok("validateWorkflowDefinitionFile", {"path": place})["valid"]
    assert [each["path"] for each in w.ok("listProjectWorkflowFiles", project_id=w.project)] == [place]
    definition = w.ok("listWorkflowDefinitions")[0]["definition"] | {"id": "ours"}
    assert w.ok("validateWorkflowDefinition", {"definition": definition})["valid"]
    w.ok("importWorkflowDefinition", {"definition": definition})
    w.ok("deleteWorkflowDefinition", workflow_id="ours", version="1")
    mine = w.root / "ours.json"
    mine.write_text(json.dumps(definition))
    w.ok("importWorkflowDefinitionFile", {"path": str(mine)})
    w.ok("deleteWorkflowDefinition", workflow_id="ours", version="1")


def integrate_hooks(w: World) -> None:
    claude = {"provider": "claude"}
    assert w.ok("installAgentHookIntegration", claude)["status"] == w.ok("checkAgentHookIntegration", claude)["status"]
    assert "claude" in [each["provider"] for each in w.ok("listAgentHookIntegrations")]
    w.ok("removeAgentHookIntegration", claude)


def set_up(w: World) -> None:
    """What an agent on this machine lacks is put in place, and then it is there."""
    wanted = next(each for each in w.ok("getOnboarding")["items"] if each["status"] == "missing")
    w.ok("applyOnboarding", {"itemIds": [wanted["id"]]})
    now = {each["id"]: each["status"] for each in w.ok("getOnboarding")["items"]}
    assert now[wanted["id"]] != "missing"
    assert w.ok("listSkills", query={"projectId": w.project})["sources"] != []
    w.ok("rescanSkills")


def tell_webhook(w: World) -> None:
    """To a port on which nobody listens: each delivery becomes a dead letter."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    made = w.ok("createWebhook", {"url": f"http://127.0.0.1:{port}/", "types": ["mail.escalated"], "actor": "ada"})
    webhook = {"webhook_id": made["webhook"]["id"]}
    assert w.ok("testWebhook", **webhook)["delivered"] is False
    assert w.ok("rotateWebhookSecret", **webhook)["secret"] != made["secret"]
    w.mail(type="escalation")
    assert wait_until(lambda: w.ok("listDeadLettersOfWebhook", **webhook) != [], SECONDS)
    (letter,) = w.ok("listDeadLettersOfWebhook", **webhook)
    assert len(w.ok("redeliverDeadLetters", **webhook)) == 1
    w.ok("redeliverDeadLetter", letter_id=letter["id"], **webhook)
    assert w.ok("pauseWebhook", **webhook)["paused"]
    assert w.ok("resumeWebhook", **webhook)["id"] in [each["id"] for each in w.ok("listWebhooks")]
    w.ok("getWebhook", **webhook)
    w.ok("removeWebhook", **webhook)


def notify(w: World) -> None:
    """Nobody listens at the only address, which is then told."""
    (target,) = w.ok("getNotify")["targets"]
    (result,) = w.ok("testNotify")
    assert (result["target"], result["delivered"]) == (target["url"], False)


def log_of_hooks(w: World) -> None:
    assert w.ok("setAgentHookLogSettings", {"clearAfterSession": False, "enabled": None})["enabled"]
    w.ok("getAgentHookLogStatus")
    w.ok("openAgentHookLog")
    w.ok("clearAgentHookLog")


def remove_policy(w: World) -> None:
    policy = w.ok("addPolicy", {"effect": "deny", "rule": "Bash(rm *)"})
    w.ok("removePolicy", policy_id=policy["id"])


STEPS: dict[str, Step] = {
    "addPolicy": lambda w: w.ok("addPolicy", {"effect": "ask", "rule": "Bash(git push *)"}),
    "addWorkItemAttachment": lambda w: w.ok(
        "addWorkItemAttachment", {"kind": "note", "note": "n"}, work_item_id=w.item()
    ),
    "agentBridgeHook": bridge_hook,
    "answerQuestion": lambda w: w.ok("answerQuestion", {"answer": "This"}, question_id=w.question()),
    "askQuestion": lambda w: w.question(),
    "attachPTY": attach_pty,
    "awaitAnswer": await_answer,
    "bindWorkItemWorktree": lambda w: w.ok(
        "bindWorkItemWorktree", {"branch": "b", "worktreePath": str(w.root)}, work_item_id=w.item()
    ),
    "cancelWorkItemRun": lambda w: w.ok("cancelWorkItemRun", run_id=w.run()["id"]),
    "closePane": close_pane,
    "closeSession": lambda w: w.ok("closeSession", session_id=w.session()["session"]["id"]),
    "completeGate": lambda w: w.ok("completeGate", {"status": "passed", "actor": "ada"}, gate_report_id=w.gate()),
    "createProject": lambda w: w.project,
    "createSession": lambda w: w.session(),
    "createWorkItem": lambda w: w.item(),
    "deletePTY": lambda w: w.ok("deletePTY", pty_id=w.ended_pty()),
    "deleteWorkItem": lambda w: w.ok("deleteWorkItem", work_item_id=w.item()),
    "detachPanePTY": lambda w: w.ok("detachPanePTY", **w.session(WAIT)["ids"]),
    "expectPTY": lambda w: w.ok("expectPTY", {"patterns": ["ready"], "from": 0}, pty_id=w.pty()),
    "exportAudit": lambda w: w.ok("exportAudit"),
    "getActor": lambda w: w.ok("getActor", name="journal"),
    "getAgentPrompt": lambda w: w.ok("getAgentPrompt", prompt_id=w.prompt()),
    "getCompatibility": lambda w: w.ok("getCompatibility"),
    "getHealth": lambda w: w.ok("getHealth"),
    "getMail": lambda w: w.ok("getMail", mail_id=w.mail()),
    "getMailThread": lambda w: w.ok("getMailThread", mail_id=w.mail()),
    "getMetrics": lambda w: w.ok("getMetrics"),
    "getOpenAPI": lambda w: w.ok("getOpenAPI"),
    "getPTY": lambda w: w.ok("getPTY", pty_id=w.pty()),
    "getPTYOutput": lambda w: w.ok("getPTYOutput", query={"snapshot": "true", "wait": 5}, pty_id=w.pty()),
    "getProjectDetail": lambda w: w.ok("getProjectDetail", project_id=w.run()["projectId"]),
    "getSession": lambda w: w.ok("getSession", session_id=w.session()["session"]["id"]),
    "getWorkItem": lambda w: w.ok("getWorkItem", work_item_id=w.item()),
    "killPTY": lambda w: w.ended_pty(),
    "launchWorkItemRun": lambda w: w.ok("launchWorkItemRun", run_id=w.run()["id"]),
    "listActors": lambda w: w.ok("listActors"),
    "listAgentBridgeApprovals": lambda w: [w.prompt(), w.ok("listAgentBridgeApprovals")],
    "listAgentBridgeEvents": lambda w: [w.hook_event(), w.ok("listAgentBridgeEvents")],
    "listAgentProfiles": lambda w: w.ok("listAgentProfiles"),
    "listAgentPrompts": lambda w: [w.prompt("PreToolUse-AskUserQuestion"), w.ok("listAgentPrompts")],
    "listAudit": lambda w: w.ok("listAudit"),
    "listDeadLetters": lambda w: w.ok("listDeadLetters"),
    "listDetectedAgents": lambda w: w.ok("listDetectedAgents"),
    "listGateReports": lambda w: w.gate(),
    "listMail": lambda w: [w.mail(payload={"any": [1]}), w.ok("listMail", query={"to": "run:bob,run:eve"})],
    "listPTYHistory": lambda w: [w.pty(), w.ok("listPTYHistory")],
    "listPTYs": lambda w: [w.pty(), w.ok("listPTYs")],
    "listPolicies": lambda w: w.ok("listPolicies"),
    "listProjects": lambda w: [w.project, w.ok("listProjects")],
    "listQuestions": lambda w: [w.question(), w.ok("listQuestions")],
    "listSessions": lambda w: [w.session(), w.ok("listSessions")],
    "listStatusEvents": lambda w: w.ok("listStatusEvents"),
    "listPromptTemplates": lambda w: w.ok("listPromptTemplates"),
    "listUIContributions": lambda w: w.ok("listUIContributions", query={"projectId": w.project}),
    "listWorkflowTemplates": lambda w: w.ok("listWorkflowTemplates"),
    "search": lambda w: [w.mail(body="needle"), w.ok("search", query={"q": "needle"})],
    "listWorkItemRuns": lambda w: [w.run(), w.ok("listWorkItemRuns")],
    "listWorkItems": lambda w: [w.item(), w.ok("listWorkItems", query={"projectId": w.project})],
    "markAgentBridgeEventRead": lambda w: w.ok("markAgentBridgeEventRead", event_id=w.hook_event()["id"]),
    "markMailRead": lambda w: w.ok("markMailRead", {"to": "run:bob"}, mail_id=w.mail()),
    "nextEvent": lambda w: [w.item(), w.ok("nextEvent", query={"afterSeq": 0, "timeoutMs": 5000})],
    "nextMail": lambda w: [w.mail(), w.ok("nextMail", query={"to": "run:bob"})],
    "openThing": lambda w: w.ok("openThing", noun="approval", thing_id=w.prompt()),
    "readPTYHistory": lambda w: w.ok("readPTYHistory", pty_id=w.pty()),
    "recordAgentHookEvent": lambda w: w.hook_event(),
    "relayHook": relay_hook,
    "releaseAgentPrompt": lambda w: w.ok("releaseAgentPrompt", prompt_id=w.prompt()),
    "removePolicy": remove_policy,
    "replyMail": reply_mail,
    "resizePTY": lambda w: w.ok("resizePTY", {"cols": 100, "rows": 30}, pty_id=w.pty()),
    "resolveAgentBridgeApproval": lambda w: w.ok(
        "resolveAgentBridgeApproval", {"action": "allow"}, approval_id=w.prompt()
    ),
    "resolveAgentPrompt": lambda w: w.ok("resolveAgentPrompt", {"answer": "allow"}, prompt_id=w.prompt()),
    "restartActor": lambda w: w.ok("restartActor", name=f"project:{w.project}"),
    "restartPanePTY": restart_pane,
    "searchMail": lambda w: [w.mail(), w.ok("searchMail", query={"q": "hello"})],
    "sendMail": lambda w: w.mail(),
    "setPaneWorkingDir": lambda w: w.ok("setPaneWorkingDir", {"workingDir": str(w.root)}, **w.session()["ids"]),
    "setSessionProject": lambda w: w.ok(
        "setSessionProject", {"projectId": w.project}, session_id=w.session()["session"]["id"]
    ),
    "setSessionRootDir": lambda w: w.ok(
        "setSessionRootDir", {"rootDir": str(w.root)}, session_id=w.session()["session"]["id"]
    ),
    "splitPane": close_pane,
    "startPanePTY": lambda w: w.ok("startPanePTY", {"options": WAIT}, **w.session()["ids"]),
    "startWorkItemRun": lambda w: w.run(launch=True),
    "stopActor": lambda w: w.ok("stopActor", name=f"session:{w.session()['session']['id']}"),
    "streamEvents": stream_events,
    "updateWorkItem": lambda w: w.ok("updateWorkItem", {"title": "Another"}, work_item_id=w.item()),
    "writePTY": lambda w: w.ok("writePTY", {"data": "x"}, pty_id=w.pty()),
}
STEPS |= dict.fromkeys(("reportStatus", "listStatusEvents", "markStatusEventRead"), read_status)
STEPS |= dict.fromkeys(
    (
        "deleteWorkflowDefinition", "exportWorkflowDefinitionFile", "importWorkflowDefinition",
        "importWorkflowDefinitionFile", "listProjectWorkflowFiles", "listWorkflowDefinitions",
        "validateWorkflowDefinition", "validateWorkflowDefinitionFile",
    ),
    exchange_definition,
)  # fmt: skip
STEPS |= dict.fromkeys(
    ("checkAgentHookIntegration", "installAgentHookIntegration", "listAgentHookIntegrations",
     "removeAgentHookIntegration"), integrate_hooks,
)  # fmt: skip
STEPS |= dict.fromkeys(
    ("clearAgentHookLog", "getAgentHookLogStatus", "openAgentHookLog", "setAgentHookLogSettings"), log_of_hooks
)
STEPS |= dict.fromkeys(("applyOnboarding", "getOnboarding", "listSkills", "rescanSkills"), set_up)
STEPS |= dict.fromkeys(
    (
        "createWebhook", "getWebhook", "listDeadLettersOfWebhook", "listWebhooks", "pauseWebhook",
        "redeliverDeadLetter", "redeliverDeadLetters", "removeWebhook", "resumeWebhook", "rotateWebhookSecret",
        "testWebhook",
    ),
    tell_webhook,
)  # fmt: skip
STEPS |= dict.fromkeys(("listPeers", "getPeer"), read_peer)
STEPS |= dict.fromkeys(("getNotify", "testNotify"), notify)
STEPS |= WORK_STEPS
