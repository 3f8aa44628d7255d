"""`whisk version`."""

from __future__ import annotations

from whisk import __version__
from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context


def version(context: Context, args: Arguments) -> None:
    if args.flag("json"):
        context.out.json({"version": __version__})
    else:
        context.out.line(f"whisk {__version__}")


VERSION = Command(
    words="version",
    usage="""
Usage:
  whisk version [options]

Examples:
  whisk version
""",
    run=version,
    common=("json",),
)
