"""The benchmark of time losses: what it counts of a match, and where its matches begin."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from arena.match import MatchResult
from arena_plugins import Outcome, Termination
from game_samples import make, seeded
from source_tree import ROOT


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401 # a script is no package
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("time_losses")


def result(termination: Termination, times: tuple[int, ...], player: int | None = None) -> MatchResult:
    return MatchResult(
        outcome=Outcome.VOID,
        termination=termination,
        reason="",
        rated=False,
        actions=tuple(range(len(times))),
        num_opening=1,
        times_ms=times,
        infos=(None,) * len(times),
        fault=None if player is None else {"elapsed_ms": 160.0},
        fault_player=player,
        started_at=0.0,
        duration_ms=1,
        tier="T1",
    )


@pytest.mark.parametrize(
    ("match", "player", "count"),
    [
        # After an opening of one action the second player moves.
        (result(Termination.RULES, (0, 90, 5, 101)), 1, (1, 2, 0, 0, 1, 101)),
        (result(Termination.RULES, (0, 5, 90, 5, 95)), 0, (1, 2, 0, 0, 0, 95)),
        (result(Termination.TIME_MOVE, (0, 90, 5), 1), 1, (1, 2, 1, 0, 1, 160)),
        (result(Termination.TIME_MOVE, (0, 90, 5, 9), 0), 1, (1, 2, 0, 0, 0, 90)),
        (result(Termination.ARENA_STALL, (0, 90, 5), 1), 1, (0, 2, 0, 1, 1, 160)),
    ],
)
def test_moves_losses_and_stalls_are_counted(
    match: MatchResult,
    player: int,
    count: tuple[int, ...],
    trials: Any,  # noqa: ANN401
) -> None:
    once = trials.Count().plus(match, player, 100)
    assert once == count
    assert once.plus(match, player, 100) == (*(2 * part for part in count[:-1]), count[-1])


@pytest.mark.parametrize("spec", ["gomoku", "gomoku:size=20", "connect-four", "gomoku:k=4,size=6"])
def test_openings_are_open_and_differ(spec: str, trials: Any) -> None:  # noqa: ANN401
    game, rng = make(spec), seeded(1)
    openings = [trials.opening(game, spec, number, rng) for number in range(30)]
    assert len(set(openings)) > 15
    for actions in openings:
        state = game.initial_state()
        for action in actions:
            state = state.child(action)
        assert not state.is_terminal
    if spec in trials.LOST:
        assert openings[0] == openings[10] == openings[20]


def test_a_trial_plays_both_sides(trials: Any) -> None:  # noqa: ANN401
    # Whether the machine is fast enough is for the benchmark to find out, not for this test.
    count = trials.trial("tic-tac-toe", "random", 4, 5.0, seed=1)
    assert count.matches == 4
    assert count.moves > 4
