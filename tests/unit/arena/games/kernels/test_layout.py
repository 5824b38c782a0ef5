"""Layouts for kernels: which games they support, and the places of bits and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from typing_extensions import override

from arena.games.connect_four import ConnectFour
from arena.games.kernels.cells import EMPTY, MOVER, OTHER, WALL, cell_layout_of, new_board, set_board
from arena.games.kernels.layout import layout_of, words_of
from game_samples import GAMES, make, seeded
from kernel_checks import Unusual
from pile_game import Pile

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARowState
    from arena_plugins.contract import Game, State


class Given(ConnectFour):
    """Connect Four that begins with a stone on the board."""

    @override
    def initial_state(self) -> KInARowState:
        return super().initial_state().child(3)


@pytest.mark.parametrize(
    "spec",
    ["connect-four", "connect-four:cols=8,rows=7", "gomoku:k=5,size=7", "gomoku:exact=on,k=3,size=6"],
)
def test_small_boards_fit_a_word(spec: str) -> None:
    game = make(spec)
    layout = layout_of(game)
    assert layout is not None
    assert layout.num_actions == game.num_actions
    assert layout.max_length == game.max_length
    assert layout.gravity == (game.name == "connect-four")
    assert layout.exact == ("exact=on" in spec)
    assert len(layout.offsets) == layout.k == game.board.k
    assert int(layout.full).bit_count() == game.max_length
    assert int(layout.full) < 2**63
    for action, column in enumerate(game.board.columns):
        bits = [bit for bit in range(64) if column >> bit & 1]
        assert [layout.actions[bit] for bit in bits] == [action] * len(bits)
    assert np.count_nonzero(layout.actions >= 0) == game.max_length


@pytest.mark.parametrize("spec", ["connect-four:cols=8,rows=8", "gomoku:size=8", "gomoku"])
def test_large_boards_are_for_cells(spec: str) -> None:
    assert layout_of(make(spec)) is None
    assert cell_layout_of(make(spec)) is not None


@pytest.mark.parametrize("game", [Given(), Unusual(), ConnectFour(k=1)])
def test_what_may_have_other_rules_has_no_kernels(game: Game) -> None:
    assert layout_of(game) is None
    assert cell_layout_of(game) is None


def test_a_game_of_others_has_no_kernels() -> None:
    pile = Pile()
    assert layout_of(pile) is None
    assert cell_layout_of(pile) is None
    with pytest.raises(TypeError, match="k in a row is needed, not one of type PileState"):
        words_of(pile.initial_state())


def test_shifts_stay_in_the_word() -> None:
    # 26 rows of two columns: a line of 26 is possible only along the columns.
    layout = layout_of(make("connect-four:cols=2,k=26,rows=26"))
    assert layout is not None
    assert set(layout.steps) == {1}


@pytest.mark.parametrize("game", GAMES, ids=lambda game: str(game.params))
def test_a_board_shows_the_cells_for_the_mover(game: Game) -> None:
    layout = cell_layout_of(game)
    assert layout is not None
    board, rng = new_board(layout), seeded(1)
    state: State = game.initial_state()
    while not state.is_terminal:
        assert set_board(board, state, layout) == state.cells.count(0)
        mover = state.current_player + 1
        shown = {0: EMPTY, mover: MOVER, 3 - mover: OTHER}
        assert [shown[cell] for cell in state.cells] == board[layout.cells].tolist()
        assert np.count_nonzero(board == WALL) == len(board) - len(state.cells)
        state = state.child(rng.choice(state.legal_actions))
