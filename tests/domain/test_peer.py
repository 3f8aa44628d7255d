"""Which agent session an event is of, and what is known of it: the payloads of real agents, in every order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.captured import FILES, NOW, load, request
from whisk.bridges.request import close, ended
from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent
from whisk.peers.liveness import Process, read_ancestry
from whisk.peers.peer import TEXT_CHARS, Peer, after_event, after_request, bound, end, new_peer
from whisk.peers.roster import Meeting, Roster, seat_of

HOST, INNER, OTHER = "900:100:claude", "950:200:claude", "990:300:claude"
SHELL = "10:1:bash"


def pane(*chain: str, pty: str = "pty_1") -> HookContext:
    """The surroundings of a hook; its chain of processes begins with its parent."""
    return HookContext(pty_id=pty, ancestry=",".join((*chain, SHELL)) if chain else "")


class Peers:
    """The roster and its peers, as their actors keep them."""

    def __init__(self) -> None:
        self.roster = Roster()
        self.known: dict[str, Peer] = {}
        self.second = 0

    def send(self, event: HookEvent, context: HookContext, *, keep: bool = True) -> Meeting:
        self.second += 1
        now = NOW.plus(self.second)
        met = self.roster.meet(event, context)
        for replaced in met.replaced:
            self.known[replaced] = end(self.known[replaced], now, "replaced")
        if met.how in ("stale", "ignored"):
            return met
        peer = self.known.get(met.peer_id) or new_peer(met.peer_id, event, now, parent=met.parent, process=met.process)
        if met.how in ("bound", "revived"):
            peer = bound(peer, event, now)
        self.known[met.peer_id] = after_event(peer, event, context, now, keep=keep)
        return met

    def claude(self, name: str, session: str, context: HookContext, **changes: Any) -> Meeting:
        return self.send(load("claude", name, session_id=session, **changes), context)

    def codex(self, name: str, session: str, context: HookContext, **changes: Any) -> Meeting:
        return self.send(load("codex", name, session_id=session, **changes), context)

    def restart(self) -> None:
        """As the next daemon begins: from what is stored."""
        self.roster = Roster()
        for peer in self.known.values():
            self.roster.put(seat_of(peer))

    def of(self, session: str) -> Peer:
        (found,) = [peer for peer in self.known.values() if peer.provider_session_id == session]
        return found

    @property
    def online(self) -> list[Peer]:
        return [peer for peer in self.known.values() if peer.online]


@pytest.fixture
def peers() -> Peers:
    return Peers()


# -- what is observed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("provider", "path"), FILES, ids=lambda value: str(getattr(value, "stem", value)))
def test_every_captured_event_is_placed_and_disturbs_nothing(provider: str, path: Any) -> None:
    peers = Peers()
    met = peers.send(load(provider, path.stem), pane(HOST))
    assert met.how in ("new", "ignored")
    assert set(peers.known) == ({met.peer_id} if met.how == "new" else set())


def test_s6_the_model_is_what_the_agent_reports_and_its_source_is_kept(peers: Peers) -> None:
    peers.claude("SessionStart-startup-tui", "a", pane(HOST), model="claude-sonnet-5")
    model = peers.of("a").model
    assert model is not None
    assert (model.name, model.source, model.at) == ("claude-sonnet-5", "SessionStart", NOW.plus(1))


def test_s7_later_events_of_claude_name_no_model_and_leave_the_one_of_its_start(peers: Peers) -> None:
    peers.claude("SessionStart-startup-tui", "a", pane(HOST), model="claude-sonnet-5")
    for name in ("UserPromptSubmit", "PreToolUse-Bash", "PostToolUse-Bash", "Stop"):
        peers.claude(name, "a", pane(HOST))
    peers.claude("SessionStart-clear", "b", pane(HOST))
    model = peers.of("b").model
    assert model is not None
    assert model.name == "claude-sonnet-5"


def test_s8_codex_names_its_model_again_and_a_missing_one_keeps_the_last(peers: Peers) -> None:
    peers.codex("SessionStart-startup", "a", pane("5:5:codex"), model="gpt-5.5")
    peers.codex("UserPromptSubmit", "a", pane("5:5:codex"), model="gpt-6")
    peers.codex("Stop", "a", pane("5:5:codex"), model=None)
    model = peers.of("a").model
    assert model is not None
    assert (model.name, model.source) == ("gpt-6", "UserPromptSubmit")


def test_an_agent_that_names_no_model_has_none_whatever_its_command_line_says(peers: Peers) -> None:
    peers.claude("SessionStart-startup-print", "a", pane("900:100:claude --model opus"), model=None)
    assert peers.of("a").model is None


def test_a_subagent_says_nothing_of_its_hosts_model_nor_of_its_words(peers: Peers) -> None:
    peers.claude("SessionStart-startup-tui", "a", pane(HOST), model="claude-opus-5")
    peers.claude("UserPromptSubmit", "a", pane(HOST), prompt="Build it")
    peers.claude("SubagentStop", "a", pane(HOST), agent_id="sub", model="claude-haiku-5", last_assistant_message="sub")
    peer = peers.of("a")
    assert peer.model is not None
    assert (peer.model.name, peer.last_message, peer.state) == ("claude-opus-5", "", "working")
    peers.claude("PermissionRequest-Bash", "a", pane(HOST))
    asked = peers.of("a").open_question
    peers.claude("PostToolUse-Bash-subagent", "a", pane(HOST))
    assert peers.of("a").open_question == asked != ""


# -- the state --------------------------------------------------------------------------------------------------------


def test_the_state_follows_the_turn(peers: Peers) -> None:
    told = []
    for name in (
        "SessionStart-startup-tui", "UserPromptSubmit", "PreToolUse-Bash", "PermissionRequest-Bash", "PostToolUse-Bash",
        "Stop", "Notification-idle_prompt", "UserPromptSubmit", "StopFailure-rate_limit", "SessionEnd-other",
    ):  # fmt: skip
        peers.claude(name, "a", pane(HOST))
        told.append(peers.of("a").state)
    assert told == [
        "idle", "working", "working", "waiting", "working", "idle", "idle", "working", "idle", "ended"
    ]  # fmt: skip


def test_a_stop_that_a_stop_hook_has_continued_tells_the_state_and_the_answer_too(peers: Peers) -> None:
    peers.claude("UserPromptSubmit", "a", pane(HOST))
    peers.claude("Stop-active", "a", pane(HOST), last_assistant_message="Now really done.")
    assert (peers.of("a").state, peers.of("a").last_message) == ("idle", "Now really done.")


def test_the_text_of_a_failed_turn_is_an_error_and_never_an_answer(peers: Peers) -> None:
    peers.claude("Stop", "a", pane(HOST), last_assistant_message="Done.")
    peers.claude("StopFailure-rate_limit", "a", pane(HOST), last_assistant_message="API Error: Rate limit reached")
    assert (peers.of("a").last_message, peers.of("a").last_error) == ("Done.", "rate_limit")


def test_while_a_person_is_waited_for_no_report_says_otherwise() -> None:
    asked = request("claude", "PermissionRequest-Bash")
    event = load("claude", "PreToolUse-Read")
    peer = after_request(new_peer("p", event, NOW), asked)
    peer = after_event(peer, event, pane(HOST), NOW.plus(1))
    assert (peer.state, peer.prompts) == ("waiting", (asked.id,))
    assert peer.open_question
    gone = close(asked, ended("withdrawn", NOW.plus(2), "agent", "hook_gone"))
    after = after_request(peer, gone)
    assert (after.state, after.prompts, after.open_question) == ("unknown", (), "")


def test_a_decision_changes_nothing_of_what_was_reported_after_it() -> None:
    asked = request("claude", "PermissionRequest-Bash")
    told = load("claude", "Stop")
    peer = after_event(new_peer("p", told, NOW), told, pane(HOST), NOW.plus(5))
    late = close(asked, ended("timed_out", NOW.plus(2), "limit", "nobody answered"))
    assert after_request(peer, late).state == "idle"
    assert (
        after_request(peer, close(asked, ended("timed_out", NOW.plus(6), "limit", "nobody answered"))).state
        == "waiting"
    )


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reason", ["prompt_input_exit", "logout", "other", "bypass_permissions_disabled", "new_word", ""]
)
def test_s13_s14_s15_a_session_end_is_the_end_at_once_with_a_handoff(peers: Peers, reason: str) -> None:
    peers.claude("SessionStart-startup-tui", "a", pane(HOST), model="claude-sonnet-5")
    peers.claude("UserPromptSubmit", "a", pane(HOST), prompt="Fix the tax")
    peers.claude("Stop", "a", pane(HOST), last_assistant_message="Fixed.")
    peers.claude("SessionEnd-other", "a", pane(HOST), reason=reason)
    peer = peers.of("a")
    assert (peer.status, peer.state, peer.ended_at) == ("offline", "ended", NOW.plus(4))
    assert peer.handoff is not None
    assert (peer.handoff.cause, peer.handoff.reason) == ("session_end", reason)
    assert (peer.handoff.last_prompt, peer.handoff.last_message) == ("Fix the tax", "Fixed.")
    assert (peer.handoff.model, peer.handoff.seconds, peer.handoff.turns) == ("claude-sonnet-5", 3.0, 1)


def test_the_handoff_names_the_question_that_was_open(peers: Peers) -> None:
    peers.claude("PermissionRequest-AskUserQuestion-single", "a", pane(HOST))
    peers.claude("SessionEnd-other", "a", pane(HOST))
    handoff = peers.of("a").handoff
    assert handoff is not None
    assert handoff.open_question == load("claude", "PermissionRequest-AskUserQuestion-single").questions[0].text


def test_a_handoff_keeps_no_words_where_the_hook_log_is_off_and_no_secrets_ever(peers: Peers) -> None:
    peers.send(load("claude", "UserPromptSubmit", session_id="a", prompt="private"), pane(HOST), keep=False)
    peers.claude("UserPromptSubmit", "b", pane(OTHER, pty="pty_2"), prompt="use API_KEY=abcdefgh1234 " + "x" * 9000)
    for session in ("a", "b"):
        peers.claude("SessionEnd-other", session, pane(HOST if session == "a" else OTHER))
    off, on = peers.of("a").handoff, peers.of("b").handoff
    assert off is not None
    assert on is not None
    assert off.last_prompt == ""
    assert "abcdefgh" not in on.last_prompt
    assert len(on.last_prompt) == TEXT_CHARS


@pytest.mark.parametrize("late", ["Stop", "UserPromptSubmit", "PostToolUse-Bash", "SessionEnd-other"])
def test_a_late_event_cannot_revive_a_peer_that_has_ended(peers: Peers, late: str) -> None:
    peers.claude("SessionStart-startup-tui", "a", pane(HOST))
    peers.claude("SessionEnd-prompt_input_exit", "a", pane(HOST))
    before = peers.of("a")
    assert peers.claude(late, "a", pane(HOST)).how == "stale"
    peers.restart()
    assert peers.claude(late, "a", pane(HOST)).how == "stale"
    assert peers.of("a") == before


def test_a_session_that_is_resumed_by_a_new_process_is_the_same_peer_back_online(peers: Peers) -> None:
    first = peers.claude("SessionStart-startup-tui", "a", pane(HOST))
    peers.claude("SessionEnd-prompt_input_exit", "a", pane(HOST))
    again = peers.claude("SessionStart-resume", "a", pane(OTHER, pty="pty_2"))
    assert (again.how, again.peer_id) == ("revived", first.peer_id)
    peer = peers.of("a")
    assert (peer.status, peer.state, peer.ended_at, peer.pty_id) == ("online", "idle", None, "pty_2")
    assert again.process == Process(990, "300")


# -- one agent, several sessions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("chain", [(HOST,), ()], ids=["process known", "process unknown"])
@pytest.mark.parametrize("source", ["clear", "resume"])
def test_s15_s16_clear_and_resume_keep_the_peer_in_every_order(chain: tuple[str, ...], source: str) -> None:
    """The end of the old session, the start of the new one and a late report of the old one may overtake each other."""
    for order in permutations(("end", "start", "stop")):
        peers = Peers()
        peers.claude("SessionStart-startup-tui", "old", pane(*chain), model="claude-sonnet-5")
        steps = {
            "end": ("SessionEnd-clear", "old", {"reason": source}),
            "start": ("SessionStart-clear", "new", {"source": source}),
            "stop": ("Stop", "old", {}),
        }
        for step in order:
            name, session, changes = steps[step]
            peers.claude(name, session, pane(*chain), **changes)
            assert [peer.status for peer in peers.known.values()] == ["online"], order
        assert peers.of("new").state == "idle", order
        peers.claude("UserPromptSubmit", "new", pane(*chain))
        (peer,) = peers.known.values()
        assert peer.online, order
        assert (peer.provider_session_id, peer.former_sessions, peer.state) == ("new", ("old",), "working"), order
        assert (peer.resume_id, peer.left_session) == ("new", False), order
        if order[0] == "end":
            assert peer.handoff is not None, order
            assert peer.handoff.reason == source, order


def test_compaction_keeps_the_session_and_its_turn(peers: Peers) -> None:
    peers.claude("UserPromptSubmit", "a", pane(HOST))
    for name in ("PreCompact-manual", "SubagentStop-compaction", "SessionStart-compact", "PostCompact-manual"):
        peers.claude(name, "a", pane(HOST))
    (peer,) = peers.known.values()
    assert (peer.provider_session_id, peer.state) == ("a", "idle")


def test_a_clear_of_which_nobody_told_keeps_the_peer(peers: Peers) -> None:
    """The daemon was away while it happened."""
    first = peers.claude("SessionStart-startup-tui", "old", pane(HOST))
    peers.restart()
    met = peers.claude("UserPromptSubmit", "new", pane(HOST))
    assert (met.how, met.peer_id, met.process) == ("bound", first.peer_id, Process(900, "100"))


def test_a_resumed_conversation_of_old_goes_on_in_the_window_that_resumed_it(peers: Peers) -> None:
    peers.claude("SessionStart-startup-tui", "old", pane(OTHER, pty="pty_2"))
    peers.claude("SessionEnd-other", "old", pane(OTHER, pty="pty_2"))
    mine = peers.claude("SessionStart-startup-tui", "new", pane(HOST))
    peers.claude("SessionEnd-clear", "new", pane(HOST), reason="resume")
    assert peers.claude("SessionStart-resume", "old", pane(HOST)).peer_id == mine.peer_id
    assert [peer.id for peer in peers.online] == [mine.peer_id]
    assert peers.claude("Stop", "old", pane(HOST)).peer_id == mine.peer_id


def test_codex_that_ends_a_session_when_it_is_cleared_is_still_the_same_peer(peers: Peers) -> None:
    first = peers.codex("SessionStart-startup", "old", pane("5:5:codex"))
    peers.codex("SessionEnd", "old", pane("5:5:codex"))
    assert peers.codex("SessionStart-clear", "new", pane("5:5:codex")).peer_id == first.peer_id
    assert [peer.provider_session_id for peer in peers.online] == ["new"]


def test_two_windows_of_codex_that_one_process_serves_are_two_peers(peers: Peers) -> None:
    """Its hooks are children of a shared server, with the surroundings of the first window."""
    peers.codex("SessionStart-startup", "a", pane("5:5:codex"))
    peers.codex("SessionStart-startup", "b", pane("5:5:codex"))
    peers.codex("UserPromptSubmit", "a", pane("5:5:codex"))
    assert [(peer.provider_session_id, peer.state) for peer in peers.online] == [("a", "working"), ("b", "idle")]


# -- several agents, one terminal -------------------------------------------------------------------------------------


def test_a_nested_agent_is_a_peer_of_its_own_and_leaves_its_host_alone(peers: Peers) -> None:
    host = peers.claude("SessionStart-startup-tui", "host", pane(HOST))
    peers.claude("UserPromptSubmit", "host", pane(HOST))
    nested = pane("980:9:sh", INNER, "940:8:bash", HOST)
    inner = peers.claude("SessionStart-startup-print", "inner", nested)
    assert (inner.how, inner.parent) == ("new", host.peer_id)
    for name in ("UserPromptSubmit", "Stop", "SessionEnd-other"):
        peers.claude(name, "inner", nested)
    assert (peers.of("host").status, peers.of("host").state) == ("online", "working")
    assert (peers.of("inner").status, peers.of("inner").parent) == ("offline", host.peer_id)


def test_a_nested_agent_of_another_runtime_or_in_a_resumed_session_is_no_heir_of_its_host(peers: Peers) -> None:
    host = peers.claude("SessionStart-startup-tui", "host", pane(HOST))
    for name, chain in (("codex", "951:7:codex"), ("claude", INNER)):
        met = getattr(peers, name)("SessionStart-clear", f"of {name}", pane(chain, HOST), source="resume")
        assert (met.how, met.parent) == ("new", host.peer_id)
    assert peers.of("host").online


def test_a_nested_agent_that_resumes_its_hosts_own_session_does_not_take_it(peers: Peers) -> None:
    host = peers.claude("SessionStart-startup-tui", "same", pane(HOST))
    inner = peers.claude("SessionStart-resume", "same", pane(INNER, HOST))
    assert inner.peer_id != host.peer_id
    assert inner.parent == host.peer_id
    assert peers.claude("Stop", "same", pane(INNER, HOST)).peer_id == inner.peer_id
    assert peers.claude("UserPromptSubmit", "same", pane(HOST)).peer_id == host.peer_id


def test_without_processes_an_agent_beside_one_at_work_is_nested_and_beside_an_idle_one_its_successor() -> None:
    for busy in (True, False):
        peers = Peers()
        host = peers.claude("UserPromptSubmit" if busy else "Stop", "host", pane())
        met = peers.claude("SessionStart-startup-tui", "next", pane())
        assert met.parent == (host.peer_id if busy else "")
        assert peers.of("host").online is busy
        if not busy:
            handoff = peers.of("host").handoff
            assert handoff is not None
            assert handoff.cause == "replaced"


def test_two_agents_in_one_terminal_one_after_the_other_are_two_peers(peers: Peers) -> None:
    first = peers.claude("SessionStart-startup-tui", "a", pane(HOST))
    peers.claude("SessionEnd-prompt_input_exit", "a", pane(HOST))
    second = peers.claude("SessionStart-startup-tui", "b", pane(OTHER))
    assert second.peer_id != first.peer_id
    assert [peer.id for peer in peers.online] == [second.peer_id]


def test_agents_without_any_terminal_share_nothing(peers: Peers) -> None:
    """One that ends must not take another one along."""
    for session, chain in (("a", HOST), ("b", OTHER)):
        peers.claude("SessionStart-startup-tui", session, pane(chain, pty=""))
    peers.claude("SessionEnd-other", "a", pane(HOST, pty=""))
    assert [peer.provider_session_id for peer in peers.online] == ["b"]
    for session in ("c", "d"):
        peers.claude("SessionStart-startup-tui", session, pane(pty=""))
    assert [peer.provider_session_id for peer in peers.online] == ["b", "c", "d"]


def test_panes_of_two_tmux_servers_with_the_same_number_are_two_places(peers: Peers) -> None:
    for session, server in (("a", "/tmp/tmux-1/default"), ("b", "/tmp/tmux-1/work")):
        peers.claude("Stop", session, HookContext(tmux_server=server, tmux_pane="%1"))
    assert [(peer.tmux_server, peer.tmux_pane) for peer in peers.online] == [
        ("/tmp/tmux-1/default", "%1"),
        ("/tmp/tmux-1/work", "%1"),
    ]


# -- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "agent", "above"),
    [
        ("9:90:sh,8:80:claude,7:70:bash", Process(8, "80"), (Process(7, "70"),)),
        ("8:80:claude", Process(8, "80"), ()),
        ("8:80:2.1.197,1:2:a:b", Process(8, "80"), (Process(1, "2"),)),
        ("9:90:sh,7:70:bash", None, ()),
        ("", None, ()),
        ("junk,:::,x:1:y,-1:2:z,8:80:node", Process(8, "80"), ()),
    ],
)
def test_the_agent_is_the_nearest_process_above_its_hook_that_is_no_shell(
    chain: str, agent: Process | None, above: tuple[Process, ...]
) -> None:
    found = read_ancestry(chain)
    assert (found.agent, found.above) == (agent, above)


def test_only_living_peers_are_looked_after(peers: Peers) -> None:
    met = peers.claude("SessionStart-startup-tui", "a", pane(HOST))
    assert peers.roster.processes() == {Process(900, "100"): (met.peer_id,)}
    peers.claude("SessionEnd-other", "a", pane(HOST))
    assert peers.roster.processes() == {}
    peers.roster.forget(met.peer_id)
    assert peers.claude("SessionStart-startup-tui", "a", pane(HOST)).how == "new"
