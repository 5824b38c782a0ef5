from __future__ import annotations

import random
import sys
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from arena.errors import PluginError
from arena.schedules.swiss import pair_off

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Edge = tuple[int, int]


def _all_ways(bots: Sequence[int]) -> Iterator[list[Edge]]:
    if not bots:
        yield []
    for at in range(1, len(bots)):
        for rest in _all_ways([*bots[1:at], *bots[at + 1 :]]):
            yield [(bots[0], bots[at]), *rest]


def _cost(costs: dict[Edge, tuple[int, ...]], way: Sequence[Edge]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*(costs[edge] for edge in way), strict=True)))


@pytest.mark.parametrize("num", [2, 4, 6, 8])
def test_no_other_way_costs_less(num: int) -> None:
    rng = random.Random(num)  # noqa: S311 - no secret
    ways = list(_all_ways(range(num)))
    for _ in range(25):
        # Few values in the first digit, so that the later digits decide; large values there, which must not
        # carry over.
        costs = {
            edge: (rng.randrange(2), rng.randrange(3), rng.randrange(40) ** 2, rng.getrandbits(32))
            for edge in combinations(range(num), 2)
        }
        found = pair_off(costs)
        assert len(found) == num // 2
        assert _cost(costs, sorted(found)) == min(_cost(costs, way) for way in ways)


def test_an_earlier_entry_outweighs_any_sum_of_later_ones() -> None:
    # 0-1 and 2-3 cost one more in the first digit, the two others the most in the last.
    costs: dict[Edge, tuple[int, ...]] = dict.fromkeys(combinations(range(4), 2), (0, 1000))
    costs[0, 1] = (1, 0)
    costs[2, 3] = (0, 0)
    assert pair_off(costs) in ({(0, 2), (1, 3)}, {(0, 3), (1, 2)})


def test_only_listed_pairs_meet() -> None:
    assert pair_off({(0, 1): (5,), (1, 2): (0,), (2, 3): (5,)}) == {(0, 1), (2, 3)}
    assert pair_off({}) == set()


def test_without_networkx_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(PluginError, match=r"needs networkx: pip install 'bot-arena\[events\]'"):
        pair_off({(0, 1): (0,)})
