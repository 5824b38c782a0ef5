"""Golden playthroughs: the responses of the rules along one match of each game equal a stored file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.games.notation import format_moves, parse_moves, position_of
from arena.games.symmetry import canonical, canonical_actions, match_hash
from game_samples import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.games.k_in_a_row import KInARow, KInARowState

PLAYTHROUGHS = {
    "connect-four": ("connect-four", "23412246516736362"),
    "connect-four-draw": ("connect-four:cols=4,rows=3", "121212433443"),
    "tic-tac-toe": ("tic-tac-toe", "b2 a1 a3 c1 b1 b3 c3 a2 c2"),
    "gomoku": ("gomoku", "h8 i9 g9 i7 f10 g8 e11 k8 d12"),
    "gomoku-6x6": ("gomoku:k=4,size=6", "c3 d4 c4 d3 c2 c5 b3 d5 d2 d6"),
    "gomoku-exact": ("gomoku:exact=on,k=4,size=6", "a1 b6 b1 d6 d1 f5 e1 f3 c1 c6 b2 e6"),
}


@pytest.mark.parametrize("name", PLAYTHROUGHS)
def test_every_answer_along_a_match_is_as_stored(name: str, request: pytest.FixtureRequest) -> None:
    path = Path(__file__).with_name(f"{name}.txt")
    spec, moves = PLAYTHROUGHS[name]
    text = "\n".join(playthrough(make(spec), moves)) + "\n"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} is rewritten; read its diff, then run again without --update-golden")
    assert text == path.read_text(encoding="utf-8"), "run with --update-golden where the change is meant"


def playthrough(game: KInARow, moves: str) -> Iterator[str]:
    yield f"name {game.name}"
    yield f"params {dict(game.params)}"
    yield f"num_actions {game.num_actions}"
    yield f"max_length {game.max_length}"
    yield f"shape {game.shape}"
    for symmetry in game.symmetries:
        yield f"symmetry {numbers(symmetry.cells)} : {numbers(symmetry.actions)}"
    state = game.initial_state()
    yield from answers(game, state)
    for action in parse_moves(game, moves):
        yield ""
        yield f"action {action}"
        yield f"move {game.move(state, action)}"
        state = state.child(action)
        yield from answers(game, state)
    assert state.is_terminal
    yield ""
    yield f"ending {game.ending(state)}"
    yield f"moves {format_moves(game, state.history)}"
    yield f"canonical_actions {numbers(canonical_actions(game, state.history))}"
    yield f"match_hash {match_hash(game, state.history)}"


def answers(game: KInARow, state: KInARowState) -> Iterator[str]:
    yield f"current_player {state.current_player}"
    yield f"legal_actions {numbers(state.legal_actions)}"
    yield f"is_terminal {state.is_terminal}"
    yield f"returns {state.returns}"
    yield f"history {numbers(state.history)}"
    yield f"cells {numbers(state.cells)}"
    yield f"bitboards {state.own:x} {state.opp:x} {state.last:x}"
    yield f"position {position_of(game, state)}"
    form = canonical(game, state)
    yield f"canonical {form.symmetry} {form.player} {numbers(form.cells)}"
    yield f"observation {state.observation.dtype} {state.observation.shape}"
    for rows in state.observation.transpose(1, 0, 2).astype(int).tolist():
        yield "  " + " ".join("".join(map(str, row)) for row in rows)


def numbers(values: tuple[int, ...]) -> str:
    return " ".join(map(str, values)) or "-"
