from __future__ import annotations

import json
from typing import Any

import gevent
import pytest

from whisk.http.reply import reply
from whisk.work.item import CreateWorkItem


@pytest.mark.parametrize("count", [0, 1, 500, 501, 2_300])
def test_a_list_of_any_length_is_one_json_array(count: int) -> None:
    records = [CreateWorkItem(project_id="proj_1", title=f"T{number}") for number in range(count)]
    sent = json.loads(_body(reply(records, 200)))
    assert [each["title"] for each in sent] == [f"T{number}" for number in range(count)]


def test_others_have_their_turn_while_a_long_list_is_encoded() -> None:
    turns = 0

    def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            gevent.sleep(0.00001)

    beside = gevent.spawn(other)
    reply([CreateWorkItem(project_id="proj_1", title="T")] * 5_000, 200)
    beside.kill()
    assert turns > 3


def _body(response: Any) -> bytes:
    body = response.body
    return body if isinstance(body, bytes) else b"".join(body)
