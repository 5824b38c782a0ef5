"""Self-play of alpha-zero-general, from a clone of its repository: it is in no package index."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena_bots.search.lockstep.batches import Net


class Judge:
    """A net with alpha-zero-general's interface: one board at a time, returning probabilities and a value."""

    def __init__(self, net: Net) -> None:
        self._net = net

    def predict(self, board: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], float]:
        """Evaluate a board, 1 for the side to move, -1 for the other; the last probability is the pass."""
        planes = np.zeros((1, self._net.planes, *board.shape), np.float32)
        planes[0, 0], planes[0, 1] = board == 1, board == -1
        logits, values = self._net(planes)
        shares = np.exp(logits[0] - logits[0].max())
        return np.append(shares / shares.sum(), 0.0), float(values[0])


def player(clone: Path, net: Net, simulations: int) -> Callable[[], int]:
    """Return a function that makes one self-play move at four in a row on 6x6, and returns 1.

    The tree is kept from move to move.
    """
    sys.path.insert(0, str(clone))
    game = load("gobang.GobangGame").GobangGame(6, 4)
    # alpha-zero-general calls `tostring`, which NumPy has removed.
    game.stringRepresentation = np.ndarray[Any, Any].tobytes
    search = load("MCTS").MCTS
    options = SimpleNamespace(numMCTSSims=simulations, cpuct=1.5)
    rng = np.random.default_rng(1)
    now: list[Any] = [game.getInitBoard(), 1, search(game, Judge(net), options)]

    def move() -> int:
        board, turn, tree = now
        shares = tree.getActionProb(game.getCanonicalForm(board, turn))
        board, turn = game.getNextState(board, turn, rng.choice(len(shares), p=shares))
        now[:2] = board, turn
        if game.getGameEnded(board, turn):
            now[:] = [game.getInitBoard(), 1, search(game, Judge(net), options)]
        return 1

    return move


def load(name: str) -> Any:  # noqa: ANN401 - the peer is optional and has no types
    """Import and return a module."""
    return importlib.import_module(name)
