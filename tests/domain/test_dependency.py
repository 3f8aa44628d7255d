from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from whisk.work.dependency import edges_of, find_cycles, find_path

_NODES = "abcdef"
_PAIRS = st.lists(st.sampled_from(list(product(_NODES, repeat=2))), max_size=14)


def reachable(pairs: list[tuple[str, str]], start: str) -> set[str]:
    """What can be reached from `start` in one step or more, the slow way."""
    found: set[str] = set()
    while True:
        more = {target for source, target in pairs if source == start or source in found} - found
        if not more:
            return found
        found |= more


def test_the_shortest_way_is_found() -> None:
    edges = edges_of([("a", "b"), ("b", "c"), ("c", "d"), ("a", "c")])
    assert find_path(edges, "a", "d") == ["a", "c", "d"]
    assert find_path(edges, "d", "a") == []
    assert find_path(edges, "a", "a") == ["a"]


@given(_PAIRS)
def test_a_way_is_found_where_there_is_one(pairs: list[tuple[str, str]]) -> None:
    edges = edges_of(pairs)
    for start, goal in product(_NODES, repeat=2):
        way = find_path(edges, start, goal)
        assert bool(way) == (start == goal or goal in reachable(pairs, start))
        assert all(step in pairs for step in pairwise(way))
        assert not way or (way[0], way[-1]) == (start, goal)


@given(_PAIRS)
def test_every_group_that_goes_round_gives_one_cycle(pairs: list[tuple[str, str]]) -> None:
    cycles = find_cycles(edges_of(pairs))
    reach = {node: reachable(pairs, node) for node in _NODES}
    groups = {
        frozenset(other for other in _NODES if other in reach[node] and node in reach[other])
        for node in _NODES
        if node in reach[node]
    }
    assert len(cycles) == len(groups)
    for cycle in cycles:
        assert all(step in pairs for step in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        assert len(set(cycle)) == len(cycle)
        assert any(set(cycle) <= group for group in groups)


def test_a_long_chain_and_a_long_ring_are_no_trouble() -> None:
    chain = [(str(number), str(number + 1)) for number in range(20_000)]
    assert find_cycles(edges_of(chain)) == []
    assert len(find_path(edges_of(chain), "0", "20000")) == 20_001
    [ring] = find_cycles(edges_of([*chain, ("20000", "0")]))
    assert len(ring) == 20_001
