"""The bot `td-lambda`: its answers, its options, and what it refuses."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena_bots.td_lambda.bot import RECIPES, make_bot
from arena_plugins.contract import Limit
from arena_plugins.errors import OptionError, PluginError
from game_samples import make

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena_plugins.contract import PlayResult, State

CONNECT_FOUR = make("connect-four")


def after(actions: Sequence[int]) -> State:
    state = CONNECT_FOUR.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def answer(actions: Sequence[int], seed: int = 1, **options: str) -> PlayResult:
    return make_bot(CONNECT_FOUR, seed, options).play(after(actions), Limit())


@pytest.fixture
def blank(tmp_path: Path) -> str:
    """Give a file of weights for which all positions are worth the same."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, linear=np.zeros(87), squashed=np.array(0))
    (tmp_path / "blank.npz").write_bytes(file.getvalue())
    return str(tmp_path / "blank.npz")


@pytest.mark.parametrize("rules", ["off", "on", "notebook"])
@pytest.mark.parametrize(("actions", "winning"), [((0, 1, 0, 1, 0, 1), 0), ((6, 0, 6, 0, 5, 0, 3), 0)])
def test_a_win_comes_first(actions: tuple[int, ...], winning: int, rules: str, blank: str) -> None:
    result = answer(actions, weights=blank, rules=rules)
    assert (result.action, result.value) == (winning, 1.0)


def test_a_block_comes_next_where_rules_are_on(blank: str) -> None:
    actions = (0, 6, 0, 5, 0)
    assert {answer(actions, seed, weights=blank, rules="on").action for seed in range(9)} == {0}
    assert len({answer(actions, seed, weights=blank, rules="off").action for seed in range(20)}) > 1


def test_ties_are_drawn_by_the_seed_but_the_notebook_takes_the_middle(blank: str) -> None:
    played = [answer((), seed, weights=blank).action for seed in range(40)]
    assert set(played) == set(range(7))
    assert played == [answer((), seed, weights=blank).action for seed in range(40)]
    assert {answer((), seed, weights=blank, rules="notebook").action for seed in range(20)} == {3}


def test_the_last_cell_is_a_draw_or_a_win(blank: str) -> None:
    # A full board but for one cell.
    rows = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3, 2]
    rest = [4, 5, 4, 5, 4, 5, 5, 4, 5, 4, 5, 4, 6, 6, 6, 6, 6]
    result = answer([*rows, *rest], weights=blank)
    assert result.action == 6
    assert result.value == 0.0


def test_an_answer_says_what_it_is_worth(blank: str) -> None:
    result = answer((3, 3), weights=blank)
    assert result.policy == dict.fromkeys(range(7), pytest.approx(1 / 7))
    assert (result.nodes, result.depth, result.pv) == (7, 0, (result.action,))


@pytest.mark.parametrize(
    ("game", "options", "complaint"),
    [
        ("tic-tac-toe", {}, "plays connect-four on 6 rows and 7 columns, not tic-tac-toe"),
        ("connect-four:cols=8", {}, "plays connect-four on 6 rows and 7 columns"),
        ("connect-four", {"recipe": "bets"}, 'did you mean "best"?'),
        ("connect-four", {"rules": "of"}, "rules=of is not one of off, on, notebook"),
        ("connect-four", {"recipe": "best", "weights": "x"}, "recipe or weights, not both"),
        ("connect-four", {"depth": "3"}, 'td-lambda has no option "depth"'),
    ],
)
def test_what_it_cannot_do_is_refused(game: str, options: dict[str, str], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint.replace("?", r"\?")):
        make_bot(make(game), 1, options)


def test_missing_weights_are_named() -> None:
    with pytest.raises(PluginError, match=r"nowhere\.npz"):
        make_bot(CONNECT_FOUR, 1, {"weights": "nowhere.npz"})


def test_recipes_are_told() -> None:
    assert RECIPES[0] == "best"
