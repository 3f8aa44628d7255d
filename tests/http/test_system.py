"""The daemon's own routes: health, versions, actors, dead letters, events, metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import gevent
import pytest

from tests.work_desk import Desk
from whisk import PROTOCOL_VERSION
from whisk.actors.future import get
from whisk.http.table import all_routes

Call = Any


def test_health_needs_no_token(call: Call) -> None:
    call.token = None
    assert call("GET", "/v1/health").json == {"ok": True}


def test_compat_says_which_version_of_the_wire_this_is(call: Call) -> None:
    assert call("GET", "/v1/compat").json == {
        "apiVersion": PROTOCOL_VERSION,
        "protocolVersion": PROTOCOL_VERSION,
        "supportedPreviousProtocolVersions": [],
        "gitSha": "abc123",
        "version": "1.2.3",
    }


@pytest.mark.parametrize(("body", "kill"), [(None, False), ({"killPtys": True}, True)])
def test_shutdown_is_asked_for_and_answered(
    caller: Callable[..., Any], parts: dict[str, Any], body: Any, kill: bool
) -> None:
    asked: list[bool] = []
    assert caller(all_routes(), **parts, shutdown=asked.append)("POST", "/v1/shutdown", body).status == 204
    assert asked == [kill]


def test_clear_forgets_work_and_its_actors(call: Call, desk: Desk) -> None:
    desk.start(desk.item())
    assert call("POST", "/v1/daemon/clear", {}).json == {
        "sessionsCleared": 0,
        "ptysCleared": 0,
        "projectsCleared": 1,
        "workItemsCleared": 1,
        "forwardsCleared": 0,
    }
    for path in ("/v1/projects", "/v1/work-items", "/v1/work-item-runs", "/v1/questions", "/v1/gate-reports"):
        assert call("GET", path).json == []
    assert not [name for name in desk.system.names() if ":" in name]
    assert desk.item().number == 1


def test_actors_are_listed_parents_first_and_by_label(call: Call, desk: Desk) -> None:
    run = desk.start(desk.item())
    names = [each["name"] for each in call("GET", "/v1/actors").json]
    project, item = f"project:{run.project_id}", f"work-item:{run.work_item_id}"
    assert names.index(project) < names.index(item) < names.index(f"run:{run.id}")
    assert {"journal", "events", "supervisor"} <= set(names)
    of_item = call("GET", f"/v1/actors?labels={quote(f'work-item={run.work_item_id}')}").json
    assert [each["name"] for each in of_item] == [f"run:{run.id}"]
    assert call("GET", "/v1/actors?labels=nonsense").status == 400


def test_an_actor_is_shown_by_its_escaped_name(call: Call, desk: Desk) -> None:
    project = get(desk.work.project(desk.project().id).show.remote())
    shown = call("GET", f"/v1/actors/{quote(f'project:{project.id}', safe='')}").json
    assert (shown["kind"], shown["state"], shown["facts"]["slug"]) == ("ProjectActor", "alive", "app")


def test_an_actor_is_restarted_from_storage(call: Call, desk: Desk) -> None:
    project = desk.project()
    assert call("POST", f"/v1/actors/project:{project.id}/restart", {}).json["restarts"] == 1
    assert get(desk.work.project(project.id).show.remote()) == project


def test_an_actor_is_stopped_unless_the_daemon_stands_on_it(call: Call, desk: Desk) -> None:
    project = desk.project()
    stopped = call("POST", f"/v1/actors/project:{project.id}/stop", {}).json
    assert (stopped["name"], stopped["state"]) == (f"project:{project.id}", "stopped")
    assert call("GET", f"/v1/actors/project:{project.id}").code == "no_such_actor"
    refused = call("POST", "/v1/actors/journal/stop", {})
    assert (refused.status, refused.code) == (400, "refused")
    assert call("GET", "/v1/actors/journal").json["state"] == "alive"


def test_dead_letters_are_listed_and_replayed(call: Call, desk: Desk, parts: Any, serve: Any, connect: Any) -> None:
    project = desk.project()
    get(desk.system.stop(f"project:{project.id}"))
    desk.system.tell(f"project:{project.id}", "show", (), {})
    [letter] = call("GET", "/v1/dead-letters").json
    assert (letter["to"], letter["method"]) == (f"project:{project.id}", "show")
    path = f"/v1/dead-letters/{letter['id']}/replay"
    assert call("POST", path, {}).code == "no_such_actor"
    desk.work.project(project.id)
    # Over a socket once: in a daemon that runs nobody can make one.
    answer = connect(serve(all_routes(), **parts)).request("POST", path, b"{}")
    assert (answer.status, answer.json) == (200, letter)
    assert call("GET", "/v1/dead-letters").json == []
    assert call("POST", path, {}).code == "not_found"


# -- events ---------------------------------------------------------------------------------------------------------


def test_events_are_read_one_by_one_from_the_oldest(call: Call, desk: Desk) -> None:
    project = desk.project()
    first = call("GET", "/v1/events/next").json
    assert first == {"event": {"type": "workitems.changed", "seq": 1, "id": project.id}, "missed": False}
    desk.project()
    assert call("GET", "/v1/events/next?afterSeq=1").json["event"]["seq"] == 2


def test_a_wait_for_an_event_ends_with_it_or_in_time(call: Call, desk: Desk) -> None:
    quiet = {"event": {"type": "none", "seq": 0}, "missed": False}
    assert call("GET", "/v1/events/next?timeoutMs=1").json == quiet
    waiting = gevent.spawn(call, "GET", "/v1/events/next?timeoutMs=0")
    with gevent.Timeout(10):
        while desk.system.describe("events").facts["followers"] != 1:
            gevent.sleep(0.001)
    desk.project()
    assert waiting.get(timeout=10).json["event"]["seq"] == 1
    assert desk.system.describe("events").facts["followers"] == 0


def test_a_position_ahead_of_the_daemon_means_that_it_was_restarted(call: Call, desk: Desk) -> None:
    desk.project()
    answer = call("GET", "/v1/events/next?afterSeq=900").json
    assert (answer["missed"], answer["event"]["seq"]) == (True, 1)


@pytest.mark.parametrize(
    "query", ["afterSeq=-1", "afterSeq=x", "timeoutMs=-1", "timeoutMs=1.5", f"afterSeq={'9' * 30}"]
)
def test_a_position_that_is_no_number_is_a_400(call: Call, query: str) -> None:
    assert call("GET", f"/v1/events/next?{query}").code == "invalid"


def test_events_are_streamed_from_where_a_reader_was(
    parts: dict[str, Any], desk: Desk, serve: Callable[..., Any], connect: Callable[..., Any]
) -> None:
    for _ in range(3):
        desk.project()
    assert get(desk.events.last.remote()) == 3
    client = connect(serve(all_routes(), **parts))
    client.send(
        f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n"
        "Last-Event-ID: 1\r\n\r\n".encode()
    )
    while client.reader.readline().strip():
        pass
    text = b""
    while text.count(b"\n\n") < 4:
        size = int(client.reader.readline(), 16)
        text += client.reader.read(size)
        client.reader.readline()
    lines = [line for line in text.decode().splitlines() if line.startswith(("id", "event"))]
    assert lines == ["id: 1", "id: 2", "event: workitems.changed", "id: 3", "event: workitems.changed"]
    client.close()
    with gevent.Timeout(10):
        while desk.system.describe("events").facts["followers"]:
            gevent.sleep(0.001)


def test_a_last_event_id_that_is_no_number_is_a_400(call: Call) -> None:
    assert call("GET", "/v1/events", headers={"Last-Event-ID": "abc"}).code == "invalid"


# -- metrics --------------------------------------------------------------------------------------------------------


def test_metrics_count_every_actor_the_journal_and_the_requests(call: Call, desk: Desk) -> None:
    project = get(desk.work.project(desk.project().id).show.remote())
    call("GET", "/v1/health")
    answer = call("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    lines = answer.body.decode().splitlines()
    for expected in (
        f'whisk_actor_up{{actor="project:{project.id}",kind="ProjectActor"}} 1.0',
        'whisk_actor_messages_total{actor="journal",kind="JournalActor"} 1.0',
        'whisk_actor_queue{actor="journal",kind="JournalActor"} 0.0',
        'whisk_actor_restarts_total{actor="events",kind="EventsActor"} 0.0',
        "whisk_journal_writes_total 1.0",
        "whisk_dead_letters_total 0.0",
        'whisk_http_requests_total{route="GET /v1/health",status="200"} 1.0',
    ):
        assert expected in lines
    assert any(line.startswith("process_open_fds ") for line in lines)


def test_metrics_need_the_token(call: Call) -> None:
    call.token = None
    assert call("GET", "/metrics").status == 401
