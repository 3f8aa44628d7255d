"""Starting a program through the person's login shell, so that it finds what the shell's start files set up.

The program and its arguments are handed to the shell as arguments and never as text to read, so nothing in a prompt is
ever quoted, expanded or run. What the shell is told to do with them is one of the two sentences below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whisk.errors import RefusedError

_POSIX = frozenset({"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"})


def through_login_shell(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that starts `argv` by `$SHELL`; the shell is replaced by the program, which keeps its exit code.

    Raises `RefusedError` for a shell whose language is neither that of `sh` nor that of fish.
    """
    shell = environ.get("SHELL") or "sh"
    name = shell.rpartition("/")[2]
    if name in _POSIX:
        return (shell, "-lc", 'exec "$@"', name, *argv)
    if name == "fish":
        return (shell, "-lc", "exec $argv", "--", *argv)
    known = sorted({*_POSIX, "fish"})
    raise RefusedError(
        f"agents cannot be started through {shell}; turn off the project's useInteractiveAgentShell, or start whiskd"
        f" with a SHELL that is one of {', '.join(known)}",
        shell=shell,
        known=known,
    )
