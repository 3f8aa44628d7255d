"""Every command: its words, where its `Command` record is, and one line on what it does.

The table is data, so that listing the commands or dispatching on words imports none of them.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    place: str
    summary: str


_COMMANDS = "whisk.cli.commands."

# words -> (module:NAME below whisk.cli.commands, what it does)
_TABLE: dict[str, tuple[str, str]] = {
    "daemon start": ("daemon:START", "start whiskd in the background; returns when it is healthy"),
    "daemon stop": ("daemon:STOP", "stop whiskd; terminals keep running unless -kill-ptys"),
    "daemon status": ("daemon:STATUS", "say whether whiskd runs, where and which version"),
    "daemon run": ("daemon:RUN", "run whiskd in the foreground"),
    "daemon clear": ("daemon:CLEAR", "end all terminals and delete sessions, work and mail"),
    "doctor": ("doctor:DOCTOR", "say what is broken, stale or missing, and what mends it"),
    "demo": ("demo:DEMO", "show the main job in a private daemon, then clean up"),
    "mail send": ("mail:SEND", "send a message to addresses or a selector"),
    "mail list": ("mail:LIST", "list messages"),
    "mail check": ("mail:CHECK", "take the next unread message, waiting for one if asked"),
    "mail next": ("mail:CHECK", "the same as mail check"),
    "mail read": ("mail:READ", "mark a message read"),
    "mail reply": ("mail:REPLY", "answer a message"),
    "mail thread": ("mail:THREAD", "show a whole conversation"),
    "mail search": ("mail:SEARCH", "search subjects and bodies"),
    "prompt list": ("prompt:LIST", "list the questions and approvals that wait for a person"),
    "prompt show": ("prompt:SHOW", "show one prompt whole"),
    "prompt resolve": ("prompt:RESOLVE", "answer or deny a prompt"),
    "prompt release": ("prompt:RELEASE", "let the agent ask in its own window"),
    "policy add": ("policy:ADD", "allow, deny or ask for tools that match a rule"),
    "policy list": ("policy:LIST", "list the rules"),
    "policy remove": ("policy:REMOVE", "remove a rule"),
    "question ask": ("question:ASK", "ask a question about a work item"),
    "question wait": ("question:WAIT", "go on waiting for the answer to a question"),
    "question list": ("question:LIST", "list work-item questions"),
    "question answer": ("question:ANSWER", "answer a work-item question"),
    "status question": ("status:QUESTION", "say that a person has to answer something"),
    "status done": ("status:DONE", "say that the work is done; completes the run"),
    "status blocked": ("status:BLOCKED", "say that the work cannot go on"),
    "status list": ("status:LIST", "list what agents have reported"),
    "status read": ("status:READ", "mark a report read"),
    "event tail": ("event:TAIL", "follow what changes, as it happens"),
    "event next": ("event:NEXT", "wait for the next change"),
    "session list": ("session:LIST", "list sessions"),
    "session create": ("session:CREATE", "open a session, with a terminal unless -pty=false"),
    "session show": ("session:SHOW", "show a session's panes and terminals"),
    "session update": ("session:UPDATE", "assign a session to a project, or take it out"),
    "session set-root": ("session:SET_ROOT", "move a session to another folder"),
    "session close": ("session:CLOSE", "end a session and its terminals"),
    "session split": ("pane:SPLIT", "split a pane, with a terminal unless -pty=false"),
    "session pane close": ("pane:CLOSE", "close a pane and end what runs in it"),
    "session pane set-dir": ("pane:SET_DIR", "move a pane to another folder"),
    "session pty list": ("pty:LIST", "list terminals"),
    "session pty start": ("pty:START", "start a terminal in a session's pane"),
    "session pty restart": ("pty:RESTART", "start another terminal where one has ended"),
    "session pty detach": ("pty:DETACH", "empty a terminal's pane; it runs on"),
    "session pty output": ("pty_text:OUTPUT", "print what a terminal has shown"),
    "session pty tail": ("pty_text:TAIL", "follow a terminal's output"),
    "session pty write": ("pty_text:WRITE", "type into a terminal"),
    "session pty expect": ("pty_text:EXPECT", "wait until a pattern shows in a terminal"),
    "session pty resize": ("pty:RESIZE", "change a terminal's size"),
    "session pty attach": ("pty:ATTACH", "use a terminal as if it were this one"),
    "session pty delete": ("pty:DELETE", "delete an ended terminal and its output"),
    "session pty kill": ("pty:KILL", "end a terminal and everything in it"),
    "pty history list": ("pty_history:LIST", "list the terminals that are remembered, ended ones too"),
    "pty history show": ("pty_history:SHOW", "print what is kept of a terminal's output"),
    "project list": ("project:LIST", "list projects"),
    "project create": ("project:CREATE", "create a project"),
    "project show": ("project:SHOW", "show one project with its work"),
    "project update": ("project_change:UPDATE", "change a project's names and preferences"),
    "project delete": ("project_change:DELETE", "delete a project with its work items"),
    "project set-workflow": ("project_change:SET_WORKFLOW", "choose the workflow of new work items"),
    "project migration-plan": ("project_change:PLAN", "compare work items with another workflow"),
    "project attach": ("project_attachment:ATTACH", "attach a file, a link or a note"),
    "project attachments": ("project_attachment:ATTACHMENTS", "list what is attached"),
    "project attachments update": ("project_attachment:UPDATE", "change an attachment"),
    "project detach": ("project_attachment:DETACH", "take an attachment away"),
    "project context": ("project_attachment:CONTEXT", "show what agents are told of it"),
    "work-item list": ("work_item:LIST", "list work items"),
    "work-item create": ("work_item:CREATE", "create a work item"),
    "work-item show": ("work_item:SHOW", "show one work item with its history"),
    "work-item update": ("work_item_change:UPDATE", "change a work item's title or body"),
    "work-item move": ("work_item_change:MOVE", "move a work item to another stage"),
    "work-item bind-worktree": ("work_item_change:BIND_WORKTREE", "bind a worktree to a work item, once"),
    "work-item attach-file": ("work_item_change:ATTACH_FILE", "attach a file to a work item"),
    "work-item delete": ("work_item_change:DELETE", "delete a work item and all that is about it"),
    "work-item link": ("work_item_link:LINK", "link two work items: one blocks the other"),
    "work-item unlink": ("work_item_link:UNLINK", "remove a link"),
    "work-item links": ("work_item_link:LINKS", "list links between work items"),
    "work-item ready": ("work_item_link:READY", "list what can be begun, and what the rest waits for"),
    "worktree list": ("worktree:LIST", "list the worktrees of a repository"),
    "worktree create": ("worktree:CREATE", "make a worktree for a branch, or find the one it has"),
    "worktree remove": ("worktree:REMOVE", "remove a worktree, with -also-branch its branch too"),
    "run list": ("run:LIST", "list runs"),
    "run start": ("run:START", "start an agent on a work item"),
    "run launch": ("run:LAUNCH", "start the agent of a run that waits in the queue"),
    "run cancel": ("run:CANCEL", "cancel a run"),
    "run show": ("run:SHOW", "show one run with its history"),
    "workflow actions": ("workflow:ACTIONS", "list what may be done with a work item now"),
    "workflow run-action": ("workflow:RUN_ACTION", "take an action of a work item's workflow"),
    "workflow start-planning": ("workflow_step:START_PLANNING", "start planning a work item"),
    "workflow submit-plan": ("workflow_step:SUBMIT_PLAN", "submit a plan for a person to approve"),
    "workflow approve-plan": ("workflow_step:APPROVE_PLAN", "approve a plan; for people"),
    "workflow start-execution": ("workflow_step:START_EXECUTION", "start the work on an approved plan"),
    "workflow complete-execution": ("workflow_step:COMPLETE_EXECUTION", "say that the work is ready for review"),
    "workflow feedback": ("workflow_step:FEEDBACK", "send the work back with what to do better"),
    "workflow approve-done": ("workflow_step:APPROVE_DONE", "approve the work; for people"),
    "workflow artifacts": ("workflow:ARTIFACTS", "list plans and feedback"),
    "workflow events": ("workflow:EVENTS", "list what has happened to work items"),
    "workflow definitions list": ("definition:LIST", "list workflow definitions"),
    "workflow definitions show": ("definition:SHOW", "print a definition as JSON"),
    "workflow definitions validate": ("definition:VALIDATE", "check a file, naming each fault"),
    "workflow definitions import": ("definition:IMPORT", "import a file"),
    "workflow definitions export": ("definition:EXPORT", "write a definition to a file"),
    "workflow definitions delete": ("definition:DELETE", "delete one that nobody uses"),
    "gate list": ("gate:LIST", "list gates"),
    "gate complete": ("gate:COMPLETE", "pass, fail or override a gate; for people"),
    "webhook add": ("webhook:ADD", "tell an address of what happens, by signed requests"),
    "webhook list": ("webhook:LIST", "list webhooks"),
    "webhook show": ("webhook:SHOW", "show one webhook whole"),
    "webhook remove": ("webhook:REMOVE", "remove a webhook"),
    "webhook pause": ("webhook:PAUSE", "stop telling a webhook for a while"),
    "webhook resume": ("webhook:RESUME", "let a webhook go on where it was"),
    "webhook rotate": ("webhook:ROTATE", "give a webhook a new secret"),
    "webhook test": ("webhook:TEST", "send a webhook one request to try it"),
    "webhook dead-letters": ("webhook:DEAD_LETTERS", "list deliveries that were given up"),
    "webhook redeliver": ("webhook:REDELIVER", "send dead letters again"),
    "notify status": ("notify:STATUS", "show whether and how people are notified"),
    "notify test": ("notify:TEST", "send a notice to every configured address"),
    "search": ("search:SEARCH", "find words in mail, questions, artifacts and what terminals printed"),
    "audit": ("audit:AUDIT", "list who decided what, when, by which rule"),
    "agent profiles": ("agent:PROFILES", "list agent profiles and which are installed"),
    "agent detected": ("agent:DETECTED", "list the agents whose programs are here"),
    "skill list": ("skill:LIST", "list the skills that agents here have"),
    "onboarding status": ("onboarding:STATUS", "list what whisk may add to the agents here"),
    "onboarding apply": ("onboarding:APPLY", "add hooks and skills that are named"),
    "hook install": ("hook_setup:INSTALL", "put whisk's hooks into an agent's settings"),
    "hook check": ("hook_setup:CHECK", "say how whisk's hooks stand in agents' settings"),
    "hook remove": ("hook_setup:REMOVE", "take whisk's hooks out of an agent's settings"),
    "hook events": ("hook:EVENTS", "list what agents have reported through their hooks"),
    "hook events read": ("hook:READ", "mark a reported event read"),
    "hook log": ("hook:LOG", "say or choose what is kept of what agents report"),
    "hook log clear": ("hook:CLEAR", "delete what agents have reported"),
    "agent-bridge hook": ("agent_bridge:HOOK", "called by agents' hooks: JSON on stdin, answer on stdout"),
    "actor list": ("actor:LIST", "list the daemon's actors"),
    "actor tree": ("actor:TREE", "show the supervision tree; -watch keeps it live"),
    "actor show": ("actor:SHOW", "show one actor whole"),
    "actor restart": ("actor:RESTART", "restart an actor from storage"),
    "actor stop": ("actor:STOP", "stop an actor"),
    "actor dead-letters": ("actor:DEAD_LETTERS", "list messages that no actor took; -replay sends one again"),
    "completion": ("completion:SCRIPT", "print the completion script for bash, zsh or fish"),
    "completion candidates": ("completion:CANDIDATES", "called by the completion scripts"),
    "version": ("version:VERSION", "print whisk's version"),
}

COMMANDS: dict[str, Entry] = {words: Entry(_COMMANDS + place, summary) for words, (place, summary) in _TABLE.items()}


def find(words: list[str]) -> tuple[str, int] | None:
    """The longest command that `words` begins with, and how many words it took."""
    for count in range(min(len(words), 3), 0, -1):
        if (name := " ".join(words[:count])) in COMMANDS:
            return name, count
    return None


def below(noun: str) -> list[str]:
    """The commands that begin with `noun`; all of them for an empty noun."""
    return [words for words in COMMANDS if not noun or words == noun or words.startswith(noun + " ")]
