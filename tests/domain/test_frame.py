import base64
import json

import pytest

from whisk.errors import InvalidError
from whisk.terminal.frame import ServerFrame, output_frame, read_client_frame, read_output_frame, text_frame
from whisk.terminal.screen import Screen


def test_a_binary_frame_is_a_one_an_offset_and_the_bytes() -> None:
    frame = output_frame("pty_1", 2**40 + 7, b"\x00\xffhi", binary=True)
    assert frame == b"\x01" + (2**40 + 7).to_bytes(8, "big") + b"\x00\xffhi"
    assert read_output_frame(frame) == (2**40 + 7, b"\x00\xffhi")


def test_a_text_frame_carries_base64_and_names_the_terminal() -> None:
    frame = json.loads(output_frame("pty_1", 0, b"\xff", binary=False))
    assert frame == {
        "type": "output",
        "ptyId": "pty_1",
        "offset": 0,
        "outputBase64": base64.b64encode(b"\xff").decode(),
    }


def test_a_viewer_that_was_skipped_forward_is_told() -> None:
    assert json.loads(output_frame("pty_1", 90, b"x", binary=False, skipped=80))["skipped"] == 80


def test_exit_error_and_snapshot_frames_carry_only_what_they_mean() -> None:
    assert json.loads(text_frame(ServerFrame(type="exit", pty_id="p", code=0))) == {
        "type": "exit",
        "ptyId": "p",
        "code": 0,
    }
    snapshot = json.loads(
        text_frame(ServerFrame(type="snapshot", pty_id="p", terminal_snapshot=Screen(2, 1).snapshot()))
    )
    assert snapshot["terminalSnapshot"]["cursor"] == {"x": 0, "y": 0}


def test_input_is_read_and_unknown_fields_are_ignored() -> None:
    frame = read_client_frame('{"type":"input","ptyId":"p","data":"ls\\r","new":1}')
    assert (frame.type, frame.data) == ("input", "ls\r")
    assert read_client_frame('{"type":"resize","cols":80,"rows":24}').cols == 80


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"type":5}', '{"type":"input","data":7}', b"\xff"])
def test_what_is_no_client_frame_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidError):
        read_client_frame(text)


def test_a_short_binary_frame_is_refused() -> None:
    with pytest.raises(InvalidError):
        read_output_frame(b"\x01123")
