"""The bot `minimax`, compared with minimax without pruning and with perfect replies, within its limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arena_bots import minimax
from arena_bots.minimax import MinimaxBot
from arena_bots.search.alphabeta import AlphaBeta
from arena_bots.search.budget import Budget
from arena_bots.search.lines import OpenLines, line_length
from arena_plugins.contract import Limit
from game_samples import lines_of_play, make

if TYPE_CHECKING:
    from arena_plugins.contract import Game, State

NO_LIMIT = Limit()
SMALL = {spec: make(spec) for spec in ("tic-tac-toe", "connect-four:cols=4,k=3,rows=4")}


class PlainMinimax:
    """Searches every continuation for player 0: results first, early wins and late losses, then points."""

    def __init__(self, game: Game) -> None:
        self._points = OpenLines(game.shape, line_length(game))

    def after_each(self, state: State, plies: int, distance: int = 1) -> dict[int, tuple[float, float]]:
        return {a: self._score(state.child(a), plies, distance) for a in state.legal_actions}

    def _score(self, state: State, plies: int, distance: int) -> tuple[float, float]:
        if state.is_terminal:
            return state.returns[0], -distance * state.returns[0]
        if not plies:
            return 0.0, self._points(state.cells)
        scores = self.after_each(state, plies - 1, distance + 1).values()
        return min(scores) if state.current_player else max(scores)


def check_against_plain(game: Game, state: State, plies: int) -> None:
    scores = PlainMinimax(game).after_each(state, plies)
    best = min(scores.values()) if state.current_player else max(scores.values())
    search = AlphaBeta(game)
    verdict = search.deepen(state, plies, Budget.of(NO_LIMIT))
    assert verdict is not None
    assert set(verdict.best) == {action for action, score in scores.items() if score == best}
    sign = -1 if state.current_player else 1
    expected = best[0] or math.tanh(best[1] / 4 ** max(line_length(game) - 1, 0))
    assert search.value(verdict.score) == pytest.approx(sign * expected, abs=1e-6)
    for action, line in verdict.best.items():
        check_line(state, action, line)
        assert len(line) <= plies + 1


def after(game: Game, *actions: int) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def check_line(state: State, action: int, line: tuple[int, ...]) -> None:
    assert line[0] == action
    for step in line:
        assert step in state.legal_actions
        state = state.child(step)


@settings(max_examples=60)
@given(st.sampled_from(sorted(SMALL)), st.data(), st.integers(0, 4))
def test_scores_and_best_actions_are_those_of_plain_minimax(
    spec: str, data: st.DataObject, plies: int
) -> None:
    game = SMALL[spec]
    state = data.draw(lines_of_play(game))[-1]
    assume(not state.is_terminal)
    check_against_plain(game, state, plies)


@settings(max_examples=30)
@given(st.data())
def test_full_depth_is_exact_in_tic_tac_toe(data: st.DataObject) -> None:
    game = SMALL["tic-tac-toe"]
    state = data.draw(lines_of_play(game))[-1]
    assume(not state.is_terminal and len(state.history) > 2)
    check_against_plain(game, state, 9)


@pytest.mark.parametrize("plies", range(7))
def test_a_game_whose_player_may_move_again(pile: Game, plies: int) -> None:
    check_against_plain(pile, pile.initial_state(), plies)


@pytest.mark.parametrize("side", [0, 1])
def test_never_loses_tic_tac_toe_whatever_is_replied_and_drawn(side: int) -> None:
    """Walk the whole tree: every reply, and every action that the bot may choose with any seed."""
    game = SMALL["tic-tac-toe"]
    bot = MinimaxBot(game, 1, depth=9)
    seen: set[tuple[int, ...]] = set()
    open_states = [game.initial_state()]
    while open_states:
        state = open_states.pop()
        if state.cells in seen:
            continue
        seen.add(state.cells)
        assert state.returns[side] >= 0
        if state.is_terminal:
            continue
        actions = state.legal_actions
        if state.current_player == side:
            policy = bot.play(state, NO_LIMIT).policy
            assert policy is not None
            actions = tuple(action for action, share in policy.items() if share)
        open_states += [state.child(action) for action in actions]
    assert len(seen) > 900


def test_wins_as_soon_and_loses_as_late_as_can_be() -> None:
    game = make("connect-four")
    first = MinimaxBot(game, 1).play(after(game, 3, 0, 3, 0, 3, 6), NO_LIMIT)
    assert (first.action, first.value, first.pv, first.text) == (3, 1, (3,), "wins in 1 ply")
    # Two open ends: whatever is played, the opponent wins.
    lost = after(game, 2, 2, 3, 3, 4)
    result = MinimaxBot(game, 1).play(lost, NO_LIMIT)
    assert result.value == -1
    assert result.text == "loses in 2 plies"
    assert result.policy == dict.fromkeys(range(7), 1 / 7)
    assert MinimaxBot(game, 1).play(game.initial_state(), NO_LIMIT).text is None


def test_all_openings_of_tic_tac_toe_are_equal() -> None:
    game = SMALL["tic-tac-toe"]
    verdict = AlphaBeta(game).deepen(game.initial_state(), 9, Budget.of(NO_LIMIT))
    assert verdict is not None
    assert verdict.score == 0
    assert set(verdict.best) == set(range(9))


@pytest.mark.parametrize("spec", ["tic-tac-toe", "pile"])
def test_ties_are_drawn_from_all_best_actions(spec: str, pile: Game) -> None:
    game = pile if spec == "pile" else SMALL[spec]
    state = game.initial_state() if spec == "pile" else after(game, 4, 0, 8)
    verdict = AlphaBeta(game).deepen(state, 9, Budget.of(NO_LIMIT))
    assert verdict is not None
    assert len(verdict.best) > 1 or spec == "pile"
    bot = MinimaxBot(game, 1, depth=9)
    results = [bot.play(state, NO_LIMIT) for _ in range(40)]
    assert {result.action for result in results} == set(verdict.best)
    policy = {a: 1 / len(verdict.best) if a in verdict.best else 0 for a in state.legal_actions}
    assert all(result.policy == policy for result in results)


def test_an_answer_tells_depth_nodes_and_expected_actions() -> None:
    game = make("connect-four")
    result = MinimaxBot(game, 1, depth=3).play(game.initial_state(), NO_LIMIT)
    assert result.depth == 3
    assert result.nodes is not None
    assert result.nodes > 7
    assert result.pv is not None
    assert result.pv[0] == result.action
    assert len(result.pv) == 4


@pytest.mark.parametrize("nodes", [7, 60, 200, 1000])
def test_a_node_limit_gives_the_deepest_completed_depth(nodes: int) -> None:
    game = make("connect-four")
    state = game.initial_state()
    search = AlphaBeta(game)
    cut = search.deepen(state, 5, Budget.of(Limit(nodes=nodes)))
    assert cut is not None
    assert cut.depth < 5
    assert search.deepen(state, cut.depth, Budget.of(NO_LIMIT)) == cut
    assert cut.nodes <= nodes


@pytest.mark.parametrize("limit", [Limit(nodes=6), Limit(seconds=0.0)])
def test_a_limit_too_small_for_any_depth_gives_a_random_legal_action(limit: Limit) -> None:
    game = make("connect-four")
    results = [MinimaxBot(game, seed).play(game.initial_state(), limit) for seed in range(40)]
    assert {result.action for result in results} == set(range(7))
    assert all(result.depth is None for result in results)


def test_a_time_limit_ends_a_search_too_deep() -> None:
    game = make("gomoku:k=4,size=6")
    result = MinimaxBot(game, 1, depth=99).play(game.initial_state(), Limit(seconds=0.1))
    assert result.depth is not None
    assert result.depth < 10


def test_more_depth_is_not_searched_once_all_is_known() -> None:
    game = SMALL["tic-tac-toe"]
    state = game.initial_state()
    for action in (4, 0, 8, 2, 1, 7, 3):
        state = state.child(action)
    assert MinimaxBot(game, 1, depth=99).play(state, NO_LIMIT).depth == 1


def test_without_a_depth_it_goes_as_deep_as_its_limits_allow() -> None:
    game = make("connect-four")
    state = game.initial_state()
    by_nodes = minimax.make_bot(game, 1, {"nodes": "20000"})
    assert by_nodes.deterministic
    result = by_nodes.play(state, NO_LIMIT)
    assert result.depth is not None
    assert result.depth > 5
    assert result.nodes is not None
    assert result.nodes <= 20000
    assert by_nodes.play(state, Limit(nodes=300)).depth == 2
    by_time = minimax.make_bot(game, 1, {"seconds": "0.05"})
    assert not by_time.deterministic
    assert by_time.play(state, NO_LIMIT).depth is not None
    assert minimax.make_bot(game, 1, {}).play(state, NO_LIMIT).depth == 5
    assert minimax.make_bot(game, 1, {"depth": "2", "nodes": "20000"}).play(state, NO_LIMIT).depth == 2


@pytest.mark.parametrize("spec", ["gomoku:k=11,size=11", "pile"])
def test_a_game_without_kernels_is_searched_all_the_same(spec: str, pile: Game) -> None:
    game = pile if spec == "pile" else make(spec)
    result = MinimaxBot(game, 1, depth=1).play(game.initial_state(), NO_LIMIT)
    assert result.depth == 1
    assert result.pv is not None
    assert result.action == result.pv[0]
