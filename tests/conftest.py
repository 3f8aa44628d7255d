"""What every layer's tests share."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from whisk.actors.system import ActorSystem


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """With `-n`, a worker that is done takes from the others: the tests differ in length by a thousand times."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"
    return (yield)


@pytest.fixture
def system() -> Iterator[ActorSystem]:
    """A fresh actor system; the test fails when an actor does not end with it."""
    system = ActorSystem(sweep_every=0.05)
    yield system
    report = system.close(timeout=5.0)
    assert not report.left, f"did not end: {[info.name for info in report.left]}"
