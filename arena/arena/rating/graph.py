"""Who can be compared with whom: parts of the graph of played matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.model import Row


def components(rows: Sequence[Row], num_bots: int) -> tuple[int, ...]:
    """Label of each bot's connected part, numbered by its first bot, `[num_bots]`."""
    edges = [(row.first, row.second) for row in rows]
    neighbours = _adjacency(num_bots, edges + [(b, a) for a, b in edges])
    labels = [-1] * num_bots
    seen: set[int] = set()
    for bot in range(num_bots):
        for member in _reach(neighbours, bot, seen):
            labels[member] = bot
    return _renumber(labels)


def strong_components(rows: Sequence[Row], num_bots: int) -> tuple[int, ...]:
    """Label of each bot's strongly connected part, numbered by its first bot, `[num_bots]`.

    An edge leads from a bot to each that it took a point or half a point from: inside a part, chains of
    such results lead from each bot to each other one, so the gap rests on matches and not on the prior.
    """
    edges: list[tuple[int, int]] = []
    for row in rows:
        wins, draws, losses = row.outcomes
        edges += [(row.first, row.second)] * (wins + draws > 0)
        edges += [(row.second, row.first)] * (losses + draws > 0)
    forward = _adjacency(num_bots, edges)
    backward = _adjacency(num_bots, [(b, a) for a, b in edges])
    # Kosaraju: by decreasing finishing time, what leads back to a bot is in its part.
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


def _adjacency(num_bots: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    """Targets by source."""
    targets: list[list[int]] = [[] for _ in range(num_bots)]
    for source, target in edges:
        targets[source].append(target)
    return targets


def _reach(neighbours: list[list[int]], start: int, seen: set[int]) -> list[int]:
    """Bots reached from `start` and not seen before, in order of finishing; marks them as seen."""
    finished: list[int] = []
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
    """The same parts, numbered from 0 in order of their first bot."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(label, len(numbers)) for label in labels)
