"""The small program that agents start at every hook: a shell script that becomes the relay.

Settings of agents hold its path and nothing that an upgrade changes. A shell costs a millisecond; a script of Python's
own would cost the import of `site`. When whisk is gone, it ends at once and says nothing, so the agent goes on.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

HELPER_VERSION = 1
_HEAD = "# whisk hook helper"
_WORDS = re.compile(rf"^{_HEAD} (\d+)$", re.MULTILINE)
_RUN = re.compile(r"^exec (.+) -I -S (.+) \"\$@\"$", re.MULTILINE)


class Runs(NamedTuple):
    """What a helper starts. `version` is that of its text."""

    version: int
    python: str
    relay: str


def helper_text(python: str, relay: str) -> str:
    """The script that runs `relay` by `python`."""
    program, file = shlex.quote(python), shlex.quote(relay)
    return (
        "#!/bin/sh\n"
        f"{_HEAD} {HELPER_VERSION}\n"
        "# Called by the hooks of coding agents; `whisk hook remove <agent>` takes those out again.\n"
        "# When whisk is gone the agent's payload is read, nothing is said, and the agent goes on.\n"
        f"[ -x {program} ] && [ -r {file} ] || {{ cat >/dev/null; exit 0; }}\n"
        f'exec {program} -I -S {file} "$@"\n'
    )


def read_helper(text: str) -> Runs | None:
    """What a helper starts, or None for a file that is not whisk's."""
    version, run = _WORDS.search(text), _RUN.search(text)
    if version is None or run is None:
        return None
    try:
        (python,), (relay,) = shlex.split(run[1]), shlex.split(run[2])
    except ValueError:
        return None
    return Runs(int(version[1]), python, relay)
