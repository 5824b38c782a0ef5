"""Measures nets: evaluations per second of CPU by batch size, and self-play, beside PyTorch in eager mode.

python benchmarks/net_speed.py
python benchmarks/net_speed.py --net 4x48 --game connect-four --rounds 5
python benchmarks/net_speed.py --alpha-zero-general CLONE
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from peers import alpha_zero_general

from arena.games.notation import spec_of
from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train.integers import quantised
from arena_bots.alphazero.train.nets import Design, Shape, new_net
from arena_bots.alphazero.train.onnx_file import to_onnx
from arena_bots.alphazero.train.players import rng_of
from arena_bots.alphazero.train.selfplay import SelfPlay, SelfPlaySettings
from arena_bots.alphazero.train.torch_net import TorchNet
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_bots.search.lockstep.batches import Net
    from arena_plugins import Game

BATCHES = (1, 8, 64, 256)
SIMULATIONS = 100


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--game", default="gomoku:k=4,size=6")
    parser.add_argument("--net", default="article", help="article, or blocks and filters as in 4x48")
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds; the result is the median")
    parser.add_argument(
        "--alpha-zero-general",
        type=Path,
        metavar="CLONE",
        help="also measure its self-play on 6x6, alternating with ours",
    )
    parser.add_argument(
        "--moves",
        type=int,
        default=1,
        help="moves of each match in a measurement of self-play",
    )
    parser.add_argument("--lanes", type=int, default=128, help="matches of self-play in parallel")
    parser.add_argument("--least", type=float, default=0.2, help="minimum CPU seconds of one measurement")
    chosen = parser.parse_args()
    # With two threads on a busy machine, ONNX Runtime is hundreds of times slower.
    torch.set_num_threads(1)
    game = load_game(chosen.game)
    planes = 4 if chosen.net == "article" else 3
    made = new_net(
        Design(chosen.net, chosen.net != "article"), Shape(planes, *game.shape, game.num_actions), 1
    )
    model = to_onnx(made, str(spec_of(game)))
    onnx = OnnxNet(model, game)
    eager = TorchNet(made, "cpu", is_half=False)
    nets: dict[str, Net] = {"onnx": onnx, "int8": OnnxNet(quantised(model), game), "torch": eager}
    sides: dict[str, Callable[[], int]] = {}
    for batch in BATCHES:
        sides |= {f"{name}_{batch}": evaluator(net, game, batch) for name, net in nets.items()}
    sides["selfplay"] = player(onnx, game, "puct", chosen.lanes, chosen.moves)
    sides["selfplay_gumbel"] = player(onnx, game, "gumbel", chosen.lanes, chosen.moves)
    sides["selfplay_torch_alone"] = player(eager, game, "puct", 1, chosen.moves)
    alone = ["selfplay_torch_alone"]
    if chosen.alpha_zero_general:
        sides["alpha_zero_general"] = alpha_zero_general.player(chosen.alpha_zero_general, eager, SIMULATIONS)
        alone.append("alpha_zero_general")
    turns = [{name: rate(side, chosen.least) for name, side in sides.items()} for _ in range(chosen.rounds)]
    ratios = {str(batch): (f"onnx_{batch}", f"torch_{batch}") for batch in BATCHES}
    ratios |= {f"int8_{batch}": (f"int8_{batch}", f"torch_{batch}") for batch in BATCHES}
    for ours in ("selfplay", "selfplay_gumbel"):
        ratios |= {ours if peer == alone[0] else f"{ours}_to_{peer}": (ours, peer) for peer in alone}
    figures: dict[str, object] = {
        "benchmark": "net_speed",
        "game": chosen.game,
        "net": chosen.net,
        "greatest_difference": difference(onnx, eager, game),
        "per_cpu_s": {name: round(statistics.median(turn[name] for turn in turns), 1) for name in sides},
        "ratio": {
            name: round(statistics.median(turn[ours] / turn[theirs] for turn in turns), 2)
            for name, (ours, theirs) in ratios.items()
        },
    }
    print(json.dumps(figures))


def boards(net: Net, game: Game, batch: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return random boards."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 2, (batch, net.planes, *game.shape)).astype(np.float32)


def evaluator(net: Net, game: Game, batch: int) -> Callable[[], int]:
    """Return a function that evaluates a batch."""
    planes = boards(net, game, batch)

    def evaluate() -> int:
        net(planes)
        return batch

    return evaluate


def player(net: Net, game: Game, search: str, lanes: int, moves: int) -> Callable[[], int]:
    """Return a function that plays for a while against itself and returns the number of its positions."""
    full = SIMULATIONS if search == "puct" else 64
    plan = SelfPlaySettings(
        search=search,
        simulations=full,
        small=16,
        full_share=1.0 if search == "puct" else 0.25,
        considered=16,
        c_puct=1.5,
        noise=0.25,
        ending_cells=0,
        opening_plies=0,
        random_plies=0,
        random_chance=0.0,
        result_share=1.0,
        moves=moves,
    )
    playing = SelfPlay(game, net, plan, lanes)
    steps = iter(range(10**9))

    def play() -> int:
        playing.go_on(net, playing.lanes, rng_of(1, next(steps), 0))
        return lanes * moves

    return play


def difference(one: Net, other: Net, game: Game) -> float:
    """Return the largest difference in any output."""
    planes = boards(one, game, 1000)
    return float(max(np.abs(a - b).max() for a, b in zip(one(planes), other(planes), strict=True)))


def rate(side: Callable[[], int], least_s: float) -> float:
    """Return the work that `side` does per second of CPU, measured over at least `least_s` of them."""
    side()
    begin, done = time.process_time(), 0
    while time.process_time() - begin < least_s:
        done += side()
    return done / (time.process_time() - begin)


if __name__ == "__main__":
    main()
