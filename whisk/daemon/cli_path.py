"""Which file agents call as `$WHISK_CLI`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import whisk


def find_cli(env: Mapping[str, str], state: Path) -> str:
    """An absolute path that runs `whisk` of this very installation.

    `WHISK_CLI` when it names a file, else a link in the state folder to the command beside our Python, else a small
    script there: a `whisk` that happens to be on the PATH may be another version.
    """
    chosen = env.get("WHISK_CLI")
    if chosen and (found := shutil.which(chosen, path=env.get("PATH"))):
        return os.path.abspath(found)
    beside = Path(sys.executable).parent / "whisk"
    if os.access(beside, os.X_OK):
        return str(_link(state, beside))
    return str(_script(state))


def _link(state: Path, command: Path) -> Path:
    """The command in a folder of its own. That folder is first on every agent's PATH, and beside our Python there are
    also a `python` and a `pip` of our own environment, which must not become the agent's.
    """
    link = state / "bin" / "whisk"
    link.parent.mkdir(mode=0o700, exist_ok=True)
    # Through a second name, since an agent may be looking for the first one just now.
    fresh = link.with_name(f".whisk.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(command)
    fresh.replace(link)
    return link


def _script(state: Path) -> Path:
    root = Path(whisk.__file__).resolve().parents[1]
    program = f"import sys; sys.path.insert(1, {str(root)!r}); from whisk.cli.main import main; sys.exit(main())"
    script = state / "bin" / "whisk"
    script.parent.mkdir(mode=0o700, exist_ok=True)
    # An older whisk may have left a link here; writing through it would overwrite the command.
    script.unlink(missing_ok=True)
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c {shlex.quote(program)} "$@"\n')
    script.chmod(0o700)
    return script
