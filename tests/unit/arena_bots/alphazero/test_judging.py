"""The choice of the best net of a run, by matches and a confidence interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_bots.alphazero.train.plan import Measuring
from arena_bots.alphazero.train.training import Judge, wilson
from arena_plugins.training import Score

if TYPE_CHECKING:
    from pathlib import Path

TESTS = Measuring(every=1, matches=10, opponent="random", simulations=3, rival_matches=100)


class FakeContext:
    """Returns prepared results instead of playing."""

    def __init__(self, folder: Path, wins: int) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.figures: dict[str, float] = {}
        self._wins = wins

    def write(self, name: str, content: bytes) -> Path:
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def play(self, first: str, second: str, matches: int) -> Score:
        assert first == f"alphazero:simulations=3,weights={self.folder / 'latest.onnx'}"
        wins = 5 if second == "random" else self._wins
        return Score((wins, 0, matches // 2 - wins), (wins, 0, matches // 2 - wins), matches)

    def metric(self, step: int, name: str, value: float) -> None:
        assert step == 7
        self.figures[name] = value

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize(("wins", "best"), [(50, b"new"), (25, b"new"), (21, b"new"), (15, b"old")])
def test_the_older_net_must_prove_itself(wins: int, best: bytes, tmp_path: Path) -> None:
    context = FakeContext(tmp_path, wins)
    judge = Judge(TESTS, context, b"old")  # pyright: ignore[reportArgumentType] # the part of it that is used
    judge.measure(b"new", 7)
    assert judge.best == best
    assert context.figures["score vs best so far"] == 2 * wins
    assert context.figures["score vs random"] == context.figures["score vs random, first"] == 100
    assert len(context.said) == (wins in {50, 15})


def test_the_first_net_is_the_best_so_far(tmp_path: Path) -> None:
    judge = Judge(TESTS, FakeContext(tmp_path, 0), None)  # pyright: ignore[reportArgumentType] # as above
    judge.measure(b"new", 7)
    assert judge.best == b"new"


def test_intervals_are_those_of_the_books() -> None:
    # Wilson, 15 of 50: statsmodels' proportion_confint gives the same.
    assert wilson(15, 50) == pytest.approx((0.1910, 0.4375), abs=1e-4)
    assert wilson(0, 10).low == pytest.approx(0)
