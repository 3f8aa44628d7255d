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

    `WHISK_CLI` when it names a file, else the command beside our Python, else a small script in the state folder: a
    `whisk` that happens to be on the PATH may be another version.
    """
    chosen = env.get("WHISK_CLI")
    if chosen and (found := shutil.which(chosen, path=env.get("PATH"))):
        return os.path.abspath(found)
    beside = Path(sys.executable).parent / "whisk"
    if os.access(beside, os.X_OK):
        return str(beside)
    return str(_script(state))


def _script(state: Path) -> Path:
    root = Path(whisk.__file__).resolve().parents[1]
    program = f"import sys; sys.path.insert(1, {str(root)!r}); from whisk.cli.main import main; sys.exit(main())"
    script = state / "bin" / "whisk"
    script.parent.mkdir(mode=0o700, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c {shlex.quote(program)} "$@"\n')
    script.chmod(0o700)
    return script
