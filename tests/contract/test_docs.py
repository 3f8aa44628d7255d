"""Whatever is registered is documented: commands on their noun's page, mail types, settings; and pages are linked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from whisk.cli import registry
from whisk.daemon import config
from whisk.daemon.config import Table
from whisk.mail.message import MailType
from whisk.profiles.profile import ProfileTable

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

# Nouns that are explained on the page of another.
PAGES = {
    "agent-bridge": "hook",
    "completion": "cli",
    "demo": "daemon",
    "gate": "workflow",
    "hook events": "hook",
    "hook log": "hook",
    "policy": "prompt",
    "project attachments": "project",
    "pty history": "terminal",
    "session pane": "session",
    "session pty": "terminal",
    "skill": "onboarding",
    "version": "cli",
    "workflow definitions": "workflow-definitions",
}
GENERATED = {"http.md"}


def page_of(words: str) -> Path:
    noun = words.rpartition(" ")[0] or words
    return DOCS / f"{PAGES.get(noun, noun.replace(' ', '-'))}.md"


def pages() -> list[Path]:
    return sorted(path for path in DOCS.glob("*.md") if path.name not in GENERATED)


@pytest.mark.parametrize("words", sorted(registry.COMMANDS))
def test_a_command_is_shown_on_its_nouns_page(words: str) -> None:
    page = page_of(words)
    text = " ".join(page.read_text("utf-8").split())
    noun, _, verb = words.rpartition(" ")
    # Verbs may share a noun: `webhook pause|resume <id>`.
    assert re.search(rf"(whisk |`){f'{noun} ' if noun else ''}([a-z-]+\|)*{verb}\b", text), words


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_every_link_of_a_page_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text("utf-8")):
        assert (path.parent / target).exists() or target in GENERATED, f"{path.name}: {target}"


def test_the_index_leads_to_every_page() -> None:
    index = (DOCS / "README.md").read_text("utf-8")
    assert [path.name for path in DOCS.glob("*.md") if path.name != "README.md" and f"({path.name})" not in index] == []


def test_every_mail_type_is_in_the_table_of_docs_mail() -> None:
    text = (DOCS / "mail.md").read_text("utf-8")
    assert set(re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)) == set(get_args(MailType))


def tables() -> dict[str, type]:
    """The tables of the settings file by their names in it."""
    found = {name: kind for name, kind in get_type_hints(config._File).items() if isinstance(kind, type)}
    return {name: kind for name, kind in found.items() if issubclass(kind, Table)} | {"profiles.<id>": ProfileTable}


def test_every_setting_is_in_its_table_of_docs_settings() -> None:
    text = (DOCS / "settings.md").read_text("utf-8")
    sections = dict(re.findall(r"^## `\[([^]]+)\]`\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    assert set(sections) == set(tables())
    for name, kind in tables().items():
        rows = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", sections[name], re.MULTILINE)
        assert {key for row in rows for key in re.findall(r"`([a-z_]+)`", row)} == set(get_type_hints(kind)), name
