"""Where the daemon keeps its files, as a client sees it. Standard library only: every command pays for this import.

`whisk.daemon.paths` asks platformdirs for the same folder; a contract test compares the two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def state_dir(env: Mapping[str, str]) -> str:
    """The folder with the control token, the state file, the log and the database; it need not exist."""
    if chosen := env.get("WHISK_STATE_DIR"):
        return os.path.abspath(os.path.expanduser(chosen))
    home = env.get("HOME") or os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "whisk")
    base = env.get("XDG_STATE_HOME", "")
    if not base.strip():
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "whisk")


def token_path(env: Mapping[str, str]) -> str:
    """The control token: one line, readable by its owner only."""
    return os.path.join(state_dir(env), "control-token")


def state_path(env: Mapping[str, str]) -> str:
    """What the running daemon wrote about itself: JSON with pid, start time, url and version."""
    return os.path.join(state_dir(env), "daemon.json")


def log_path(env: Mapping[str, str]) -> str:
    return os.path.join(state_dir(env), "whiskd.log")
