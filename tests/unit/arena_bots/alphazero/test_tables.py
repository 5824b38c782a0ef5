"""The tree of the fourth source: its formulas, its statistics, and which nodes are dropped."""

from __future__ import annotations

from math import exp, sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.layout import layout_of, words_of
from arena_bots.alphazero.train.games import new_lanes
from arena_bots.alphazero.train.selfplay import SelfPlaySettings
from arena_bots.alphazero.train.table_play import (
    SearchTables,
    TablePlay,
    fill,
    find,
    new_rollouts,
    new_table,
    prune,
    walk,
)
from arena_bots.search.lockstep.forest import new_leaves
from game_samples import make
from plain_trees import WaveNet, random_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.games.k_in_a_row import KInARow, KInARowState

SCALES = (1.0, 2.0, 1.0, 0.5)
NET = WaveNet(7)
PLAN = SelfPlaySettings(
    search="table",
    simulations=12,
    small=1,
    full_share=1.0,
    considered=2,
    c_puct=0.0,
    noise=0.0,
    ending_cells=0,
    opening_plies=0,
    random_plies=0,
    random_chance=0.0,
    result_share=1.0,
    moves=1,
)


def logits_of(cells: Sequence[int], player: int) -> list[float]:
    board = np.array(cells).reshape(1, 6, 7)
    planes = [board == 1 + player, board == 2 - player, np.full_like(board, player == 0)]
    return NET(np.stack(planes, axis=1).astype(np.float32))[0][0].tolist()


class PlainTable:
    """The same search with statistics in dictionaries."""

    def __init__(self, noise: list[float]) -> None:
        self.noise = noise
        self.visits: dict[tuple[int, ...], dict[int, int]] = {}
        self.total: dict[tuple[int, ...], dict[int, float]] = {}

    def rollout(self, state: KInARowState, made: int) -> None:
        path: list[tuple[KInARowState, int]] = []
        while not state.is_terminal:
            action = self._select(state, is_root=not path, made=made)
            path.append((state, action))
            state = state.child(action)
        for before, action in path:
            self.visits[before.cells][action] += 1
            self.total[before.cells][action] += state.returns[before.current_player]

    def _select(self, state: KInARowState, *, is_root: bool, made: int) -> int:
        visits = self.visits.setdefault(state.cells, dict.fromkeys(state.legal_actions, 0))
        total = self.total.setdefault(state.cells, dict.fromkeys(state.legal_actions, 0.0))
        logits = logits_of(state.cells, state.current_player)
        weights = {action: exp(logits[action]) for action in state.legal_actions}
        a, b, c, d = SCALES

        def worth(action: int) -> float:
            count = visits[action]
            found = b * weights[action] / sum(weights.values()) / (1 + count)
            if count:
                found += a * total[action] / count
            if is_root:
                found += c * self.noise[action] / (1 + count)
                found += d * sqrt(made) / count if count else 1e6
            return found

        return max(state.legal_actions, key=worth)


def rolled(states: list[KInARowState], noise: list[float], rollouts: int) -> SearchTables:
    game = make("connect-four")
    layout = layout_of(game)
    assert layout is not None
    lanes = len(states)
    table, under_way = new_table(lanes, 1 << 11, 7), new_rollouts(lanes, 7, game.max_length)
    leaves = new_leaves(lanes, 7, game.max_length)
    words = [words_of(state) for state in states]
    own, opp = (np.array([pair[side] for pair in words]) for side in (0, 1))
    under_way.own[:], under_way.opp[:], under_way.noise[:] = own, opp, noise
    while True:
        walk(table, under_way, leaves, layout, own, opp, rollouts, SCALES)
        if not leaves.waits.any():
            return table
        for lane in np.flatnonzero(leaves.waits).tolist():
            leaves.logits[lane] = logits_of(*placed(game, int(leaves.own[lane]), int(leaves.opp[lane])))
        fill(table, leaves, layout)


def placed(game: KInARow, own: int, opp: int) -> tuple[list[int], int]:
    """Return the cells and the player to move of a position given as bit boards."""
    player = int(own.bit_count() != opp.bit_count())
    first, second = (opp, own) if player else (own, opp)
    return [(first >> bit & 1) + 2 * (second >> bit & 1) for bit in game.board.bits], player


def test_it_is_what_the_formulas_say() -> None:
    game = make("connect-four")
    states = [game.initial_state(), *random_states(game, 5, seed=4)]
    noise = [0.3, 0.05, 0.1, 0.2, 0.05, 0.2, 0.1]
    table = rolled(states, noise, 30)
    for lane, state in enumerate(states):
        plain = PlainTable(noise)
        for made in range(30):
            plain.rollout(state, made)
        assert table.size[lane] == len(plain.visits)
        entry = find(table, lane, *words_of(state))
        for action, count in plain.visits[state.cells].items():
            assert table.visits[lane, entry, action] == count
            assert table.total[lane, entry, action] == pytest.approx(plain.total[state.cells][action])
        for action in state.legal_actions:
            child = state.child(action)
            if child.cells in plain.visits:
                below = find(table, lane, *words_of(child))
                assert table.visits[lane, below].sum() == sum(plain.visits[child.cells].values())


def test_only_what_can_be_reached_is_kept() -> None:
    game = make("connect-four")
    state = game.initial_state()
    table = rolled([state], [1 / 7] * 7, 60)
    after = state.child(3).child(3)
    pruned = new_table(1, 1 << 11, 7)
    own, opp = words_of(after)
    prune(table, pruned, np.array([own]), np.array([opp]))
    assert 0 < pruned.size[0] < table.size[0]
    taken = pruned.own[0] != np.uint64(2**64 - 1)
    assert taken.sum() == pruned.size[0]
    for mine, theirs in zip(pruned.own[0, taken].tolist(), pruned.opp[0, taken].tolist(), strict=True):
        even = (mine | theirs).bit_count() % 2 == 0
        first, second = (mine, theirs) if even else (theirs, mine)
        assert first & int(own) == int(own)
        assert second & int(opp) == int(opp)
    entry, old = find(pruned, 0, own, opp), find(table, 0, own, opp)
    assert (pruned.visits[0, entry] == table.visits[0, old]).all()


def test_matches_are_played_to_the_end() -> None:
    game = make("connect-four")
    lanes = new_lanes(5, 7, game.max_length)
    harvest = TablePlay(game, PLAN, 5).go_on(NET, lanes, np.random.default_rng(1))
    assert len(harvest.matches) == 5
    assert len(harvest.samples.own) == sum(len(match.actions) for match in harvest.matches)
    for match in harvest.matches:
        state = game.initial_state()
        for action in match.actions:
            state = state.child(action)
        assert state.is_terminal
        assert state.returns[0] == match.outcome
    assert harvest.samples.policies.sum(axis=1) == pytest.approx(np.ones(len(harvest.samples.own)), abs=0.01)
    assert set(np.unique(harvest.samples.chances)) <= {0, 1}
    assert not lanes.ply.any()
