"""A runtime of its own for each test."""

from __future__ import annotations

import pytest

from whisk.commands import CommandRuntime


@pytest.fixture
def runtime() -> CommandRuntime:
    return CommandRuntime()
