"""Where the daemon keeps its files.

One folder holds all state, the database included, so that "one daemon per state folder" also means one writer per
database. `WHISK_STATE_DIR` moves it whole; otherwise platformdirs says where state belongs on this system.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from whisk.errors import UnavailableError

# A unix socket's path may have 108 bytes on Linux and 104 on macOS, its end included. The longest name that is put
# below `runtime` must fit as well.
_SOCKET_PATH_MAX = 103
_SOCKET_NAME_ROOM = 24


@dataclass(frozen=True)
class Paths:
    """`state` and `runtime` are made by `make`; the others are only read."""

    state: Path
    config: Path
    runtime: Path

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Paths:
        chosen = env.get("WHISK_STATE_DIR")
        if chosen:
            state = Path(os.path.abspath(Path(chosen).expanduser()))
        else:
            state = platformdirs.user_state_path("whisk", appauthor=False)
        config = env.get("WHISK_CONFIG")
        file = Path(config).expanduser() if config else platformdirs.user_config_path("whisk", appauthor=False)
        return cls(state, file if config else file / "config.toml", _runtime(state))

    @property
    def token(self) -> Path:
        return self.state / "control-token"

    @property
    def state_file(self) -> Path:
        return self.state / "daemon.json"

    @property
    def lock(self) -> Path:
        return self.state / "daemon.lock"

    @property
    def log(self) -> Path:
        return self.state / "whiskd.log"

    @property
    def database(self) -> Path:
        return self.state / "whisk.sqlite"

    @property
    def search_index(self) -> Path:
        return self.state / "search.sqlite"

    @property
    def transcripts(self) -> Path:
        return self.state / "transcripts"

    @property
    def landing(self) -> Path:
        return self.state / "landing"

    def make(self) -> None:
        """Create the folders for their owner alone; raises `UnavailableError` naming the one that cannot be had."""
        for folder in (self.state, self.runtime):
            _make_private(folder)


def _runtime(state: Path) -> Path:
    """`state/run`, or a short folder of the same life when sockets would not fit below it.

    It must be found again by the next daemon, whatever that one's environment, so it depends on the state folder
    alone: `XDG_RUNTIME_DIR` and `TMPDIR` are set in some shells and not in others.
    """
    inside = state / "run"
    if len(os.fsencode(inside)) + _SOCKET_NAME_ROOM <= _SOCKET_PATH_MAX:
        return inside
    digest = hashlib.sha256(os.fsencode(state)).hexdigest()[:16]
    return Path("/tmp") / f"whisk-{os.getuid()}-{digest}"


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.lstat(folder)
        # A folder below /tmp may have been put there by somebody else; a link may lead anywhere.
        if folder.parent == Path("/tmp") and (stat.S_ISLNK(found.st_mode) or found.st_uid != os.getuid()):
            raise UnavailableError(f"{folder} belongs to somebody else; remove it or set WHISK_STATE_DIR")
        if stat.S_IMODE(os.stat(folder).st_mode) & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise UnavailableError(f"cannot use the folder {folder}: {error.strerror}", path=str(folder)) from error
