"""The supervision tree, seen and handled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from whisk.actors.cell import ActorInfo, ActorNode
from whisk.actors.dead_letter import DeadLetter
from whisk.errors import InvalidError, RefusedError
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.values import Record

_SECONDS = 20.0


class ActorFilter(Record, frozen=True):
    """`labels` are `key=value`; an actor must carry all of them."""

    labels: tuple[str, ...] = ()


class Nothing(Record, frozen=True):
    pass


def list_actors(api: Api, request: Request[None, ActorFilter]) -> list[ActorInfo]:
    """Each actor before those below it, siblings in the order in which they were started."""
    wanted = [_label(text) for text in request.query.labels]
    return [info for info in _flat(api.system.tree()) if all(info.labels.get(key) == value for key, value in wanted)]


def show_actor(api: Api, request: Request[None, None]) -> ActorInfo:
    return api.system.describe(request.path["name"])


def restart_actor(api: Api, request: Request[Nothing, None]) -> ActorInfo:
    name = request.path["name"]
    request.wait(api.system.restart(name), _SECONDS)
    return api.system.describe(name)


def stop_actor(api: Api, request: Request[Nothing, None]) -> ActorInfo:
    name = request.path["name"]
    before = api.system.describe(name)
    if ":" not in name:
        # Actors of one thing are named kind:id; these are the floor that all the others stand on.
        raise RefusedError(f"{name} is part of whiskd itself; restart it, or stop the daemon", actor=name)
    request.wait(api.system.stop(name), _SECONDS)
    return msgspec.structs.replace(before, state="stopped", queue=0)


def list_dead_letters(api: Api, _request: Request[None, None]) -> tuple[DeadLetter, ...]:
    return api.system.dead_letters.list()


def replay_dead_letter(api: Api, request: Request[Nothing, None]) -> DeadLetter:
    return api.system.replay(request.path["letter_id"])


def _flat(nodes: Iterable[ActorNode]) -> Iterator[ActorInfo]:
    for node in nodes:
        yield node.actor
        yield from _flat(node.children)


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InvalidError(f"a label is key=value, not {text!r}", field="labels")
    return key, value


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/actors",
        list_actors,
        "List the actors",
        query=ActorFilter,
        reply=list[ActorInfo],
        operation="listActors",
    ),
    Route("GET", "/v1/actors/{name}", show_actor, "Show one actor", reply=ActorInfo, operation="getActor"),
    Route(
        "POST",
        "/v1/actors/{name}/restart",
        restart_actor,
        "Restart an actor from storage",
        body=Nothing,
        reply=ActorInfo,
        operation="restartActor",
    ),
    Route(
        "POST",
        "/v1/actors/{name}/stop",
        stop_actor,
        "Stop an actor",
        body=Nothing,
        reply=ActorInfo,
        operation="stopActor",
    ),
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        "List messages that no actor took",
        reply=tuple[DeadLetter, ...],
        operation="listDeadLetters",
    ),
    Route(
        "POST",
        "/v1/dead-letters/{letter_id}/replay",
        replay_dead_letter,
        "Send a dead letter again",
        body=Nothing,
        reply=DeadLetter,
        operation="replayDeadLetter",
    ),
)
