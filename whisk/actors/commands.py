"""The place of the command runtime in the tree. It understands no message until commands can be contributed."""

from __future__ import annotations

from whisk.actors.actor import Actor
from whisk.actors.handle import Handle


class CommandsActor(Actor):
    """Holds nothing yet; it is listed so that the tree is whole."""


class CommandsHandle(Handle):
    """No message yet."""
