"""The `whisk` command. Nothing is imported before it is known to be needed: a hook relay must start in milliseconds."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        # Only a person asks for help, and nothing else.
        if arguments[:2] == ["agent-bridge", "hook"] and arguments[2:] not in (["-h"], ["-help"], ["--help"]):
            from whisk.cli.relay import main as relay

            return relay(arguments[2:])
        from whisk.cli.dispatch import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
