"""Slow calls leave the hub: they run on a real thread while only the calling greenlet waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from gevent import get_hub

P = ParamSpec("P")
T = TypeVar("T")


def offload(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` on the hub's thread pool and return its value, or raise what it raised.

    The function must not touch actors, futures or anything else of the hub.
    """
    value, error = get_hub().threadpool.apply(_outcome, (function, args, kwargs))
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The pool prints the traceback of whatever is raised in it, also of a refusal; so the outcome is a value."""
    try:
        return function(*args, **kwargs), None
    except BaseException as error:  # noqa: BLE001 (it is raised in the calling greenlet instead)
        return None, error
