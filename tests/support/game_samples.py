"""Games of every kind, and Hypothesis strategies for states and matches of them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from arena.games import connect_four, gomoku, tic_tac_toe
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState

MODULES = {"connect-four": connect_four, "gomoku": gomoku, "tic-tac-toe": tic_tac_toe}
SPECS = (
    "connect-four",
    "connect-four:cols=10,k=3,rows=4",
    "connect-four:cols=5,k=5,rows=3",
    "gomoku",
    "gomoku:k=4,size=6",
    "gomoku:exact=on,k=3,size=6",
    "tic-tac-toe",
)


def make(text: str) -> KInARow:
    """Return the game of a spec."""
    spec = Spec.parse(text)
    return MODULES[spec.name].make_game(spec.options)


def seeded(seed: int) -> Random:
    """Return the random generator of a test, the same every time."""
    return Random(seed)  # noqa: S311 # play, no secrets


GAMES = tuple(make(spec) for spec in SPECS)
games = st.sampled_from(GAMES)


@st.composite
def lines_of_play(draw: st.DrawFn, game: KInARow) -> list[KInARowState]:
    """Draw a match or its beginning: every state from the initial one on."""
    rng = draw(st.randoms(use_true_random=False))
    length = draw(st.integers(0, game.max_length))
    states = [game.initial_state()]
    while not states[-1].is_terminal and len(states) <= length:
        states.append(states[-1].child(rng.choice(states[-1].legal_actions)))
    return states


@st.composite
def games_with_play(draw: st.DrawFn) -> tuple[KInARow, list[KInARowState]]:
    """Draw a game and a match of it, or its beginning."""
    game = draw(games)
    return game, draw(lines_of_play(game))


def distinct_positions(game: KInARow, plies: int) -> list[list[KInARowState]]:
    """Return the distinct positions after 0 to `plies` plies."""
    levels = [[game.initial_state()]]
    for _ in range(plies):
        children = (state.child(action) for state in levels[-1] for action in state.legal_actions)
        levels.append(list({(child.own, child.opp): child for child in children}.values()))
    return levels
