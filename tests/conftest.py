"""What every layer's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whisk.actors.system import ActorSystem


@pytest.fixture
def system() -> Iterator[ActorSystem]:
    """A fresh actor system; the test fails when an actor does not end with it."""
    system = ActorSystem(sweep_every=0.05)
    yield system
    report = system.close(timeout=5.0)
    assert not report.left, f"did not end: {[info.name for info in report.left]}"
