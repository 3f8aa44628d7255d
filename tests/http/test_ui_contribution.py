"""What plugins add: nothing, said in the form that clients read."""

from __future__ import annotations

from typing import Any


def test_the_scope_comes_back_and_no_plugin_with_it(call: Any) -> None:
    assert call("GET", "/v1/ui-contributions?projectId=p&phase=review").json == {
        "scope": {"projectId": "p", "phase": "review"}
    }
    assert call("GET", "/v1/ui-contributions").json == {"scope": {}}
