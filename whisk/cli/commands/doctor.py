"""`whisk doctor`: one page that says what is installed, reachable, trusted, stale or broken."""

from __future__ import annotations

import platform
from collections import Counter

from whisk import __version__
from whisk.cli.argument import Arguments
from whisk.cli.checkup import Finding, look_at_daemon, look_at_shell, survey
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, REFUSED
from whisk.cli.output import one_line

_ORDER = ("daemon", "state", "agents", "hooks", "shell", "tools")
_STYLES = {"ok": "32", "off": "2", "look": "33", "broken": "31;1"}


def doctor(context: Context, args: Arguments) -> int:
    """Exit 1 when something is broken. Works without a daemon, and changes nothing."""
    found = [*look_at_daemon(context), *survey(context), *look_at_shell(context)]
    found.sort(key=lambda each: _ORDER.index(each["section"]))
    count = Counter(each["grade"] for each in found)
    if args.flag("json"):
        context.out.json({"ok": not count["broken"], "version": __version__, "findings": found})
    else:
        _print(context, found)
        context.out.line()
        context.out.line(_sum(count))
    return REFUSED if count["broken"] else OK


def _print(context: Context, found: list[Finding]) -> None:
    out = context.out
    system = f"{platform.system()} {platform.release()}"
    out.line(f"whisk {__version__}, Python {platform.python_version()}, {system}")
    wide = max(len(each["name"]) for each in found)
    section = ""
    for each in found:
        if each["section"] != section:
            section = each["section"]
            out.line()
            out.styled(out.style(section, "1"))
        grade = out.style(f"{each['grade']:<6}", _STYLES[each["grade"]])
        out.styled(f"  {grade}  {one_line(each['name']):<{wide}}  {one_line(each['detail'])}")
        if each.get("mend"):
            out.styled(f"  {'':<6}  {'':<{wide}}  -> {one_line(each['mend'])}")


def _sum(count: Counter[str]) -> str:
    parts = []
    if broken := count["broken"]:
        parts.append(f"{broken} {'thing is' if broken == 1 else 'things are'} broken")
    if look := count["look"]:
        parts.append(f"{look} {'wants' if look == 1 else 'want'} a look")
    return ", ".join(parts) or "all is well"


DOCTOR = Command(
    words="doctor",
    usage="""
Usage:
  whisk doctor [options]

Looks at the daemon, its files, the agents, their hooks and this shell, and says what is broken and which command mends
it. Works without a daemon and changes nothing. Ends with 1 when something is broken.

  ok       works
  off      not set up, which is right unless you want it
  look     works, and may not for long
  broken   does not work

Examples:
  whisk doctor
  whisk doctor -json
""",
    run=doctor,
)
