"""Every operation of the wire, over a real socket to a real daemon, done and refused.

`STEPS` says how each one succeeds; an operation without a step fails here. What it answers is held against the document
of the wire, field for field. The refusals need no table: no token, an id that nothing has, a body of the wrong shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_every_route import body_of
from whisk.http.route import Route

from .conftest import Whiskd
from .step import STEPS
from .world import ROUTES, World, ids_of

# They leave nothing to go on with, so each has a daemon of its own.
LAST: dict[str, Any] = {"clearDaemon": {}, "shutdownDaemon": {"killPtys": True}}

# Only an actor that vanishes between two messages leaves a dead letter; tests/http/test_system.py makes one.
ELSEWHERE = {"replayDeadLetter"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """In a daemon of its own, which gives a delivery up at once and notifies somebody who is not there."""
    home, root = tmp_path_factory.mktemp("whiskd"), tmp_path_factory.mktemp("root")
    (home / "config.toml").write_text('[webhooks]\nattempts = 1\n[notify]\nurls = ["json://127.0.0.1:1/"]\n')
    whiskd = Whiskd(home / "home", {"WHISK_CONFIG": str(home / "config.toml")})
    whiskd.start()
    made = World(whiskd, root)
    yield made
    made.close()
    whiskd.close()


def test_every_operation_has_a_step_and_every_step_an_operation() -> None:
    assert sorted(set(ROUTES) - set(STEPS) - set(LAST) - ELSEWHERE) == [], "add a line to tests/daemon/step.py"
    assert sorted(set(STEPS) - set(ROUTES)) == []


@pytest.mark.parametrize("operation", sorted(set(STEPS) & set(ROUTES)))
def test_an_operation_succeeds_as_the_document_says(world: World, operation: str) -> None:
    # Many operations share the story of one thing, which is told once.
    if operation not in world.reached:
        STEPS[operation](world)
    assert operation in world.reached


@pytest.mark.parametrize("operation", LAST)
def test_a_daemon_is_emptied_and_stopped(daemon: Whiskd, tmp_path: Path, operation: str) -> None:
    world = World(daemon, tmp_path)
    world.mail()
    world.ok(operation, LAST[operation])


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_an_operation_refuses_as_the_document_says(world: World, route: Route) -> None:
    nothing = ids_of(route, "x_1")
    if route.auth == "control":
        assert world.refused(world.do(route.operation, token=False, **nothing)) == "unauthorized"
    else:
        with world.whiskd.client.open(route.method, route.path, headers={"Host": "evil.example"}) as stream:
            assert stream.head()[0] == 403
    if route.body not in (None, bytes):
        assert world.refused(world.do(route.operation, [1], **nothing)) == "invalid"
    if nothing and not route.token_in_query:
        reply = world.do(route.operation, body_of(route), **nothing)
        code = world.refused(reply)
        # To somebody without its token, a bridge that is not there is no other than one that is.
        assert code in (["unauthorized"] if "bridge_id" in nothing else ["not_found", "no_such_actor"])
