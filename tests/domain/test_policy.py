"""Rules: narrow where they allow, wide where they deny, and the stronger one wins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.captured import NOW
from whisk.bridges.policy import Effect, Policy, PolicyDraft, judge, new_policy
from whisk.bridges.rule import allows, parse_rule, touches
from whisk.errors import InvalidError


def policy(effect: Effect, rule: str, **more: str) -> Policy:
    return new_policy(PolicyDraft(effect=effect, rule=rule, **more), NOW)


def verdict(
    policies: list[Policy], tool: str, tool_input: dict[str, Any], *, provider: str = "claude", project: str = ""
) -> str | None:
    found = judge(policies, provider, project, tool, tool_input, "/home/dev/project")
    return found.effect if found is not None else None


def bash(effect: Effect, rule: str, command: object) -> str | None:
    return verdict([policy(effect, rule)], "Bash", {"command": command})


@pytest.mark.parametrize(
    "command", ["git status", "git status -s", "git status --porcelain=v1 'a b'", ["git", "status", "-s"]]
)
def test_an_allowing_glob_matches_a_simple_command(command: object) -> None:
    assert bash("allow", "Bash(git status *)", command) == "allow"


@pytest.mark.parametrize(
    "tail",
    ["; rm -rf ~", " && id", " || id", " | sh", " & id", "$(id)", "`id`", " > f", " >> f", " < f", "\nid", "\rid",
     " <(id)", "; #", " ${IFS}x", " $'\\x3b'", " {a,b}", " (id)"],
)  # fmt: skip
@pytest.mark.parametrize("rule", ["Bash(git status *)", "Bash(git status*)", "Bash(git status:*)", "Bash(*)"])
def test_an_allowing_glob_never_matches_a_compound_command(rule: str, tail: str) -> None:
    assert bash("allow", rule, f"git status{tail}") is None


def test_the_bare_tool_allows_every_call_of_it() -> None:
    assert bash("allow", "Bash", "a && b") == "allow"


@pytest.mark.parametrize(
    ("rule", "command", "matches"),
    [
        ("Bash(npm run:*)", "npm run", True),
        ("Bash(npm run:*)", "npm run test -- -x", True),
        ("Bash(npm run:*)", "npm runaway", False),
        ("Bash(ls)", "ls", True),
        ("Bash(ls)", "ls -l", False),
        ("Bash(ls ?)", "ls x", True),
        ("Bash(git * main)", "git push origin main", True),
        ("Bash([a])", "a", False),
    ],
)
def test_a_glob_is_matched_whole_and_only_stars_and_marks_are_special(rule: str, command: str, matches: bool) -> None:
    assert (bash("allow", rule, command) == "allow") is matches


@pytest.mark.parametrize(
    "command",
    ["rm -rf x", "ls; rm -rf x", "cd a && rm x", "echo $(rm x)", "sudo rm x", "A=1 env B=2 rm x", "true\nrm x",
     "`rm x`", "if a; then rm x; fi", "(rm x)"],
)  # fmt: skip
def test_a_denying_glob_is_tried_against_every_command_of_a_line(command: str) -> None:
    assert bash("deny", "Bash(rm *)", command) == "deny"
    assert bash("ask", "Bash(rm *)", command) == "ask"


def test_deny_beats_ask_and_ask_beats_allow_in_any_order() -> None:
    rules = [policy("allow", "Bash"), policy("ask", "Bash(git *)"), policy("deny", "Bash(git push *)")]
    for order in (rules, rules[::-1]):
        assert verdict(order, "Bash", {"command": "git push"}) == "deny"
        assert verdict(order, "Bash", {"command": "git log"}) == "ask"
        assert verdict(order, "Bash", {"command": "ls"}) == "allow"
        assert verdict(order, "Read", {"file_path": "/x"}) is None


def test_the_verdict_names_the_rule_and_never_a_person() -> None:
    rule = policy("deny", "Bash(rm *)", reason="use trash instead")
    found = judge([rule], "claude", "", "Bash", {"command": "rm x"}, "/")
    assert found is not None
    assert found.policy.id == rule.id
    assert found.message() == f"Denied by the whisk rule Bash(rm *) ({rule.id}). use trash instead"


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("Read(/home/dev/**)", "/home/dev/a/b.txt", True),
        ("Read(/home/dev/*)", "/home/dev/a/b.txt", False),
        ("Read(/home/dev/**)", "/home/dev/../../etc/passwd", False),
        ("Read(src/**)", "/home/dev/project/src/a.py", True),
        ("Read(src/**)", "src/a.py", True),
        ("Read(src/**)", "src/../.env", False),
        ("Read(//etc/**)", "/etc/os-release", True),
        ("Read(**/.env)", "/home/dev/project/.env", True),
        ("Read(/home/dev/?)", "/home/dev/x", True),
    ],
)
def test_a_path_is_compared_after_its_dots_are_resolved(rule: str, path: str, matches: bool) -> None:
    assert (verdict([policy("allow", rule)], "Read", {"file_path": path}) == "allow") is matches
    assert (verdict([policy("deny", rule)], "Read", {"file_path": path}) == "deny") is matches


def test_a_patch_is_allowed_only_when_every_file_of_it_is() -> None:
    patch = "*** Begin Patch\n*** Add File: src/a\n+x\n*** Update File: /etc/b\n*** End Patch\n"
    call = ("apply_patch", {"command": patch})
    assert verdict([policy("allow", "apply_patch(src/**)")], *call, provider="codex") is None
    assert verdict([policy("deny", "apply_patch(/etc/**)")], *call, provider="codex") == "deny"
    assert verdict([policy("allow", "apply_patch(**)")], *call, provider="codex") == "allow"


@pytest.mark.parametrize("rule", ["mcp__github__*", "mcp__github"])
def test_a_rule_can_name_every_tool_of_a_server(rule: str) -> None:
    assert verdict([policy("allow", rule)], "mcp__github__list_issues", {}) == "allow"
    assert verdict([policy("allow", rule)], "mcp__githubber__x", {}) is None


def test_hosts_are_matched_by_domain() -> None:
    rule = [policy("allow", "WebFetch(domain:example.org)")]
    assert verdict(rule, "WebFetch", {"url": "https://docs.example.org/a"}) == "allow"
    assert verdict(rule, "WebFetch", {"url": "https://example.org.evil.test/"}) is None
    assert verdict(rule, "WebFetch", {"url": "https://evil.test/?example.org"}) is None


def test_an_unknown_tool_is_allowed_by_a_glob_only_when_it_has_one_text() -> None:
    rule = [policy("allow", "Teleport(home*)")]
    assert verdict(rule, "Teleport", {"to": "home", "speed": 3}) == "allow"
    assert verdict(rule, "Teleport", {"to": "home", "via": "hell"}) is None
    assert verdict([policy("deny", "Teleport(*hell)")], "Teleport", {"to": "home", "via": "hell"}) == "deny"


def test_a_rule_holds_only_for_its_provider_and_project() -> None:
    rules = [policy("deny", "Bash", provider="codex"), policy("allow", "Bash", project_id="proj_1")]
    assert verdict(rules, "Bash", {"command": "ls"}) is None
    assert verdict(rules, "Bash", {"command": "ls"}, provider="codex", project="proj_1") == "deny"
    assert verdict(rules, "Bash", {"command": "ls"}, project="proj_1") == "allow"


def test_whisks_own_tools_are_never_held_up() -> None:
    assert verdict([policy("deny", "*")], "mcp__whisk__mail_send", {}) is None
    assert verdict([policy("deny", "*")], "Bash", {"command": "x"}) == "deny"


@pytest.mark.parametrize(
    "rule", ["", " ", "Bash(", "Bash)", "(ls)", "Bash(ls) x", "a b", "mcp__s__t(x)", "Read(~/x)", "x\0", "é"]
)
def test_what_is_no_rule_is_refused_when_it_is_added(rule: str) -> None:
    with pytest.raises(InvalidError):
        policy("allow", rule)


def test_a_rule_for_an_unknown_provider_is_refused() -> None:
    with pytest.raises(InvalidError, match="known are claude, codex"):
        policy("allow", "Bash", provider="clod")


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.org./x",
        "https:/evil.org/x",
        "https:evil.org/x",
        "https:\\\\evil.org\\x",
        "https://EVIL.org",
        "https://%65vil.org/",
        "https://\uff45vil.org/",
        "https://x.org@evil.org/",
        "https://evil.org\\@x.org/",
        " https://evil.org/",
        "ht\ntps://ev\til.org/",
    ],
)
def test_a_host_cannot_hide_from_a_rule_in_how_its_address_is_written(url: str) -> None:
    call = ("WebFetch", {"url": url}, "/")
    assert touches(parse_rule("WebFetch(domain:evil.org)"), *call)
    assert not allows(parse_rule("WebFetch(domain:x.org)"), *call)


@pytest.mark.parametrize(
    "command",
    [
        "/bin/rm -rf x",
        "\\rm -rf x",
        '"rm" -rf x',
        "r''m -rf x",
        "sudo -n -u root rm -rf x",
        "env -i A=b rm x",
        "timeout -k 5 10 rm x",
        "ls | xargs -0 rm x",
        "find . -name x -exec rm {} +",
        "bash -lc 'rm -rf x'",
        "true && eval rm x",
    ],
)
def test_a_program_cannot_hide_from_a_denying_rule_behind_quotes_a_folder_or_what_starts_it(command: str) -> None:
    assert touches(parse_rule("Bash(rm *)"), "Bash", {"command": command}, "/")


@pytest.mark.parametrize("command", ["git rm x", "echo rm x", "grep 'rm x' notes", "./firm x", "sudo rmdir x"])
def test_a_denying_rule_does_not_take_every_word_for_a_program(command: str) -> None:
    assert not touches(parse_rule("Bash(rm *)"), "Bash", {"command": command}, "/")


@pytest.mark.parametrize("indent", [" ", "\t", "   "])
def test_a_file_of_a_patch_cannot_hide_behind_blanks_that_codex_overlooks(indent: str) -> None:
    patch = f"*** Begin Patch\n*** Add File: src/a\n+x\n{indent}*** Add File: /etc/b\n+y\n*** End Patch\n"
    call = ("apply_patch", {"command": patch})
    assert verdict([policy("allow", "apply_patch(src/**)")], *call, provider="codex") is None
    assert verdict([policy("deny", "apply_patch(/etc/**)")], *call, provider="codex") == "deny"


@pytest.mark.parametrize("rule", ["Read(*.pem)", "Read(id_?sa.pem)", "Read(keys/*)", "Read(**/keys/*.pem)"])
def test_a_denying_rule_that_names_no_folder_means_files_of_that_name_everywhere_and_an_allowing_one_only_here(
    rule: str,
) -> None:
    inside = {"file_path": "/home/dev/project/keys/id_rsa.pem"}
    assert verdict([policy("deny", rule)], "Read", inside) == "deny"
    outside = {"file_path": "/srv/id_rsa.pem"}
    assert verdict([policy("allow", rule)], "Read", outside) is None


def test_an_allowing_star_stays_in_the_folder_the_agent_works_in() -> None:
    assert verdict([policy("allow", "Read(*.md)")], "Read", {"file_path": "/home/dev/project/a.md"}) == "allow"
    assert verdict([policy("allow", "Read(*.md)")], "Read", {"file_path": "/home/dev/project/x/a.md"}) is None
    assert verdict([policy("allow", "Read(*.md)")], "Read", {"file_path": "/etc/a.md"}) is None


def test_the_name_of_the_folder_the_agent_works_in_is_no_part_of_the_glob() -> None:
    rule = parse_rule("Write(src/**)")
    assert allows(rule, "Write", {"file_path": "/home/**/src/a"}, "/home/**")
    assert not allows(rule, "Write", {"file_path": "/home/dev/.ssh/src/a"}, "/home/**")
    assert touches(rule, "Write", {"file_path": "/home/**/src/a"}, "/home/**")
