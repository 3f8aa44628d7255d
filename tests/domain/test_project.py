from __future__ import annotations

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError, WhiskError
from whisk.values import decode, encode
from whisk.work.project import CreateProject, Project, new_project, slugify, take_number

NOW = Instant(1_800_000_000_000_000_000)


def project(**fields: str) -> Project:
    return new_project(CreateProject(**{"root_dir": "/srv/app", **fields}), project_id="proj_1", now=NOW)


def test_a_project_has_the_built_in_workflow_and_starts_numbering_at_one() -> None:
    made = project(name="My App")
    assert (made.name, made.slug, made.next_work_item_number) == ("My App", "my-app", 1)
    assert [stage.id for stage in made.workflow.stages] == [
        "backlog",
        "planning",
        "ready",
        "execution",
        "review",
        "blocked",
        "done",
    ]


def test_the_name_defaults_to_the_folder() -> None:
    assert project().name == "app"


@pytest.mark.parametrize(
    ("text", "slug"),
    [("My App_v2.1", "my-app-v2-1"), ("  a  b ", "a-b"), ("ÄÖÜ", ""), ("a/b\\c", "abc"), ("--x--", "x")],
)
def test_a_slug_is_safe_in_a_branch_name(text: str, slug: str) -> None:
    assert slugify(text) == slug


def test_a_name_without_a_letter_still_gets_a_slug() -> None:
    assert project(name="日本").slug == "project"


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"root_dir": "srv/app"}, "absolute"),
        ({"root_dir": ""}, "required"),
        ({"root_dir": "/"}, "project name required"),
        ({"name": "a\0b"}, "NUL"),
        ({"name": "\ud83d"}, "surrogate"),
        ({"workflow_id": "kanban"}, "kanban not found"),
    ],
)
def test_a_project_that_cannot_be_is_refused(fields: dict[str, str], part: str) -> None:
    with pytest.raises(InvalidError, match=part):
        project(**fields)


def test_a_long_name_is_refused() -> None:
    with pytest.raises(TooLargeError):
        project(name="a" * 513)


def test_numbers_are_taken_one_by_one() -> None:
    made, first = take_number(project(), NOW)
    made, second = take_number(made, NOW.plus(1))
    assert (first, second, made.next_work_item_number) == (1, 2, 3)
    assert made.updated_at == NOW.plus(1)


def test_the_record_survives_the_wire() -> None:
    made = project(name="App", description="what it is")
    assert decode(encode(made), Project) == made
    assert b'"preferences":{"autoRun":"never","autoWorktree":false}' in encode(made)


def test_preferences_of_a_wrong_kind_are_named() -> None:
    with pytest.raises(WhiskError, match=r"\$\.preferences\.autoRun"):
        decode(b'{"rootDir":"/a","preferences":{"autoRun":"sometimes","autoWorktree":false}}', CreateProject)
