"""Notices over HTTP, and the page that their links open."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Caller
from whisk.ids import new_id


def test_without_addresses_nobody_is_notified_and_a_test_says_what_to_do(call: Caller) -> None:
    state = call("GET", "/v1/notify").json
    assert (state["enabled"], state["targets"]) == (False, [])
    answer = call("POST", "/v1/notify/test", {})
    assert answer.status == 400
    assert "[notify]" in answer.json["error"]


def test_a_link_opens_a_page_that_names_the_command_without_a_token(call: Caller) -> None:
    call.token = None
    id = new_id("appr")
    page = call("GET", f"/open/approval/{id}")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert f"whisk prompt show {id}".encode() in page.body


@pytest.mark.parametrize(
    "path", ["approval/x", "dreams/appr_01M8QCJ64SZ9249GZDMRHVN1AR", "approval/%3Cscript%3E", "prompt/a_1"]
)
def test_a_link_to_nothing_is_not_found(call: Caller, path: str) -> None:
    answer: Any = call("GET", f"/open/{path}")
    assert answer.status == 404
    assert answer.code == "not_found"
