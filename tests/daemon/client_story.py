"""What somebody does who has only a client made of the wire's document: `client_story.py <url> <token> <folder>`.

It runs in a process of its own with the generated package `wire` on its path, and uses nothing of whisk. Every id that
an operation names twice is given twice, so that a client of whiskd's own document tells the same story.
"""

from __future__ import annotations

import sys
from typing import Any

# Made by the test that runs this file.
from wire import AuthenticatedClient  # type: ignore[import-not-found]
from wire import models as m
from wire.api.mail import list_mail, mark_mail_read, next_mail, reply_mail, send_mail
from wire.api.ptys import delete_pty, get_pty_output, kill_pty, list_pt_ys, resize_pty, write_pty
from wire.api.sessions import close_session, create_session, list_sessions, split_pane
from wire.api.workitems import (
    answer_question,
    approve_done,
    approve_plan,
    ask_question,
    complete_execution,
    complete_execution_for_work_item,
    complete_gate,
    create_project,
    create_work_item,
    get_project_detail,
    list_gate_reports,
    list_work_item_runs,
    list_work_items,
    list_workflow_events,
    start_execution,
    start_planning,
    submit_draft_plan,
    submit_review_feedback,
    update_work_item,
)


def told(operation: Any, client: Any, *ids: str, **more: Any) -> Any:
    """The decoded answer of an operation that must succeed."""
    reply = operation.sync_detailed(*ids, client=client, **more)
    assert 200 <= reply.status_code < 300, (reply.status_code, reply.content)
    assert not isinstance(reply.parsed, m.ErrorResponse), reply.content
    return reply.parsed


def terminal(client: Any, folder: str) -> None:
    options = m.StartPTYOptions(cols=80, rows=24, command="/bin/cat", exec_=True)
    made = told(create_session, client, body=m.CreateSessionRequest(name="One", root_dir=folder, initial_pty=options))
    session, pty = made.session.id, made.pty_id
    split = m.SplitPaneRequest(
        session_id=session, window_id=made.window_id, target_pane_id=made.pane_id, direction="vertical"
    )
    assert len(told(split_pane, client, session, body=split).session.panes.additional_properties) == 2
    told(resize_pty, client, pty, body=m.ResizePTYRequest(pty_id=pty, cols=100, rows=30))
    told(write_pty, client, pty, body=m.WritePTYRequest(pty_id=pty, data="hello\n"))
    shown = ""
    while "hello" not in shown:
        shown = told(get_pty_output, client, pty, snapshot=True).output
    assert [each.id for each in told(list_pt_ys, client)] == [pty]
    killed = told(kill_pty, client, pty, body=m.KillPTYRequest(pty_id=pty))
    assert (killed.id, killed.running) == (pty, False)
    told(delete_pty, client, pty)
    assert [each.id for each in told(list_sessions, client)] == [session]
    assert told(close_session, client, session) == []


def mail(client: Any) -> None:
    # In a query, several addresses are one text with commas, or a list.
    ada, bob = m.MailAddress(kind="run", id="ada"), m.MailAddress(kind="run", id="bob")
    sent = told(send_mail, client, body=m.SendMailRequest(from_=ada, to=[bob], type_="status", subject="Ready?"))
    assert sent.recipients[0].address == bob
    found = told(next_mail, client, to="run:bob").message
    assert (found.id, found.subject) == (sent.id, "Ready?")
    answer = told(reply_mail, client, sent.id, body=m.ReplyMailRequest(from_=bob, body="Yes."))
    assert (answer.reply_to_id, answer.thread_id) == (sent.id, sent.id)
    told(mark_mail_read, client, sent.id, body=m.MarkMailReadRequest(to=bob))
    assert told(list_mail, client, to="run:bob", unread=True) == []
    assert [each.id for each in told(list_mail, client, to="run:ada")] == [answer.id]


def work(client: Any, folder: str) -> None:
    """A work item from the backlog until it is done, with one round of review; every decision is Ada's."""
    project = told(create_project, client, body=m.CreateProjectRequest(name="House", root_dir=folder)).id
    item = told(create_work_item, client, body=m.CreateWorkItemRequest(project_id=project, title="Paint")).id
    told(update_work_item, client, item, body=m.UpdateWorkItemRequest(id=item, title="Paint it red"))
    assert [each.title for each in told(list_work_items, client, project_id=project)] == ["Paint it red"]

    planning = told(start_planning, client, item, body=m.StartPlanningRequest(work_item_id=item, launch=False))
    drafted = m.SubmitDraftPlanRequest(work_item_id=item, body="Red, twice.", run_id=planning.id, actor="agent")
    plan = told(submit_draft_plan, client, item, body=drafted)
    assert (plan.kind, plan.status) == ("plan", "draft")
    approval = m.ApprovePlanRequest(work_item_id=item, artifact_id=plan.id, actor="ada")
    assert told(approve_plan, client, item, body=approval).stage_id == "ready"

    execution = told(start_execution, client, item, body=m.StartExecutionRequest(work_item_id=item, launch=False)).id
    asked = m.AskQuestionRequest(work_item_id=item, run_id=execution, prompt="Which red?", actor="agent")
    question = told(ask_question, client, body=asked).id
    answer = m.AnswerQuestionRequest(id=question, answer="The dark one", actor="ada")
    assert told(answer_question, client, question, body=answer).status == "answered"
    done = m.CompleteExecutionRequest(run_id=execution, work_item_id=item, message="Painted")
    assert told(complete_execution, client, execution, body=done).stage_id == "review"

    feedback = m.SubmitReviewFeedbackRequest(work_item_id=item, body="The door too.", actor="ada")
    told(submit_review_feedback, client, item, body=feedback)
    execution = next(each for each in told(list_work_item_runs, client, work_item_id=item) if not each.completed_at).id
    done = m.CompleteExecutionRequest(run_id=execution, work_item_id=item)
    assert told(complete_execution_for_work_item, client, item, body=done).stage_id == "review"
    for gate in told(list_gate_reports, client, work_item_id=item):
        told(complete_gate, client, gate.id, body=m.CompleteGateRequest(id=gate.id, status="passed", actor="ada"))
    approved = told(approve_done, client, item, body=m.ApproveDoneRequest(work_item_id=item, actor="ada"))
    assert (approved.stage_id, approved.run_state) == ("done", "completed")

    kinds = [each.type_ for each in told(list_workflow_events, client, work_item_id=item)]
    assert (kinds[0], kinds[-1]) == ("planning_started", "done_approved")
    detail = told(get_project_detail, client, project)
    assert [each.id for each in detail.work_items] == [item]
    assert len(detail.runs) >= 2


def refusal(client: Any) -> None:
    reply = delete_pty.sync_detailed("pty_none", client=client)
    assert reply.status_code == 404
    assert isinstance(reply.parsed, m.ErrorResponse)
    assert "pty_none" in reply.parsed.error


def main(url: str, token: str, folder: str) -> None:
    with AuthenticatedClient(base_url=url, token=token) as client:
        terminal(client, folder)
        mail(client)
        work(client, folder)
        refusal(client)


if __name__ == "__main__":
    main(*sys.argv[1:])
