"""The lists of drawn openings: complete in number, well formed, consistent with search and each other."""

from __future__ import annotations

import pytest

from arena.errors import ConfigError
from arena.games.solver.book import shipped_book
from arena.games.symmetry import canonical
from arena.pairing.drawn import SHIPPED_PLIES, drawn_openings, drawn_path, is_shipped
from arena.pairing.positions import enumerate_positions
from arena.pairing.solve import is_decided
from arena_plugins import State, load_game
from connect_four_book import drawn_text

CONNECT_FOUR = load_game("connect-four")


@pytest.mark.parametrize(
    ("spec", "plies", "number"),
    [
        ("connect-four", 2, 6),
        ("connect-four", 4, 101),
        ("connect-four", 6, 972),
        ("tic-tac-toe", 2, 5),
        ("tic-tac-toe", 4, 18),
        ("tic-tac-toe", 9, 0),
    ],
)
def test_number_of_draws(spec: str, plies: int, number: int) -> None:
    assert len(drawn_openings(load_game(spec), plies)) == number


def shipped_states(plies: int) -> list[State]:
    drawn = set(drawn_openings(CONNECT_FOUR, plies))
    return [state for state in enumerate_positions(CONNECT_FOUR, plies) if state.history in drawn]


@pytest.mark.parametrize("plies", [2, 4, 6])
def test_shipped_openings_are_undecided_least_and_in_canonical_order(plies: int) -> None:
    states = shipped_states(plies)
    assert [state.history for state in states] == drawn_openings(CONNECT_FOUR, plies)
    assert not any(is_decided(CONNECT_FOUR, state) for state in states)


@pytest.mark.parametrize("plies", [2, 4])
def test_a_draw_leads_to_a_draw_two_plies_later(plies: int) -> None:
    deeper = {canonical(CONNECT_FOUR, state).key for state in shipped_states(plies + 2)}
    for state in shipped_states(plies):
        assert any(
            canonical(CONNECT_FOUR, state.child(action).child(reply)).key in deeper
            for action in state.legal_actions
            for reply in state.child(action).legal_actions
        )


def test_shipped_openings_agree_with_the_values_of_the_first_move() -> None:
    """The middle column wins, the ones beside it draw (Allis 1988): so after the middle no reply draws."""
    first_columns = {actions[0] for actions in drawn_openings(CONNECT_FOUR, 2)}
    assert 3 not in first_columns
    assert 2 in first_columns


def test_the_shipped_lists_are_those_of_the_opening_book() -> None:
    book = shipped_book()
    assert book.plies >= 4
    for plies in (plies for plies in SHIPPED_PLIES if plies <= book.plies):
        assert drawn_path(plies).read_text("ascii") == drawn_text(book, plies)


@pytest.mark.parametrize(
    ("spec", "plies"), [("connect-four", 3), ("connect-four:cols=8", 4), ("gomoku:size=6,k=4", 2)]
)
def test_unknown_draws_are_refused_with_a_way_out(spec: str, plies: int) -> None:
    game = load_game(spec)
    assert not is_shipped(game, plies)
    with pytest.raises(
        ConfigError, match=f"after {plies} plies, only for connect-four after 2, 4, 6 and for"
    ):
        drawn_openings(game, plies)
