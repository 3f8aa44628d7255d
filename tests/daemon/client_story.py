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
from wire.api.workitems import create_project, create_work_item, get_project_detail, list_work_items, update_work_item


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
    project = told(create_project, client, body=m.CreateProjectRequest(name="House", root_dir=folder)).id
    item = told(create_work_item, client, body=m.CreateWorkItemRequest(project_id=project, title="Paint")).id
    told(update_work_item, client, item, body=m.UpdateWorkItemRequest(id=item, title="Paint it red"))
    assert [each.title for each in told(list_work_items, client, project_id=project)] == ["Paint it red"]
    detail = told(get_project_detail, client, project)
    assert [each.id for each in detail.work_items] == [item]


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
