from whisk.terminal.osc import TitleReader


def test_the_title_and_the_folder_are_read_and_changes_reported_once() -> None:
    reader = TitleReader()
    assert reader.feed(b"x\x1b]0;build\x07y")
    assert not reader.feed(b"\x1b]2;build\x1b\\")
    assert reader.feed(b"\x1b]7;file://host/home/me/a%20b\x07")
    assert (reader.title, reader.directory) == ("build", "/home/me/a b")


def test_a_title_cut_anywhere_is_still_read() -> None:
    data = "before \x1b]0;caf\u00e9\x1b\\ after".encode()
    for cut in range(len(data)):
        reader = TitleReader()
        assert reader.feed(data[:cut]) | reader.feed(data[cut:])
        assert reader.title == "caf\u00e9"


def test_a_title_cannot_carry_controls_or_be_longer_than_its_limit() -> None:
    reader = TitleReader()
    reader.feed(b"\x1b]0;a\x01b\tc" + b"x" * 5000 + b"\x07")
    assert reader.title is not None
    assert reader.title.startswith("ab\tc")
    assert len(reader.title) <= 1024


def test_what_is_no_file_address_is_no_folder() -> None:
    reader = TitleReader()
    for text in ("https://h/x", "file://[", "relative", "file://h"):
        reader.feed(b"\x1b]7;" + text.encode() + b"\x07")
    assert reader.directory is None
