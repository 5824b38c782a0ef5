"""The bot `three-plies`: the opponent that the TD(lambda) notebook meant to beat, a minimax of depth 3.

It plays a winning move, otherwise a move that forces a win on its next move, otherwise a random move that
does not lose at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.games.connect_four import ConnectFour
from arena.games.kernels.chance import seeded
from arena.games.kernels.layout import layout_of, words_of
from arena_bots.td_lambda.train.linear_kernels import choose_shallow
from arena_plugins import OptionError, PlayResult, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.games.kernels.layout import Layout
    from arena_plugins import Game, Limit, State


class ThreePlies:
    deterministic = True

    def __init__(self, layout: Layout, seed: int) -> None:
        self._layout = layout
        self._chance = seeded(seed)

    def new_match(self, seed: int) -> None:
        self._chance = seeded(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:  # noqa: ARG002 - three plies are always in time
        return PlayResult(int(choose_shallow(*words_of(state), self._layout, self._chance)))


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> ThreePlies:  # noqa: ARG001 - it has no options
    layout = layout_of(game)
    if layout is None or not isinstance(game, ConnectFour):
        raise OptionError(f"three-plies plays connect-four, not {game.name}")
    return ThreePlies(layout, seed)
