from hypothesis import given
from hypothesis import strategies as st

from whisk.terminal.ring import Ring


def test_offsets_are_absolute_and_the_oldest_bytes_go_first() -> None:
    ring = Ring(4)
    for part in (b"ab", b"cd", b"ef"):
        ring.append(part)
    assert (ring.start, ring.end) == (2, 6)
    assert ring.read(2) == (2, b"cdef", 0)


def test_a_reader_that_is_too_late_is_moved_forward_and_told_by_how_much() -> None:
    ring = Ring(4)
    ring.append(b"abcdefghij")
    assert ring.read(1) == (6, b"ghij", 5)


def test_a_reader_ahead_of_the_output_gets_nothing_at_its_end() -> None:
    ring = Ring(4)
    ring.append(b"ab")
    assert ring.read(99) == (2, b"", 0)


def test_a_ring_may_begin_at_any_offset() -> None:
    ring = Ring(10, start=1000)
    ring.append(b"abc")
    assert (ring.start, ring.end) == (1000, 1003)
    assert ring.read(0) == (1000, b"abc", 1000)


def test_bytes_written_one_by_one_do_not_cost_a_chunk_each() -> None:
    ring = Ring(256 * 1024)
    for _ in range(100_000):
        ring.append(b"x")
    assert len(ring._chunks) <= 100_000 // 4096 + 1


@given(
    capacity=st.integers(1, 9000),
    start=st.integers(0, 10**12),
    parts=st.lists(st.binary(max_size=6000), max_size=12),
    at=st.integers(-5, 20_000),
    limit=st.none() | st.integers(0, 10_000),
)
def test_a_ring_reads_like_the_tail_of_all_that_was_put_in(
    capacity: int, start: int, parts: list[bytes], at: int, limit: int | None
) -> None:
    ring = Ring(capacity, start)
    for part in parts:
        ring.append(part)
    whole = b"".join(parts)
    kept = max(0, len(whole) - capacity)
    assert (ring.start, ring.end) == (start + kept, start + len(whole))
    offset, data, skipped = ring.read(start + at, limit)
    begin = min(max(at, kept), len(whole))
    assert offset == start + begin
    assert data == whole[begin:][:limit]
    assert skipped == max(0, offset - max(0, start + at))
    assert sum(map(len, ring._chunks)) < capacity + max(4096, *(len(part) for part in parts), 0)
