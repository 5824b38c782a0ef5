"""The ring buffer of positions, and the input planes of positions."""

from __future__ import annotations

import numpy as np
import pytest

from arena.games.kernels.layout import layout_of, words_of
from arena_bots.alphazero.train.buffer import Buffer, PositionEncoder, Window
from arena_bots.alphazero.train.games import Samples, no_samples
from game_samples import make
from plain_trees import random_states


def numbered(start: int, count: int) -> Samples:
    samples = no_samples(7, room=count)
    samples.own[:] = np.arange(start, start + count)
    return samples


def test_the_newest_are_drawn_and_the_window_grows() -> None:
    buffer = Buffer(Window(least=4, share=0.5, most=20), 7)
    sizes: list[int] = []
    for start in range(0, 60, 3):
        buffer.add(numbered(start, 3))
        sizes.append(buffer.size)
        drawn = buffer.draw(200, np.random.default_rng(start)).own
        assert set(drawn.tolist()) <= set(range(start + 3 - buffer.size, start + 3))
        assert len(set(drawn.tolist())) == buffer.size
    assert sizes[:5] == [3, 4, 4, 6, 7]
    assert sizes[-1] == 20


def test_it_goes_on_where_it_was() -> None:
    buffer, other = (Buffer(Window(least=8, share=0.6, most=10), 7) for _ in range(2))
    for start in range(0, 35, 7):
        buffer.add(numbered(start, 7))
    other.restore(buffer.snapshot(), buffer.seen)
    for one in (buffer, other):
        one.add(numbered(35, 2))
    drawn = [one.draw(50, np.random.default_rng(1)) for one in (buffer, other)]
    assert all((ours == theirs).all() for ours, theirs in zip(*drawn, strict=True))


@pytest.mark.parametrize("by_cell", [False, True])
@pytest.mark.parametrize("spec", ["connect-four", "gomoku:k=4,size=6"])
def test_a_symmetry_turns_board_and_policy_alike(spec: str, by_cell: bool) -> None:  # noqa: FBT001 # a parameter
    game = make(spec)
    layout = layout_of(game)
    assert layout is not None
    painter = PositionEncoder(game, layout, 4, by_cell=by_cell)
    rng = np.random.default_rng(1)
    for state in random_states(game, 12, seed=2):
        for number, symmetry in enumerate(game.symmetries):
            image = game.initial_state()
            for action in state.history:
                image = image.child(symmetry.actions[action])
            policy = np.zeros(game.num_actions)
            policy[list(state.legal_actions)] = rng.random(len(state.legal_actions))
            turned = np.zeros(game.num_actions)
            turned[list(symmetry.actions)] = policy
            pairs = ((state, policy, number), (image, turned, 0))
            one, other = (
                painter.paint(
                    Samples(
                        *(np.array([word], np.uint64) for word in (*words_of(at), at.last)),
                        policies=wanted[None].astype(np.float16),
                        weights=np.ones(1, np.float32),
                        chances=np.zeros((1, 3), np.float32),
                    ),
                    np.array([which]),
                )
                for at, wanted, which in pairs
            )
            assert all((ours == theirs).all() for ours, theirs in zip(one, other, strict=True))
            assert one.policies.sum() == pytest.approx(policy.sum(), abs=0.01)
            assert not one.policies[~one.legal].any()
            assert one.legal.sum() == len(state.legal_actions)
            cells = np.array(image.cells).reshape(game.shape)
            assert (one.planes[0, 0] == (cells == 1 + image.current_player)).all()
            assert one.planes[0, 2].sum() == min(len(state.history), 1)
