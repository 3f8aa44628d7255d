"""Where whisk keeps what agents start, and what that runs: this very installation."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs

import whisk
from whisk.storage.hook_setup import HookPlaces


def hook_places() -> HookPlaces:
    folder = platformdirs.user_config_path("whisk", appauthor=False)
    package = Path(whisk.__file__).parent
    return HookPlaces(folder, sys.executable, str(package / "cli" / "relay.py"), package / "skills")
