"""The bot `quick`: plays random actions and reports nothing else, so matches cost only the arena's work."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from arena_plugins import PlayResult, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins import Game, Limit, State


class QuickBot:
    deterministic = True

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - play needs no secrets

    def new_match(self, seed: int) -> None:
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:  # noqa: ARG002 - one draw is always in time
        return PlayResult(self._random.choice(state.legal_actions))


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> QuickBot:  # noqa: ARG001 - it has no options
    return QuickBot(seed)
