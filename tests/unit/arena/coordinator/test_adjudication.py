"""Matches that the exact solver ends early, from the option to the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.analysis import ADJUDICATION_NODES, adjudicator
from arena.coordinator.plan import make_plan
from arena.coordinator.verify import verify_match
from arena.errors import ConfigError
from arena.match import MatchSetup, play_match
from arena.referee.inprocess import InProcessSeat
from arena.referee.timecontrol import TimeControl
from arena_db.records import MatchFilter
from arena_plugins import Outcome, PlayResult, load_game
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.match import MatchResult
    from arena_plugins import Limit, State

    Begin = Callable[[TournamentConfig], Sitting]

GAME = load_game("tic-tac-toe")
CONTROL = TimeControl.parse(None, 20, None)


class First:
    """A bot that plays the first legal cell, and records the requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def play(self, state: State, limit: Limit) -> PlayResult:
        del limit
        self.asked.append(state.history)
        return PlayResult(state.legal_actions[0])


def play(
    adjudicate: Callable[[State], Outcome | None], opening: tuple[int, ...] = ()
) -> tuple[MatchResult, list[tuple[int, ...]]]:
    bot = First()
    seats = tuple(InProcessSeat(lambda _game, _seed: bot, name="bot", version="1") for _ in range(2))
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(CONTROL, CONTROL), opening=opening)
    return play_match(GAME, (seats[0], seats[1]), setup, adjudicate=adjudicate), bot.asked


def test_a_decided_match_ends_before_anybody_is_asked() -> None:
    result, asked = play(adjudicator(GAME, nodes=ADJUDICATION_NODES), (0, 3, 8, 4, 1))
    assert (result.outcome, result.termination, result.rated) == ("second", "adjudicated", True)
    assert result.reason == "B wins by adjudication"
    assert (result.actions, asked) == ((0, 3, 8, 4, 1), [])


def test_it_ends_at_the_first_ply_with_an_answer() -> None:
    result, asked = play(lambda state: Outcome.DRAW if len(state.history) > 2 else None)
    assert (result.outcome, result.termination) == ("draw", "adjudicated")
    assert result.reason == "Draw by adjudication"
    assert (result.actions, asked) == ((0, 1, 2), [(), (0,), (0, 1)])


def test_the_end_by_the_rules_comes_first() -> None:
    seen: list[State] = []
    result, _ = play(seen.append)
    assert (result.outcome, result.termination) == ("first", "rules")
    assert [len(state.history) for state in seen] == list(range(len(result.actions)))


def test_a_tournament_is_adjudicated_and_says_so(begin: Begin) -> None:
    sitting = begin(config("random", "minimax:depth=1", adjudicate="solver", rounds=3))
    assert {job.adjudicate for job in sitting.jobs()} == {ADJUDICATION_NODES}
    sitting.play()
    matches = sitting.store.matches.newest(MatchFilter(), limit=100)
    assert len(matches) == 6
    for match in matches:
        state = GAME.initial_state()
        for action in match.actions:
            state = state.child(action)
        assert match.termination == ("rules" if state.is_terminal else "adjudicated")
    assert "adjudicated" in {match.termination for match in matches}
    assert verify_match(sitting.store, matches[0]).agrees
    assert 'adjudicate = "solver"' in sitting.tournament.config


def test_it_is_off_by_default(begin: Begin) -> None:
    assert {job.adjudicate for job in begin(config("random", "minimax:depth=1")).jobs()} == {0}


def test_a_game_without_a_solver_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="--adjudicate solver: there is no exact solver for gomoku; omit it"
    ):
        make_plan(config("random", "mcts", game="gomoku", adjudicate="solver"))
