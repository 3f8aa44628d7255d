"""Reading an event stream in whatever pieces it arrives."""

from __future__ import annotations

from whisk.cli.feed import Message, read_messages

STREAM = (
    b": whisk\n\nid: 7\n\n: still here\n\n"
    b'id: 8\nevent: mailbox.changed\ndata: {"type":"mailbox.changed","seq":8}\n\n'
    b"event: missed\ndata: {}\n\n"
    b'data: {"text":"caf\xc3\xa9"}\nid: 9\n\nid: 10\ndata: {"cut'
)
MESSAGES = [
    Message("7", "message", None),
    Message("8", "mailbox.changed", {"type": "mailbox.changed", "seq": 8}),
    Message(None, "missed", {}),
    Message("9", "message", {"text": "caf\u00e9"}),
]


def test_a_stream_is_read_whole_and_what_is_cut_off_is_dropped() -> None:
    assert list(read_messages(iter([STREAM]))) == MESSAGES


def test_a_stream_cut_anywhere_gives_the_same_messages() -> None:
    for cut in range(len(STREAM)):
        assert list(read_messages(iter([STREAM[:cut], STREAM[cut:]]))) == MESSAGES
    assert list(read_messages(bytes([byte]) for byte in STREAM)) == MESSAGES
