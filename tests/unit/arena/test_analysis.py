"""Matches analysed by perfect play: losses, blunders, accuracy, and early ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.analysis import (
    ADJUDICATION_NODES,
    adjudicator,
    analyse_match,
    analyse_position,
    has_solver,
)
from arena.errors import ArenaError, IllegalMoveError
from brute_force import Known, truth, truths
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins.contract import Game, State

TIC_TAC_TOE = make("tic-tac-toe")
# O's edge loses, X gives the win away, X overlooks a threat, O overlooks its own win, X wins.
MATCH = (0, 1, 8, 4, 6, 2, 3)


def after(game: Game, actions: Sequence[int]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def random_match(game: Game, seed: int) -> list[int]:
    rng, state = seeded(seed), game.initial_state()
    while not state.is_terminal:
        state = state.child(rng.choice(state.legal_actions))
    return list(state.history)


@pytest.mark.parametrize("seed", range(8))
def test_every_ply_is_judged_as_brute_force_judges_it(seed: int) -> None:
    known: Known = {}
    actions = random_match(TIC_TAC_TOE, seed)
    analysis = analyse_match(TIC_TAC_TOE, actions)
    for ply, action in zip(analysis.plies, actions, strict=True):
        state = after(TIC_TAC_TOE, actions[: ply.ply])
        before, found = truth(state, known), truths(state, known)
        assert (ply.player, ply.action) == (state.current_player, action)
        assert (ply.value_before, ply.distance_before) == before
        assert (ply.value_after, ply.distance_after) == found[action]
        assert ply.loss == before.outcome - found[action].outcome
        assert set(ply.best) == {other for other, worth in found.items() if worth == before}


def test_accuracy_and_first_blunders_by_side() -> None:
    analysis = analyse_match(TIC_TAC_TOE, MATCH)
    losses = [ply.loss for ply in analysis.plies]
    first, second = analysis.sides
    assert losses == [0, 1, 1, 0, 1, 2, 0]
    assert (first.judged, first.optimal, first.unknown, first.accuracy) == (4, 2, 0, 0.5)
    assert (second.judged, second.optimal, second.accuracy) == (3, 1, pytest.approx(1 / 3))
    assert first.first_blunder == analysis.plies[2]
    assert second.first_blunder == analysis.plies[1]
    assert analysis.plies[1].is_blunder


def test_the_opening_counts_for_nobody() -> None:
    analysis = analyse_match(TIC_TAC_TOE, MATCH, num_opening=3)
    first, second = analysis.sides
    assert len(analysis.plies) == len(MATCH)
    assert (first.judged, first.accuracy, first.first_blunder) == (2, 0.5, analysis.plies[4])
    assert second.first_blunder == analysis.plies[5]
    assert analyse_match(TIC_TAC_TOE, MATCH[:3], num_opening=3).sides[0].accuracy is None


def test_what_the_budget_does_not_tell_is_unknown() -> None:
    game = make("gomoku:k=4,size=6")
    analysis = analyse_match(game, [14, 15, 20], nodes=10)
    first, second = analysis.sides
    assert (first.judged, first.unknown, first.accuracy, first.first_blunder) == (0, 2, None, None)
    assert (second.judged, second.unknown) == (0, 1)
    assert [ply.loss for ply in analysis.plies] == [None] * 3


def test_a_position_is_analysed_within_its_budget() -> None:
    solved = analyse_position(TIC_TAC_TOE, after(TIC_TAC_TOE, MATCH[:2]))
    assert (solved.worth.outcome, solved.is_complete) == (1, True)
    assert not analyse_position(
        make("gomoku:k=4,size=6"), after(make("gomoku:k=4,size=6"), []), nodes=5
    ).is_complete


def test_a_match_against_the_rules_is_refused() -> None:
    with pytest.raises(IllegalMoveError):
        analyse_match(TIC_TAC_TOE, [0, 0])


def test_a_game_without_a_solver_is_refused() -> None:
    game = make("gomoku")
    assert not has_solver(game)
    assert has_solver(TIC_TAC_TOE)
    with pytest.raises(
        ArenaError, match="no exact solver for gomoku 15x15: it takes k in a row on boards of"
    ):
        analyse_match(game, [])
    with pytest.raises(ArenaError, match="no exact solver"):
        adjudicator(game, nodes=1)


def test_an_adjudicator_names_the_outcome_or_nothing() -> None:
    adjudicate = adjudicator(TIC_TAC_TOE, nodes=ADJUDICATION_NODES)
    outcomes = [adjudicate(after(TIC_TAC_TOE, MATCH[:ply])) for ply in range(len(MATCH))]
    assert outcomes == ["draw", "draw", "first", "draw", "draw", "second", "first"]
    assert adjudicate(after(TIC_TAC_TOE, (0, 3, 8, 4, 1))) == "second"
    game = make("connect-four")
    assert adjudicator(game, nodes=1000)(game.initial_state()) is None
