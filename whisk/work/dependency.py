"""Who waits for whom, as a graph: an edge leads from what must come first to what waits for it. All of it is linear."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping

Edges = Mapping[str, Collection[str]]


def edges_of(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source, target in pairs:
        found.setdefault(source, []).append(target)
    return found


def find_path(edges: Edges, start: str, goal: str) -> list[str]:
    """The shortest way from `start` to `goal`, both included; empty when there is none."""
    came_from: dict[str, str] = {start: ""}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here == goal:
            way = [here]
            while came_from[way[-1]]:
                way.append(came_from[way[-1]])
            return way[::-1]
        for there in edges.get(here, ()):
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    return []


def find_cycles(edges: Edges) -> list[list[str]]:
    """One cycle, as its nodes in order, for each group of nodes that can all reach each other."""
    found = []
    for group in _strong_groups(edges):
        start = min(group)
        within = {node: [other for other in edges.get(node, ()) if other in group] for node in group}
        if len(group) > 1 or start in within[start]:
            # The way back to the start from the first step away from it.
            ways = (find_path(within, step, start) for step in sorted(within[start]))
            found.append([start, *next(way for way in ways if way)[:-1]])
    return found


def _strong_groups(edges: Edges) -> Iterable[set[str]]:
    """Tarjan's strongly connected components, without recursion: a chain of items may be thousands long."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    for root in edges:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_nodes.append(root)
        is_open.add(root)
        stack = [(root, iter(edges.get(root, ())))]
        while stack:
            node, rest = stack[-1]
            step = next((other for other in rest if other not in number or other in is_open), None)
            if step is None:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == number[node]:
                    group: set[str] = set()
                    while node not in group:
                        group.add(open_nodes.pop())
                    is_open -= group
                    yield group
            elif step in number:
                low[node] = min(low[node], number[step])
            else:
                number[step] = low[step] = len(number)
                open_nodes.append(step)
                is_open.add(step)
                stack.append((step, iter(edges.get(step, ()))))
