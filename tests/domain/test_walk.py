"""Whatever is pressed in whatever order, by whomever: a work item is always in a state that makes sense."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from tests.case_kit import NOW, STAMP, case
from whisk.errors import WhiskError
from whisk.work import run as runs
from whisk.work.action import Press, move_to, press
from whisk.work.availability import list_actions
from whisk.work.case import Case, open_gates, put
from whisk.work.definition import BUILTIN
from whisk.work.gate import CompleteGate
from whisk.work.inquiry import answer, ask, judge
from whisk.work.person import is_person
from whisk.work.question import AnswerQuestion, AskQuestion

ACTORS = ("ann", "bob", "agent", "agent:codex", "", "runtime")
POLICIES = (
    BUILTIN,
    msgspec.structs.replace(BUILTIN, questions=msgspec.structs.replace(BUILTIN.questions, move_to_blocked=True)),
)


def step(before: Case, chance: random.Random) -> Case:
    """Something that somebody may do, sensible or not."""
    actor = chance.choice(ACTORS)
    match chance.randrange(8):
        case 0:
            return move_to(before, chance.choice(before.definition.stages), actor, STAMP).case
        case 1 if before.gates:
            status = chance.choice(["passed", "failed", "overridden"])
            request = CompleteGate(status=status, actor=actor, override_reason="because")
            return judge(before, chance.choice(before.gates), request, STAMP).case
        case 2:
            run_id = chance.choice([run.id for run in before.runs] or [""])
            return ask(before, AskQuestion(prompt="?", run_id=run_id, actor=actor), STAMP).case
        case 3 if before.questions:
            question = chance.choice(before.questions)
            return answer(before, question, AnswerQuestion(answer="!", actor=actor), STAMP).case
        case 4 if before.runs:
            return msgspec.structs.replace(before, runs=put(before.runs, _lived(chance.choice(before.runs), chance)))
        case _:
            return press(before, _pressed(before, actor, chance), STAMP).case


def _lived(run: runs.Run, chance: random.Random) -> runs.Run:
    """What may happen to a run by itself."""
    if run.status == "queued":
        number = str(chance.randrange(1000))
        return runs.mark_running(
            run, session_id=f"s{number}", pty_id=f"p{number}", profile_id="claude", actor=None, now=NOW
        )  # fmt: skip
    code = chance.choice([0, 1])
    return runs.end_with_terminal(run, chance.choice(["exited", "killed", "lost"]), code, NOW, run.pty_id or "")


def _pressed(before: Case, actor: str, chance: random.Random) -> Press:
    wanted: dict[str, Any] = {"action": chance.choice(before.definition.actions).id, "actor": actor, "body": "text"}
    if before.artifacts:
        wanted["artifact_id"] = chance.choice(before.artifacts).id
    if before.runs and chance.random() < 0.5:
        wanted["run_id"] = chance.choice(before.runs).id
    return Press(**wanted)


def check(before: Case, after: Case) -> None:
    """What holds after every step."""
    item = after.item
    assert item.stage_id in after.definition.stages
    assert (item.previous_stage_id is not None) == (item.stage_id == "blocked")
    assert item.history[: len(before.item.history)] == before.item.history
    moved = len(item.history) - len(before.item.history)
    assert moved == (item.stage_id != before.item.stage_id)
    if moved and item.stage_id == "done":
        assert is_person(item.history[-1].actor)
        assert not open_gates(before)
    if moved and item.stage_id == "ready":
        assert is_person(item.history[-1].actor)
    if moved and item.stage_id == "execution" and before.item.stage_id == "ready":
        assert any((each.kind, each.status) == ("plan", "approved") for each in before.artifacts)
    for run in after.runs:
        assert run.ended == (run.completed_at is not None)
        assert len({event.id for event in run.history}) == len(run.history)
    assert len({run.id for run in after.runs}) == len(after.runs)
    assert sum(gate.status == "pending" and bool(gate.phase) for gate in after.gates) <= 1
    offered = list_actions(after)
    assert sum(each.recommended for each in offered) <= 1
    assert all(each.enabled for each in offered if each.recommended)


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_steps_leads_anywhere_that_makes_no_sense(seed: int) -> None:
    chance = random.Random(seed)
    now = case(definition=POLICIES[seed % 2])
    stages = set()
    for _ in range(150):
        before = msgspec.structs.replace(now, events=())
        try:
            after = step(before, chance)
        except WhiskError:
            continue
        check(before, after)
        stages.add(after.item.stage_id)
        open_ones = tuple(each for each in after.questions if each.status == "open")
        now = msgspec.structs.replace(after, questions=open_ones)
    assert len(stages) >= 2


@pytest.mark.parametrize("seed", range(10))
def test_what_is_recommended_leads_from_the_first_stage_to_the_last(seed: int) -> None:
    chance = random.Random(seed)
    now = case()
    for _ in range(60):
        if now.item.stage_id == "done":
            break
        wanted = next((each.action.id for each in list_actions(now) if each.recommended), None)
        if wanted is None:
            status = chance.choice(["passed", "failed"])
            now = judge(now, open_gates(now)[0], CompleteGate(status=status, actor="ann"), STAMP).case
            continue
        if now.item.stage_id in ("planning", "execution", "review") and chance.random() < 0.2:
            wanted = "report_blocked"
        chosen = now.artifacts[-1].id if now.artifacts else ""
        body = f"text {chance.random()}"
        now = press(now, Press(action=wanted, actor="ann", body=body, artifact_id=chosen), STAMP).case
    assert now.item.stage_id == "done"
