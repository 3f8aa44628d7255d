"""Slow calls leave the hub: they run on a real thread while only the calling greenlet waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from gevent import get_hub

P = ParamSpec("P")
T = TypeVar("T")


def offload(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` on the hub's thread pool and return its value, or raise what it raised.

    The function must not touch actors, futures or anything else of the hub.
    """
    result: T = get_hub().threadpool.apply(function, args, kwargs)
    return result
