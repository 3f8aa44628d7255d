"""`python -m whisk.daemon.survey`: the findings as JSON lines. `whisk doctor` starts it and reads them.

It is a program of its own since the command line imports nothing of the daemon, and since it must work with no daemon.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from whisk.clock import SystemClock
from whisk.daemon import config
from whisk.daemon.paths import Paths
from whisk.daemon.places import hook_places
from whisk.daemon.survey.agent import look_at_agents, look_at_hooks
from whisk.daemon.survey.finding import Finding
from whisk.daemon.survey.place import look_at_place
from whisk.errors import WhiskError
from whisk.profiles.launch import search_path
from whisk.storage.hook_setup import HookSetup
from whisk.values import encode

_GIT_SECONDS = 5.0


def main() -> int:
    """Print one finding a line; always 0, since what is broken is what it says."""
    for finding in survey(os.environ, Path.cwd()):
        sys.stdout.buffer.write(encode(finding) + b"\n")
        sys.stdout.buffer.flush()
    return 0


def survey(env: Mapping[str, str], folder: Path) -> Iterator[Finding]:
    """`folder` is where the person stands."""
    paths = Paths.from_env(env)
    try:
        settings = config.load(paths.config)
    except WhiskError:
        # `look_at_place` says what is wrong with the file.
        settings = config.Settings()
    path = search_path(env)

    def which(command: str) -> str | None:
        return shutil.which(command, path=path)

    yield from look_at_place(paths)
    yield from look_at_agents(settings.profiles, which, env)
    places = hook_places()
    setup = HookSetup(places, SystemClock(), settings.prompts.hook_limit)
    yield from look_at_hooks(setup, places, env, folder, which)
    yield _git(env)


def _git(env: Mapping[str, str]) -> Finding:
    git = shutil.which("git", path=env.get("PATH"))
    mend = "install git: worktrees are made with it"
    if git is None:
        return Finding(section="tools", name="git", grade="look", detail="not on the PATH", mend=mend)
    try:
        done = subprocess.run([git, "--version"], capture_output=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(section="tools", name="git", grade="look", detail=f"{git} does not run: {error}", mend=mend)
    return Finding(section="tools", name="git", grade="ok", detail=f"{done.stdout.decode().strip()}, {git}")


if __name__ == "__main__":
    sys.exit(main())
