"""Labelled positions: sampled from stored matches without repeats, stored, and scores of bots on them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from arena.games.solver.solved import UNSOLVED
from command_line import FAST, CommandLine
from game_samples import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.games.k_in_a_row import KInARowState

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def tools() -> Iterator[SimpleNamespace]:
    """Yield the modules of the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        yield SimpleNamespace(
            labelled=importlib.import_module("labelled.positions"),
            dev_set=importlib.import_module("dev_set"),
            move_quality=importlib.import_module("move_quality"),
        )


@pytest.fixture(scope="module")
def made(tools: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Return positions after at least 16 plies: earlier ones take longer to solve."""
    folder = tmp_path_factory.mktemp("positions")
    command = CommandLine(folder)
    options = (*FAST[:-1], "connect-four", "--rounds", 2, "--srand", 1, "--quiet")
    command("tournament", "random", "minimax:depth=1", "minimax:depth=2", *options)
    solve = tools.dev_set.exact_labels(1_000_000)

    def label(state: KInARowState) -> tuple[list[int], list[int]]:
        return solve(state) if state.ply > 15 else ([UNSOLVED] * 7, [0] * 7)

    return SimpleNamespace(positions=tools.dev_set.build(str(command.db), label, 60, 1))


def test_positions_are_distinct_and_hold_what_they_say(made: SimpleNamespace) -> None:
    positions = made.positions
    game = make("connect-four")
    assert len(positions.own) > 20
    seen: set[tuple[int, ...]] = set()
    for index in range(len(positions.own)):
        state: KInARowState = positions.state(index, game)
        mirrored = game.initial_state()
        for action in state.history:
            mirrored = mirrored.child(6 - action)
        assert not seen & {state.cells, mirrored.cells}
        assert state.cells <= mirrored.cells
        seen.add(state.cells)
        assert (state.own, state.opp, state.ply) == (
            positions.own[index],
            positions.opp[index],
            positions.ply[index],
        )
        assert len(positions.match[index]) == 64
        outcome = positions.outcome[index].tolist()
        assert [action for action in range(7) if outcome[action] != 2] == list(state.legal_actions)
        assert positions.decisive[index] == (len(set(outcome) - {2}) > 1)
        for action in state.legal_actions:
            child = state.child(action)
            if child.is_terminal:
                assert outcome[action] == child.returns[state.current_player]
                assert positions.distance[index, action] == 1
    assert set(positions.strata) <= {"middle-easy", "middle-medium", "end-easy"}


def test_a_file_gives_back_what_was_saved(
    tools: SimpleNamespace, made: SimpleNamespace, tmp_path: Path
) -> None:
    positions = made.positions
    path, again = tmp_path / "one.npz", tmp_path / "two.npz"
    positions.save(path)
    loaded = tools.labelled.load(path)
    for name, array in positions._asdict().items():
        assert np.array_equal(getattr(loaded, name), array), name
    loaded.save(again)
    assert path.read_bytes() == again.read_bytes()
    np.savez(again, own=np.zeros(3))
    for wrong in (again, tmp_path / "missing.npz"):
        with pytest.raises(SystemExit, match="holds no labelled positions"):
            tools.labelled.load(wrong)


def test_good_actions_keep_the_outcome_and_strong_ones_the_distance(tools: SimpleNamespace) -> None:
    outcome = np.array([[1, 1, 0, -1, 2, 1, 0], [-1, -1, -1, 2, 2, -1, -1], [0, 0, -1, 2, 2, 2, 2]], np.int8)
    distance = np.array([[3, 9, 20, 4, 0, 3, 20], [2, 6, 6, 0, 0, 4, 2], [20, 20, 9, 0, 0, 0, 0]], np.int8)
    empty: dict[str, Any] = dict.fromkeys(tools.labelled.Positions._fields, np.zeros(3))
    positions = tools.labelled.Positions(**{**empty, "outcome": outcome, "distance": distance})
    assert positions.optimal.astype(int).tolist() == [
        [1, 1, 0, 0, 0, 1, 0],
        [1, 1, 1, 0, 0, 1, 1],
        [1, 1, 0, 0, 0, 0, 0],
    ]
    assert positions.best.astype(int).tolist() == [
        [1, 0, 0, 0, 0, 1, 0],
        [0, 1, 1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
    ]
    difficulty = tools.labelled.difficulty_of
    assert [difficulty(*rows) for rows in zip(outcome.tolist(), distance.tolist(), strict=True)] == [0, 0, 1]


def test_strata_of_all_sizes_count_the_same(tools: SimpleNamespace) -> None:
    found = tools.move_quality.even([np.array([True] * 30 + [False] * 10), np.array([True] * 10)])
    assert found["percent"] == 87.5
    assert found["n"] == 50
    # Only the first part varies: 1.96 * sqrt(0.75 * 0.25 / 40) / 2.
    assert found["high"] - found["low"] == pytest.approx(2 * 6.71, abs=0.02)


def test_shares_have_wilson_intervals(tools: SimpleNamespace) -> None:
    wilson = tools.move_quality.wilson
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(940, 1000) == pytest.approx((0.9235, 0.9531), abs=1e-4)
    assert wilson(0, 0) == (0, 1)


def test_bots_are_measured_by_what_they_play(tools: SimpleNamespace, made: SimpleNamespace) -> None:
    positions = made.positions
    tool = tools.move_quality
    perfect = tool.Choices(positions.best.argmax(axis=1), 0.1)
    legal = positions.outcome != 2
    worst = tool.Choices(np.where(legal, positions.outcome, 2).argmin(axis=1), 0.1)
    assert tool.figures(positions, perfect)["strong_all"]["percent"] == 100
    found = tool.figures(positions, worst)
    assert found["decisive"] == {
        "percent": 0,
        "low": 0,
        "high": pytest.approx(100 * tool.wilson(0, int(positions.decisive.sum()))[1], abs=0.1),
        "n": positions.decisive.sum(),
    }
    assert found["all"]["n"] == len(legal) == sum(part["n"] for part in found["strata"].values())
    few = positions.first(12)
    deep = tool.figures(few, tool.play("minimax:depth=9", few, tool.Limit()))
    assert deep["all"]["n"] == 12
    assert deep["all"]["percent"] > tool.figures(few, tool.Choices(worst.actions[:12], 0.1))["all"]["percent"]
