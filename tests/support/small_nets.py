"""Random nets for tests, as files that the bot `alphazero` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.games.notation import spec_of
from arena_bots.alphazero.train.nets import Design, Shape, new_net
from arena_bots.alphazero.train.onnx_file import to_onnx
from game_samples import make

if TYPE_CHECKING:
    from pathlib import Path


def small_model(spec: str, *, trunk: str = "1x4", planes: int = 3, by_cell: bool = False) -> bytes:
    """Return an untrained net."""
    game = make(spec)
    logits = game.shape[0] * game.shape[1] if by_cell else game.num_actions
    net = new_net(Design(trunk, wdl=True), Shape(planes, *game.shape, logits), 1)
    return to_onnx(net, str(spec_of(game)))


def small_weights(spec: str, folder: Path) -> str:
    """Write an untrained net; return the spec of the bot that plays with it, without options."""
    path = folder / f"{spec.partition(':')[0]}.onnx"
    path.write_bytes(small_model(spec))
    return f"alphazero:weights={path}"
