"""Measures weights of `keras`: against random play, on labelled positions, and exactly in a small game.

    python benchmarks/keras_strength.py connect-four best --matches 10000 --positions dev.npz
    python benchmarks/keras_strength.py tic-tac-toe article
    python benchmarks/keras_strength.py gomoku:size=6,k=4 mine.onnx --matches 5000

All matches start from the empty board and advance together, so the network evaluates one batch per ply;
actions are chosen as the bot chooses them. Prints one JSON line: wins, draws and losses by colour, with 95 %
intervals of the wins (Wilson, 1927). With --note the figures are added to the provenance of the weights.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from labelled.positions import load
from move_quality import figures, play, wilson

from arena_bots.keras_wdl.bot import KerasBot, Network, load_network, shipped
from arena_bots.keras_wdl.encoding import worth_of
from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.lockstep import against_random
from arena_bots.keras_wdl.train.replies import exact_chances
from arena_plugins import Limit, load_game

if TYPE_CHECKING:
    from labelled.positions import Positions
    from numpy.typing import NDArray

    from arena_plugins import Game

    Figures = dict[str, Any]

_SIDES = ("first", "second")
_SMALL = 9
"""Largest number of cells of a game that is played against every reply."""
_SAMPLE = 500
"""Number of positions that tests repeat."""
_FEW = 50


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", default="connect-four")
    parser.add_argument("weights", nargs="?", default="best", help="a recipe or a file of weights")
    parser.add_argument("--matches", type=int, default=_FEW, help="on each side")
    parser.add_argument("--positions", type=Path, help="file of dev_set.py")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--note", action="store_true")
    chosen = parser.parse_args()
    game = load_game(chosen.game)
    path = Path(chosen.weights) if chosen.weights.endswith(".onnx") else shipped(game, chosen.weights)
    network = load_network(path, game)
    tables: dict[str, Figures] = {}
    if game.max_length <= _SMALL:
        tables |= exactly(network, game)
    else:
        tables |= against(network, game, chosen.matches, chosen.seed)
    if chosen.positions:
        tables["quality"] = quality(path, load(chosen.positions))
    print(json.dumps({"benchmark": "keras_strength", "game": chosen.game, "weights": path.name, **tables}))
    if chosen.note:
        note(path.with_suffix(".provenance.toml"), tables)


def against(network: Network, game: Game, matches: int, seed: int) -> dict[str, Figures]:
    """Play matches against random play."""
    rules = ArrayRules(game)

    def judge(mine: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.float32]:
        planes = np.ascontiguousarray(rules.planes(mine, other).transpose(0, 3, 1, 2))
        return worth_of(network.chances(planes))

    tallies = against_random(rules, judge, matches, np.random.default_rng(seed))
    tables: dict[str, Figures] = {}
    for side, (wins, draws, losses) in zip(_SIDES, tallies, strict=True):
        low, high = (round(100 * bound, 2) for bound in wilson(wins, matches))
        percent = round(100 * wins / matches, 2)
        counts = {"matches": matches, "wins": wins, "draws": draws, "losses": losses}
        tables[f"random_{side}"] = {**counts, "win_percent": percent, "win_low": low, "win_high": high}
    return tables


def exactly(network: Network, game: Game) -> dict[str, Figures]:
    """Follow every reply."""
    tables: dict[str, Figures] = {}
    for player, side in enumerate(_SIDES):
        wins, draws, losses = exact_chances(KerasBot(network, game, 0), game, player)
        tables[f"random_{side}"] = {
            "is_exact": True,
            "win_percent": round(100 * wins, 3),
            "draw_percent": round(100 * draws, 3),
            "loss_percent": round(100 * losses, 3),
        }
    return tables


def quality(path: Path, positions: Positions) -> Figures:
    """Measure how often the bot chooses well, on all positions and on the first of them."""
    found: Figures = {}
    for prefix, some in (("", positions), ("sample_", positions.first(_SAMPLE))):
        told: Any = figures(some, play(f"keras:weights={path}", some, Limit()))
        found |= {
            f"{prefix}positions": told["all"]["n"],
            f"{prefix}all": told["all"]["percent"],
            f"{prefix}decisive": told["decisive"]["percent"],
        }
        if not prefix:
            found |= {"all_low": told["all"]["low"], "all_high": told["all"]["high"]}
            found |= {name: one["percent"] for name, one in told["strata"].items()}
    return found


def note(path: Path, tables: dict[str, Figures]) -> None:
    """Write tables into a provenance, in place of earlier ones."""
    blocks = path.read_text("utf-8").rstrip().split("\n\n")
    kept = [block for block in blocks if not any(block.startswith(f"[{name}]") for name in tables)]
    for name, values in tables.items():
        kept.append(
            "\n".join([f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())])
        )
    path.write_text("\n\n".join(kept) + "\n", "utf-8")


if __name__ == "__main__":
    main()
