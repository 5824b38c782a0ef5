"""The bot `solver`: perfect if its search ends within the limit, otherwise legal and cautious."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.games.solver.connect_four_solver import ConnectFourSolver
from arena.games.solver.solved import UNKNOWN, Solved, Worth
from arena_bots import random as random_bot
from arena_bots import solver
from arena_plugins.conformance import assert_conforms, check_bot
from arena_plugins.contract import Limit
from arena_plugins.errors import OptionError
from brute_force import Known, late_states, random_states, truths
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins.contract import Bot, Game, State

CONNECT_FOUR = make("connect-four")
TIC_TAC_TOE = make("tic-tac-toe")


def after(game: Game, actions: Sequence[int]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def play_out(game: Game, first: Bot, second: Bot) -> State:
    state = game.initial_state()
    while not state.is_terminal:
        state = state.child((first, second)[state.current_player].play(state, Limit()).action)
    return state


@pytest.mark.parametrize(
    "game", ["connect-four", "connect-four:cols=5,rows=4", "gomoku:k=4,size=6", "tic-tac-toe"]
)
def test_keeps_the_contract(game: str) -> None:
    assert_conforms(check_bot("solver", game, seconds=0.05, nodes=50))


def test_near_the_end_every_answer_is_strongly_optimal() -> None:
    bot = solver.make_bot(CONNECT_FOUR, 1, {})
    known: Known = {}
    for state in late_states(CONNECT_FOUR, seeded(1), 150, max_empty=9):
        result, found = bot.play(state, Limit()), truths(state, known)
        top = max(worth.merit for worth in found.values())
        best = {action for action, worth in found.items() if worth.merit == top}
        assert result.action in best
        assert result.policy == {action: (action in best) / len(best) for action in found}
        assert result.value == top[0]


def test_a_best_action_is_played_also_where_nothing_is_known_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ConnectFourSolver, "usual_nodes", 0)
    bot = solver.make_bot(CONNECT_FOUR, 1, {})
    known: Known = {}
    num_lost = 0
    for state in late_states(CONNECT_FOUR, seeded(2), 150, max_empty=9):
        result, found = bot.play(state, Limit()), truths(state, known)
        top = max(worth.merit for worth in found.values())
        num_lost += top[0] < 0
        assert found[result.action].merit == top
        assert result.value == top[0]
    assert num_lost > 10


def test_an_unknown_action_is_preferred_to_a_known_loss() -> None:
    state = after(CONNECT_FOUR, (0, 0))
    actions = {action: UNKNOWN if action == 5 else Worth(-1, 4) for action in state.legal_actions}
    candidates = solver._candidates  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert list(candidates(state, Solved(UNKNOWN, actions, 1, is_complete=False))) == [5]
    actions[6] = Worth(0, 40)
    assert list(candidates(state, Solved(UNKNOWN, actions, 1, is_complete=False))) == [6]


def test_it_tells_the_line_to_the_end() -> None:
    bot = solver.make_bot(TIC_TAC_TOE, 1, {})
    state = after(TIC_TAC_TOE, (0, 1))
    result = bot.play(state, Limit())
    assert result.pv is not None
    assert (result.value, result.depth, result.text) == (1.0, 5, "wins in 5 plies")
    assert after(TIC_TAC_TOE, (0, 1, *result.pv)).returns == (1.0, -1.0)
    assert bot.play(after(TIC_TAC_TOE, (0,)), Limit()).text == "draws"


def test_it_does_not_lose_at_tic_tac_toe() -> None:
    for seed in range(40):
        bot, other = solver.make_bot(TIC_TAC_TOE, seed, {}), random_bot.make_bot(TIC_TAC_TOE, seed, {})
        assert play_out(TIC_TAC_TOE, bot, other).returns[0] >= 0
        assert play_out(TIC_TAC_TOE, other, bot).returns[1] >= 0


def test_ties_are_drawn_by_the_seed_and_a_warm_bot_plays_as_a_fresh_one() -> None:
    start = TIC_TAC_TOE.initial_state()
    bot = solver.make_bot(TIC_TAC_TOE, 0, {})
    fresh = [solver.make_bot(TIC_TAC_TOE, seed, {}).play(start, Limit()).action for seed in range(30)]
    assert len(set(fresh)) > 5
    for seed, action in enumerate(fresh):
        bot.new_match(seed)
        assert bot.play(start, Limit()).action == action


@pytest.mark.parametrize("nodes", [1, 50, 2000])
def test_a_limit_of_nodes_leaves_a_sensible_action(nodes: int) -> None:
    bot = solver.make_bot(CONNECT_FOUR, 1, {})
    assert bot.play(after(CONNECT_FOUR, (0, 1, 0, 1, 0, 1)), Limit(nodes=nodes)).action == 0
    assert bot.play(after(CONNECT_FOUR, (0, 1, 0, 1, 0)), Limit(nodes=nodes)).action == 0
    for state in random_states(CONNECT_FOUR, seeded(nodes), 10, 9):
        assert bot.play(state, Limit(nodes=nodes)).action in state.legal_actions


def test_a_forced_action_is_played_and_its_value_searched_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second player has three stones in a column: all other actions lose, whatever the value is."""
    state = after(CONNECT_FOUR, (0, 3, 0, 3, 6, 3, 2, 5, 1, 6))
    assert after(CONNECT_FOUR, (*state.history, 2, 3)).returns == (-1.0, 1.0)
    for most, nodes, is_known in ((30, None, False), (10_000_000, None, True), (10_000_000, 20, False)):
        monkeypatch.setattr(solver, "_FORCED_NODES", most)
        result = solver.make_bot(CONNECT_FOUR, 1, {}).play(state, Limit(nodes=nodes))
        assert result.action == 3
        assert (result.value is not None) == is_known
        assert result.nodes is not None
        assert is_known or result.nodes <= 31


def test_where_it_knows_nothing_it_plays_in_the_middle_and_says_so() -> None:
    game = make("gomoku:k=4,size=6")
    result = solver.make_bot(game, 1, {}).play(game.initial_state(), Limit(nodes=10))
    assert result.value is None
    assert result.text == "not solved within the limit"
    assert result.action in {17, 18}
    assert result.pv == (result.action,)


def test_options_and_games_that_it_does_not_know_are_refused() -> None:
    with pytest.raises(OptionError, match='solver has no option "depth"'):
        solver.make_bot(CONNECT_FOUR, 1, {"depth": "3"})
    with pytest.raises(OptionError, match=r"of at most 63 cells, .* not gomoku 15x15"):
        solver.make_bot(make("gomoku"), 1, {})
