"""The bot `random` plays every legal action, all with equal probability."""

from __future__ import annotations

from collections import Counter

from arena_bots.random import RandomBot
from arena_plugins.contract import Limit
from game_samples import make


def test_draws_legal_actions_uniformly() -> None:
    game = make("connect-four")
    state = game.initial_state()
    for _ in range(6):
        state = state.child(2)
    bot = RandomBot(1)
    drawn = Counter(bot.play(state, Limit()).action for _ in range(6000))
    assert set(drawn) == {0, 1, 3, 4, 5, 6}
    # A chi-square variable with 5 degrees of freedom exceeds 20.5 with probability 0.001.
    assert sum((count - 1000) ** 2 / 1000 for count in drawn.values()) < 20.5
    assert bot.play(state, Limit()).policy == dict.fromkeys(state.legal_actions, 1 / 6)
