"""The bot `random`: plays a uniformly random legal action."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from arena_plugins.contract import PlayResult
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import Game, Limit, State


class RandomBot:
    """Draws uniformly from the legal actions; a baseline for every rating table."""

    deterministic = True

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - not used for secrets

    def new_match(self, seed: int) -> None:
        """Begin a match in which all draws depend on `seed` only."""
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:  # noqa: ARG002 - one draw needs almost no time
        """Choose an action; the reported policy is uniform."""
        actions = state.legal_actions
        return PlayResult(self._random.choice(actions), policy=dict.fromkeys(actions, 1 / len(actions)))


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> RandomBot:  # noqa: ARG001 - required by pluggy
    """Make the bot; it has no options."""
    OptionReader("random", options).done()
    return RandomBot(seed)
