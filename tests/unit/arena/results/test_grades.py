"""Stored gradings in their original form."""

from __future__ import annotations

import pytest

from arena.analysis import SOLVER
from arena.results.grades import restored
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_plugins import load_game


@pytest.mark.parametrize(("judge", "values"), [(SOLVER, (1.0, 2.0, -1.0)), ("minimax", (0.5, 0.75, -0.25))])
def test_without_scores_the_value_after_a_mistake_is_that_before_it_less_the_loss(
    judge: str, values: tuple[float, float, float]
) -> None:
    before, loss, after = values
    plies = (JudgedPly(), JudgedPly(value=before, loss=loss, best=(4,)))
    stored = JudgedMatch(match=1, name=judge, plies=plies, made_at=1.0)
    pending, judged = restored(load_game("tic-tac-toe"), (0, 1), 0, stored).plies
    assert (pending.value_before, pending.value_after) == (None, None)
    assert (judged.value_before, judged.value_after, judged.loss) == (before, after, loss)
