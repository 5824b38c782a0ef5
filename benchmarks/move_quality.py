"""Measures how often bots choose good actions, on labelled Connect Four positions made by dev_set.py.

    python benchmarks/move_quality.py dev.npz minimax:depth=7 mcts:playouts=1000

A weakly optimal action keeps the outcome of best play, a strongly optimal one also wins fastest or loses
slowest; in decisive positions some action loses the outcome. Shares are percent, with 95 % intervals (Wilson,
1927); in `even` each of the six strata counts the same. Every position is played as a separate match, whose
seed is the number of the position. Without arguments it measures `minimax` on positions made for the run.
"""

from __future__ import annotations

import argparse
import json
import time
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from dev_set import GAME, sample
from labelled.positions import load

from arena_plugins import Limit, load_bot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labelled.positions import Positions
    from numpy.typing import NDArray

_Z = 1.959964
"""The 97.5 % quantile of the normal distribution."""


class Choices(NamedTuple):
    """The actions of a bot."""

    actions: NDArray[np.int64]
    """One action per position; `[n]`."""
    seconds: float
    """Elapsed seconds for all of them."""


def main() -> None:
    """Print one JSON line per bot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("positions", type=Path, nargs="?", help="file of dev_set.py")
    parser.add_argument("bots", nargs="*", default=["minimax"])
    parser.add_argument("--first", type=int, help="measure only so many positions")
    parser.add_argument("--seconds", type=float, help="time limit of one answer")
    chosen = parser.parse_args()
    positions = load(chosen.positions) if chosen.positions else sample()
    if chosen.first:
        positions = positions.first(chosen.first)
    for spec in chosen.bots:
        choices = play(spec, positions, Limit(seconds=chosen.seconds))
        line = {"benchmark": "move_quality", "bot": spec, **figures(positions, choices)}
        print(json.dumps(line), flush=True)


def play(spec: str, positions: Positions, limit: Limit) -> Choices:
    """Let a bot choose an action in each position."""
    bot = load_bot(spec, GAME, seed=0)
    actions: list[int] = []
    seconds = 0.0
    for index in range(len(positions.own)):
        state = positions.state(index, GAME)
        renew: Callable[[int], None] | None = getattr(bot, "new_match", None)
        if renew:
            renew(index)
        else:
            bot = load_bot(spec, GAME, seed=index)
        start = time.perf_counter()
        actions.append(bot.play(state, limit).action)
        seconds += time.perf_counter() - start
    return Choices(np.array(actions, np.int64), seconds)


def figures(positions: Positions, choices: Choices) -> dict[str, object]:
    """Return the shares over all positions, the decisive ones, and each stratum."""
    rows = np.arange(len(choices.actions))
    weak = positions.optimal[rows, choices.actions]
    strong = positions.best[rows, choices.actions]
    strata = np.array(positions.strata)
    parts = [weak[strata == name] for name in sorted(set(strata.tolist()))]
    return {
        "even": even(parts),
        "all": share(weak),
        "decisive": share(weak[positions.decisive]),
        "strong_all": share(strong),
        "strong_decisive": share(strong[positions.decisive]),
        "strata": {name: share(weak[strata == name]) for name in sorted(set(strata.tolist()))},
        "strata_decisive": {
            name: share(weak[(strata == name) & positions.decisive]) for name in sorted(set(strata.tolist()))
        },
        "ms_per_move": round(1000 * choices.seconds / max(len(rows), 1), 3),
    }


def share(good: NDArray[np.bool_]) -> dict[str, float]:
    """Return the share of trues in percent, its interval, and their number."""
    low, high = wilson(int(good.sum()), len(good))
    return {
        "percent": round(100 * float(good.mean()), 1) if len(good) else 0.0,
        "low": round(100 * low, 1),
        "high": round(100 * high, 1),
        "n": len(good),
    }


def even(parts: Sequence[NDArray[np.bool_]]) -> dict[str, float]:
    """Return the mean of the parts' shares in percent, equally weighted, with its normal interval."""
    shares = np.array([part.mean() for part in parts])
    sizes = np.array([len(part) for part in parts])
    half = _Z * sqrt(float((shares * (1 - shares) / sizes).sum())) / len(parts)
    mean = float(shares.mean())
    return {
        "percent": round(100 * mean, 2),
        "low": round(100 * (mean - half), 2),
        "high": round(100 * (mean + half), 2),
        "n": int(sizes.sum()),
    }


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share."""
    if not total:
        return 0.0, 1.0
    middle = (count + _Z**2 / 2) / (total + _Z**2)
    half = _Z * sqrt(count * (total - count) / total + _Z**2 / 4) / (total + _Z**2)
    return middle - half, middle + half


if __name__ == "__main__":
    main()
