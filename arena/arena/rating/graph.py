"""Comparability of bots: components of the graph of played matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Edges = Iterable[tuple[int, int]]


def components(met: Edges, num_bots: int) -> tuple[int, ...]:
    """Return the label of each bot's connected component, numbered by its first bot, `[num_bots]`."""
    edges = list(met)
    neighbours = _adjacency(num_bots, edges + [(b, a) for a, b in edges])
    labels = [-1] * num_bots
    seen: set[int] = set()
    for bot in range(num_bots):
        for member in _reach(neighbours, bot, seen):
            labels[member] = bot
    return _renumber(labels)


def strong_components(took: Edges, num_bots: int) -> tuple[int, ...]:
    """Return the label of each bot's strongly connected component, numbered by its first bot, `[num_bots]`.

    Args:
        took: pairs of a bot, and one that it took a point or half a point from. Inside a component, chains of
            such results lead from each bot to each other one, so results bound the gap from both sides.
        num_bots: number of bots.
    """
    edges = list(took)
    forward = _adjacency(num_bots, edges)
    backward = _adjacency(num_bots, [(b, a) for a, b in edges])
    # Kosaraju's algorithm (Sharir, 1981): in decreasing order of finishing time, the vertices that lead back
    # to a bot form its component.
    order: list[int] = []
    seen: set[int] = set()
    for bot in range(num_bots):
        order += _reach(forward, bot, seen)
    labels = [-1] * num_bots
    seen.clear()
    for bot in reversed(order):
        for member in _reach(backward, bot, seen):
            labels[member] = bot
    return _renumber(labels)


def reachable(took: Edges, num_parts: int) -> tuple[frozenset[int], ...]:
    """Return the parts that chains of results lead to from each part, itself included, `[num_parts]`."""
    neighbours = _adjacency(num_parts, list(took))
    return tuple(frozenset(_reach(neighbours, part, set())) for part in range(num_parts))


def _adjacency(num_bots: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    """Return the targets by source."""
    targets: list[list[int]] = [[] for _ in range(num_bots)]
    for source, target in edges:
        targets[source].append(target)
    return targets


def _reach(neighbours: list[list[int]], start: int, seen: set[int]) -> list[int]:
    """Return bots reached from `start` and not seen before, in order of finishing; mark them as seen."""
    finished: list[int] = []
    # A stack of its own: a chain of a thousand bots would exceed the recursion limit.
    stack = [(start, False)]
    while stack:
        bot, is_done = stack.pop()
        if is_done:
            finished.append(bot)
        elif bot not in seen:
            seen.add(bot)
            stack.append((bot, True))
            stack += [(other, False) for other in neighbours[bot] if other not in seen]
    return finished


def _renumber(labels: Sequence[int]) -> tuple[int, ...]:
    """Return the same components, numbered from 0 in order of their first bot."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(label, len(numbers)) for label in labels)
