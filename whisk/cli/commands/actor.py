"""`whisk actor …`: the supervision tree, seen and handled."""

from __future__ import annotations

import json
import select
from collections.abc import Iterator
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.cell import cut, width
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, UsageError
from whisk.cli.moment import moment
from whisk.cli.output import one_line
from whisk.cli.tree import Branch, grow, style_for

_COLUMNS = ("STATE", "QUEUE", "RATE", "RESTARTS")
# The same for a window of 80 cells, which the names of mailboxes nearly fill.
_NARROW = ("STATE", "Q", "RATE", "RST")
_COLOURS = {"alive": "32", "failed": "31;1", "restarting": "33", "starting": "36", "draining": "35", "stopped": "2"}
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


def list_actors(context: Context, args: Arguments) -> None:
    actors = _actors(context, args)
    if args.flag("json"):
        return context.out.json(actors)
    rows = [
        (each["name"], each["kind"], *_cells(each), each.get("parent"), each.get("lastError")) for each in actors
    ]  # fmt: skip
    header = ["NAME", "KIND", *_COLUMNS, "PARENT", "LAST_ERROR"]
    return context.out.table(header, rows, flexible=["LAST_ERROR"], optional=["PARENT", "KIND"])


def tree(context: Context, args: Arguments) -> int:
    every = args.seconds("every", 1.0) or 1.0
    if args.flag("json"):
        if args.flag("watch"):
            raise UsageError("-watch draws for a person; use `whisk actor list -json` again and again instead")
        context.out.json(_nested(_actors(context, args)))
        return OK
    if not args.flag("watch"):
        for line in _drawing(context, _actors(context, args)):
            context.out.styled(line)
        return OK
    if not context.out.is_tty:
        raise UsageError("-watch needs a terminal")
    return _watch(context, args, every)


def show(context: Context, args: Arguments) -> None:
    actor = context.client.get(path("actors", args.need("name")))
    if args.flag("json"):
        return context.out.json(actor)
    facts = dict(_flat(actor))
    wide = max(len(key) for key in facts)
    for key, value in facts.items():
        context.out.line(f"{key:<{wide}}  {one_line(value)}")
    return None


def restart(context: Context, args: Arguments) -> None:
    _print(context, args, context.client.post(path("actors", args.need("name"), "restart"), timeout=30.0))


def stop(context: Context, args: Arguments) -> None:
    _print(context, args, context.client.post(path("actors", args.need("name"), "stop"), timeout=30.0))


def dead_letters(context: Context, args: Arguments) -> None:
    if args.given("replay"):
        letter = context.client.post(path("dead-letters", args.need("replay"), "replay"))
        if args.flag("json"):
            return context.out.json(letter)
        return context.out.fields(letter["id"], letter["to"], letter["method"])
    letters = context.client.get("/v1/dead-letters")
    if args.flag("json"):
        return context.out.json(letters)
    rows = [
        (each["id"], moment(each["at"]), each["to"], each["method"], each["reason"], each["arguments"])
        for each in letters
    ]
    return context.out.table(["ID", "AT", "TO", "METHOD", "REASON", "ARGUMENTS"], rows)


def _actors(context: Context, args: Arguments) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = context.client.get("/v1/actors", {"labels": args.csv("label")})
    return found


def _print(context: Context, args: Arguments, actor: dict[str, Any]) -> None:
    if args.flag("json"):
        context.out.json(actor)
    else:
        context.out.fields(actor["name"], actor["state"])


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every fact with its dotted name; what stands inside a list is JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cells(actor: dict[str, Any]) -> tuple[str, ...]:
    return (actor["state"], str(actor["queue"]), f"{actor['rate']:g}/s", str(actor["restarts"]))


def _nested(actors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tree as JSON: every actor with `children`."""
    nodes = {actor["name"]: {**actor, "children": []} for actor in actors}
    roots: list[dict[str, Any]] = []
    for node in nodes.values():
        parent = nodes.get(node.get("parent") or "")
        (roots if parent is None else parent["children"]).append(node)
    return roots


def _drawing(context: Context, actors: list[dict[str, Any]], *, live: bool = False) -> list[str]:
    """The tree with its columns, as wide as the terminal. A name that leaves them no room has them below it.

    Names are never cut, since they are what the other commands take, but for a `live` tree, whose lines are counted.
    """
    out = context.out
    branches = grow(actors, style_for(out.stdout.encoding))
    names = [branch.prefix + one_line(branch.actor["name"]) for branch in branches]
    cells = [_cells(dict(branch.actor)) for branch in branches]
    wanted = max(width(name) for name in (*names, "ACTOR"))
    for header in (_COLUMNS, _NARROW):
        widths = [max(len(row[column]) for row in (header, *cells)) for column in range(len(header))]
        left = wanted if out.columns is None else min(wanted, max(20, out.columns - sum(widths) - 2 * len(widths)))
        if left == wanted:
            break
    lines = [_line("ACTOR", header, left, widths)]
    for name, row, branch in zip(names, cells, branches, strict=True):
        if width(name) > left:
            lines.append(name if out.columns is None or not live else cut(name, out.columns))
            name = ""
        lines.append(_coloured(context, _line(name, row, left, widths), branch))
    return lines


def _line(name: str, cells: tuple[str, ...], left: int, widths: list[int]) -> str:
    state, *numbers = (f"{cell:<{room}}" if column == 0 else f"{cell:>{room}}" for column, (cell, room) in
                       enumerate(zip(cells, widths, strict=True)))  # fmt: skip
    return "  ".join([name + " " * (left - width(name)), state, *numbers]).rstrip()


def _coloured(context: Context, line: str, branch: Branch) -> str:
    state = branch.actor["state"]
    return line.replace(f"  {state}", f"  {context.out.style(state, _COLOURS.get(state, '0'))}", 1)


def _watch(context: Context, args: Arguments, every: float) -> int:
    """Redraw in place until Ctrl-C, on the alternate screen, so that the person's scrollback stays as it was."""
    out = context.out
    out.stdout.write(_ENTER)
    try:
        while True:
            actors = _actors(context, args)
            lines = _drawing(context, actors, live=True)
            rows = max(3, out.rows) - 1
            if len(lines) > rows:
                lines = [*lines[: rows - 1], f"… and {len(lines) - rows + 1} more"]
            lines.append(out.style(f"{len(actors)} actors at {context.url}; Ctrl-C ends", "2"))
            out.stdout.write(_HOME + "\n".join(line + _CLEAR_LINE for line in lines) + _CLEAR_BELOW)
            out.flush()
            select.select([], [], [], every)
    except KeyboardInterrupt:
        # How a person ends it; nothing was interrupted.
        return OK
    finally:
        out.stdout.write(_LEAVE)
        out.flush()


_LABEL = "  --label=<k=v>     Only actors with this label; may be repeated.\n"

LIST = Command(
    words="actor list",
    usage=f"""
Usage:
  whisk actor list [--label=<k=v>]... [options]

Options:
{_LABEL}
Examples:
  whisk actor list
  whisk actor list -label project=proj_01 -json
""",
    run=list_actors,
)

TREE = Command(
    words="actor tree",
    usage=f"""
Usage:
  whisk actor tree [--label=<k=v>]... [options]

Options:
{_LABEL}  --watch           Redraw it in place until Ctrl-C.
  --every=<time>    How often, with -watch [default: 1s].

Examples:
  whisk actor tree
  whisk actor tree -watch -every 500ms
""",
    run=tree,
)

SHOW = Command(
    words="actor show",
    usage="""
Usage:
  whisk actor show [options] <name>

Examples:
  whisk actor show journal
""",
    run=show,
)

RESTART = Command(
    words="actor restart",
    usage="""
Usage:
  whisk actor restart [options] <name>

Examples:
  whisk actor restart post-office
""",
    run=restart,
)

STOP = Command(
    words="actor stop",
    usage="""
Usage:
  whisk actor stop [options] <name>

Examples:
  whisk actor stop mailbox:run:run_01
""",
    run=stop,
)

DEAD_LETTERS = Command(
    words="actor dead-letters",
    usage="""
Usage:
  whisk actor dead-letters [options]

Options:
  --replay=<id>     Send this one again.

Examples:
  whisk actor dead-letters
  whisk actor dead-letters -replay dead_01
""",
    run=dead_letters,
)
