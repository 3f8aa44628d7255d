"""Every route there is: the `ROUTES` of each module in `whisk/http/routes`. A file put there is served and tested."""

from __future__ import annotations

import importlib
import pkgutil

import whisk.http.routes
from whisk.http.route import Route


def all_routes() -> tuple[Route, ...]:
    """In path order. A module without `ROUTES` is a mistake and raises `AttributeError`."""
    found: list[Route] = []
    for module in pkgutil.iter_modules(whisk.http.routes.__path__, "whisk.http.routes."):
        found.extend(importlib.import_module(module.name).ROUTES)
    return tuple(sorted(found, key=lambda route: (route.path, route.method)))
