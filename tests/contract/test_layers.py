"""The architecture, checked: imports only point down, and the layout hides nobody else's modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "whisk"

BASE = {"errors", "ids", "clock", "values", "events"}
DOMAIN = {"commands", "mail", "work", "hooks", "bridges", "profiles", "terminal", "matters", "search", "peers"}
ALLOWED: dict[str, set[str]] = {
    **dict.fromkeys(BASE, BASE),
    **dict.fromkeys(DOMAIN, BASE | DOMAIN),
    "storage": BASE | DOMAIN | {"storage"},
    "actors": BASE | DOMAIN | {"storage", "actors", "ptyhost"},
    "http": BASE | DOMAIN | {"storage", "actors", "http"},
    "daemon": BASE | DOMAIN | {"storage", "actors", "http", "daemon"},
    "cli": {"cli"},
    "ptyhost": set(),
}
"""What each part may import of whisk. `whisk` itself (the version) is open to all but the pty host and the relay."""

HEAVY = {"gevent", "pykka", "bottle", "peewee", "pexpect", "msgspec", "structlog", "psutil", "pyte", "wsproto"}
PURE_MAY_NOT = {"gevent", "pykka", "bottle", "peewee", "pexpect", "subprocess", "socket", "psutil", "structlog"}
STDLIB_ONLY = ("ptyhost.py", "cli/relay.py")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide the layer"
            if node.module == "whisk":
                yield from ((node.lineno, f"whisk.{alias.name}") for alias in node.names)
            elif node.module:
                yield node.lineno, node.module


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_point_down(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        assert list(imports_of(path)) == []
        return
    for line, name in imports_of(path):
        top, _, rest = name.partition(".")
        if top != "whisk" or not rest or rest.startswith("__") or rest.isupper():
            continue  # another project's, or a constant of `whisk` itself
        target = rest.split(".")[0]
        assert target in ALLOWED[part], f"{path}:{line}: {part} must not import whisk.{rest}"


@pytest.mark.parametrize("path", [p for p in modules() if part_of(p) in DOMAIN | BASE], ids=lambda p: p.name)
def test_the_domain_is_pure(path: Path) -> None:
    for line, name in imports_of(path):
        assert name.split(".")[0] not in PURE_MAY_NOT, f"{path}:{line}: a pure module imports {name}"


@pytest.mark.parametrize("name", STDLIB_ONLY)
def test_the_helpers_that_others_run_need_only_the_standard_library(name: str) -> None:
    for line, imported in imports_of(PACKAGE / name):
        assert imported.split(".")[0] in sys.stdlib_module_names | {"__future__"}, f"{name}:{line} imports {imported}"


def test_nothing_is_monkey_patched() -> None:
    for path in modules():
        assert "gevent.monkey" not in path.read_text("utf-8"), path


def test_the_relay_path_imports_nothing_heavy() -> None:
    """A hook, a mail check and a question must cost the agent next to nothing."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "import whisk.cli.main, whisk.cli.relay\n"
        "from whisk.cli.registry import find\n"
        "print('\\n'.join(sorted(m.split('.')[0] for m in set(sys.modules) - before)))"
    )
    code = code.replace("from whisk.cli.registry import find\n", "")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not set(out.split()) & (HEAVY | {"urllib", "http", "asyncio", "logging", "docopt", "json"})


def test_the_root_links_hide_nobodys_modules() -> None:
    for name in ("actors", "http", "cli"):
        link = ROOT / name
        assert link.is_symlink()
        assert link.readlink() == Path("whisk") / name
    assert not (PACKAGE / "http" / "__init__.py").exists()
    code = "import http.client, http; assert 'whisk' not in http.__file__, http.__file__"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_outgrows_a_reader(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= 400, f"{path} has {lines} lines; split it by noun"
