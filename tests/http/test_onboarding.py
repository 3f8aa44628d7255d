"""Onboarding and skills over HTTP: only what was named is applied, and each item says what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def items(answer: Any) -> dict[str, dict[str, Any]]:
    assert answer.status == 200, answer
    return {each["id"]: each for each in answer.json["items"]}


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """The folder of somebody who uses Claude Code and not Codex."""
    (tmp_path / ".claude").mkdir()
    return tmp_path / ".claude"


def apply(call: Any, *ids: str) -> dict[str, dict[str, Any]]:
    return items(call("POST", "/v1/onboarding/apply", {"itemIds": list(ids)}))


def test_what_suits_this_machine_is_suggested(call: Any, claude: Path) -> None:
    answer = call("GET", "/v1/onboarding")
    found = items(answer)
    assert list(found) == ["daemon", "hook:claude", "hook:codex", "skill:claude", "skill:codex"]
    assert [id for id, each in found.items() if each["selectedByDefault"]] == ["hook:claude", "skill:claude"]
    assert (found["daemon"]["status"], answer.json["shouldShow"], answer.json["localDaemon"]) == ("current", True, True)


@pytest.mark.parametrize("body", [{"itemIds": []}, {"itemIds": None}])
def test_nothing_is_applied_that_was_not_named(call: Any, claude: Path, body: dict[str, Any]) -> None:
    found = items(call("POST", "/v1/onboarding/apply", body))
    assert not any("result" in each for each in found.values())
    assert list(claude.iterdir()) == []


def test_named_items_are_applied_and_one_that_is_refused_keeps_no_other_from_it(
    call: Any, claude: Path, tmp_path: Path
) -> None:
    (claude / "settings.json").write_text("{ // mine\n}")
    found = apply(call, "hook:claude", "skill:claude", "hook:codex", "daemon", "skill:claude")
    results = {id: each.get("result") for id, each in found.items()}
    assert results == {
        "daemon": "unchanged",
        "hook:claude": "refused",
        "hook:codex": "applied",
        "skill:claude": "applied",
        "skill:codex": None,
    }
    assert "a comment" in found["hook:claude"]["detail"]
    assert (claude / "settings.json").read_text() == "{ // mine\n}"
    assert (claude / "skills/whisk/SKILL.md").read_text().startswith("---\nname: whisk\n")
    assert apply(call, "skill:claude")["skill:claude"]["result"] == "unchanged"
    assert not call("GET", "/v1/onboarding").json["shouldShow"] or not (tmp_path / ".codex/skills").exists()


def test_an_unknown_item_is_refused_before_anything_is_applied(call: Any, claude: Path) -> None:
    answer = call("POST", "/v1/onboarding/apply", {"itemIds": ["skill:claude", "skill:vim"]})
    assert (answer.status, "skill:codex" in answer.json["error"]) == (400, True)
    assert list(claude.iterdir()) == []


def test_a_skill_that_somebody_changed_is_not_suggested_and_kept_when_replaced(call: Any, claude: Path) -> None:
    apply(call, "skill:claude")
    file = claude / "skills/whisk/SKILL.md"
    shipped = file.read_text()
    file.write_text("mine")
    found = items(call("GET", "/v1/onboarding"))["skill:claude"]
    assert (found["status"], found["selectedByDefault"]) == ("modified", False)
    apply(call, "skill:claude")
    assert (file.read_text(), (file.parent / "SKILL.md.whisk-backup").read_text()) == (shipped, "mine")


def test_a_skill_of_an_older_whisk_is_outdated(call: Any, claude: Path, parts: dict[str, Any]) -> None:
    apply(call, "skill:claude")
    file = claude / "skills/whisk/SKILL.md"
    manifest = file.parents[3] / ".config/whisk/agent-hooks/manifest.json"
    found = items(call("GET", "/v1/onboarding"))["skill:claude"]
    file.write_text("the text of an older whisk")
    from whisk.hooks.install.plan import digest

    manifest.write_text(manifest.read_text().replace(found["hash"], digest("the text of an older whisk")))
    assert items(call("GET", "/v1/onboarding"))["skill:claude"]["status"] == "outdated"


def test_skills_are_listed_from_what_was_found_last_until_they_are_looked_for_anew(call: Any, claude: Path) -> None:
    listed = call("GET", "/v1/skills").json
    assert [(each["name"], each["sourceKind"]) for each in listed["skills"]] == [("whisk", "bundled")]
    assert [each["id"] for each in listed["sources"]] == ["bundled", "codex", "codex-plugins", "claude", "agents"]
    (claude / "skills/review").mkdir(parents=True)
    (claude / "skills/review/SKILL.md").write_text("# Review\n")
    assert call("GET", "/v1/skills").json == listed
    anew = call("POST", "/v1/skills/rescan", {}).json
    assert [each["name"] for each in anew["skills"]] == ["whisk", "review"]
    assert call("GET", "/v1/skills").json == anew


def test_skills_of_a_project_are_those_in_its_folder(call: Any, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    (root / ".claude/skills/deploy").mkdir(parents=True)
    (root / ".claude/skills/deploy/SKILL.md").write_text("---\ndescription: Ship it.\n---\n")
    project = call("POST", "/v1/projects", {"name": "shop", "rootDir": str(root)}).json["id"]
    found = call("GET", f"/v1/skills?projectId={project}").json["skills"]
    assert [(each["name"], each.get("description")) for each in found][1:] == [("deploy", "Ship it.")]
    for query in ("projectId=proj_none", "sessionId=sess_none"):
        assert call("GET", f"/v1/skills?{query}").status == 404
