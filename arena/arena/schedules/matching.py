"""The exact optimal pairing of all bots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.extras import require_modules

if TYPE_CHECKING:
    from collections.abc import Mapping

    Edge = tuple[int, int]


def pair_off(costs: Mapping[Edge, tuple[int, ...]]) -> set[Edge]:
    """Return the perfect matching with the least sum of costs, compared entry by entry.

    It is a maximum-weight matching of a general graph (Edmonds' blossom algorithm; see Galil, "Efficient
    algorithms for finding maximum matching in graphs", 1986). The entries become the digits of one integer,
    because with float weights the search may miss the optimum.

    Args:
        costs: cost of each permitted pair, lower number first; 0 or more, and equally many entries for all. A
            perfect matching must exist.

    Raises:
        PluginError: networkx is not installed.
    """
    require_modules("a Swiss tournament", "bot-arena[events]", "networkx")
    import networkx as nx

    num = len({bot for edge in costs for bot in edge})
    # A matching has num / 2 pairs, so no sum of one entry reaches its limit and carries into the next.
    limits = [max(entries) * num + 1 for entries in zip(*costs.values(), strict=True)]
    weights: dict[Edge, int] = {}
    for edge, entries in costs.items():
        weight = 0
        for entry, limit in zip(entries, limits, strict=True):
            weight = weight * limit + entry
        weights[edge] = weight
    most = max(weights.values(), default=0)
    graph: nx.Graph[int] = nx.Graph()
    for low, high in sorted(weights):
        graph.add_edge(low, high, weight=most - weights[low, high])
    return {(min(edge), max(edge)) for edge in nx.max_weight_matching(graph, maxcardinality=True)}
