"""Every typed handle says what its actor understands, no more and no less."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import whisk.actors
from whisk.actors.actor import Actor
from whisk.actors.handle import Handle
from whisk.actors.system import messages_of

PARTIAL = {"PtyOwnerHandle", "PtyRunHandle"}
"""Handles that describe a part of what actors offer, for who may not know the whole."""


def _load() -> None:
    for module in pkgutil.iter_modules(whisk.actors.__path__, "whisk.actors."):
        importlib.import_module(module.name)


def _pairs() -> list[tuple[type[Actor], type[Handle]]]:
    _load()
    actors = {cls.__name__: cls for cls in _below(Actor)}
    return [
        (actors[handle.__name__.removesuffix("Handle") + "Actor"], handle)
        for handle in _below(Handle)
        if handle.__module__.startswith("whisk.") and handle.__name__ not in PARTIAL
    ]


def _below(cls: type) -> list[type]:
    return sorted({s for c in cls.__subclasses__() for s in (c, *_below(c))}, key=lambda s: s.__name__)


@pytest.mark.parametrize(("actor", "handle"), _pairs(), ids=lambda c: c.__name__)
def test_a_handle_names_exactly_the_messages_of_its_actor(actor: type[Actor], handle: type[Handle]) -> None:
    typed = {name for name in handle.__annotations__ if not name.startswith("_")}
    assert typed == set(messages_of(actor))


def test_every_actor_of_the_daemon_has_a_handle() -> None:
    _load()
    # A class that others build on is half of an actor.
    ours = {c.__name__ for c in _below(Actor) if c.__module__.startswith("whisk.") and not c.__subclasses__()}
    assert ours == {actor.__name__ for actor, _ in _pairs()}
