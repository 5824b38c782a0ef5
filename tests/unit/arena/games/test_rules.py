"""The rules of all k-in-a-row games: compared with a naive implementation, and invariants of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arena.games.connect_four import ConnectFour
from arena.games.gomoku import Gomoku
from arena.games.playout import random_match
from arena_plugins.errors import IllegalMoveError, InvalidMoveError
from game_samples import GAMES, SPECS, games_with_play, make, seeded
from naive_rules import NaiveMatch

if TYPE_CHECKING:
    from random import Random

    from arena.games.k_in_a_row import KInARow, KInARowState

sides = st.integers(1, 9)


def play_both(game: KInARow, twin: NaiveMatch, rng: Random) -> None:
    """Play a random match on both boards and compare everything after each action."""
    state = game.initial_state()
    for ply in range(game.max_length + 1):
        assert state.legal_actions == twin.legal_actions
        assert state.cells == twin.cells
        assert state.returns == twin.returns
        assert state.is_terminal == (not twin.legal_actions)
        assert state.current_player == twin.stone - 1
        assert state.ply == len(state.history) == ply
        if state.is_terminal:
            break
        action = rng.choice(state.legal_actions)
        state = state.child(action)
        twin.play(action)
    assert state.is_terminal


@given(sides, sides, st.integers(2, 9), st.randoms(use_true_random=False))
def test_games_with_gravity_are_as_their_plain_twin(rows: int, cols: int, k: int, rng: Random) -> None:
    assume(k <= max(rows, cols))
    play_both(ConnectFour(rows, cols, k), NaiveMatch(rows, cols, k, gravity=True), rng)


@given(st.integers(2, 9), st.integers(2, 9), st.booleans(), st.randoms(use_true_random=False))
def test_games_without_gravity_are_as_their_plain_twin(size: int, k: int, exact: bool, rng: Random) -> None:  # noqa: FBT001 # drawn by Hypothesis
    assume(k <= size)
    play_both(Gomoku(size, k, exact=exact), NaiveMatch(size, size, k, exact=exact), rng)


def facts(state: KInARowState) -> tuple[object, ...]:
    return (
        state.current_player,
        state.legal_actions,
        state.is_terminal,
        state.returns,
        state.history,
        state.cells,
        (state.own, state.opp, state.last, state.ply),
        state.observation.tobytes(),
    )


@settings(max_examples=30)  # every child of every state is made
@given(games_with_play())
def test_a_state_does_not_change_when_play_goes_on(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    before = [facts(state) for state in states]
    for state in states:
        for action in state.legal_actions:
            assert state.child(action).history == (*state.history, action)
    assert [facts(state) for state in states] == before
    replayed = game.initial_state()
    for action in states[-1].history:
        replayed = replayed.child(action)
    assert facts(replayed) == before[-1]


@given(games_with_play())
def test_observation_shows_the_board_to_the_side_to_move(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    for before, state in zip([None, *states], states, strict=False):
        own, opponent, last, first_moves = state.observation
        board = np.array(state.cells).reshape(game.shape)
        np.testing.assert_array_equal(own, board == 1 + state.current_player)
        np.testing.assert_array_equal(opponent, board == 2 - state.current_player)
        earlier = before.cells if before else state.cells
        np.testing.assert_array_equal(last, board != np.array(earlier).reshape(game.shape))
        np.testing.assert_array_equal(first_moves, np.full(game.shape, 1 - state.current_player))
        assert state.observation.dtype == np.float32


@given(games_with_play(), st.data())
def test_illegal_actions_are_refused(sample: tuple[KInARow, list[KInARowState]], data: st.DataObject) -> None:
    game, states = sample
    state = states[-1]
    illegal = sorted(set(range(game.num_actions)) - set(state.legal_actions))
    assume(illegal)
    action = data.draw(st.sampled_from(illegal))
    with pytest.raises(IllegalMoveError) as refused:
        state.child(action)
    with pytest.raises(IllegalMoveError):
        game.parse_move(state, game.move(state, action))
    assert f"move {game.move(state, action)} is not allowed" in str(refused.value)
    why = (
        "the match is over by" if state.is_terminal else f"legal: {game.move(state, state.legal_actions[0])}"
    )
    assert why in str(refused.value)


@pytest.mark.parametrize("game", GAMES, ids=SPECS)
@pytest.mark.parametrize(
    "action",
    [True, False, np.True_, None, 1.0, "1", -1, 99999, -(2**63), pytest.param(10**5000, id="huge"), [1]],
)
def test_what_is_not_an_action_is_invalid(game: KInARow, action: Any) -> None:  # noqa: ANN401 # anything a bot may answer
    state = game.initial_state()
    with pytest.raises(InvalidMoveError, match=f"from 0 to {game.num_actions - 1}"):
        state.child(action)
    with pytest.raises(InvalidMoveError, match=f"from 0 to {game.num_actions - 1}"):
        game.move(state, action)


@pytest.mark.parametrize("game", GAMES, ids=SPECS)
def test_ints_of_other_kinds_become_plain_ones(game: KInARow) -> None:
    state = game.initial_state().child(np.int64(2))  # pyright: ignore[reportArgumentType] # bots do this
    assert state.history == (2,)
    assert type(state.history[0]) is int


@given(games_with_play())
def test_moves_are_read_as_they_are_written(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    for state in states:
        for action in state.legal_actions:
            move = game.move(state, action)
            assert game.parse_move(state, move) == action
            assert game.parse_move(state, f" {move.upper()}\n") == action


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(
    "text",
    ["", " ", "0", "a0", "a00", "a01", "a27", "z26x", "-1", "99", "4 4", "h8h8", "٤", "é1", "{4", "a\u0661"],
)
def test_what_is_not_a_move_is_invalid(spec: str, text: str) -> None:
    game = make(spec)
    with pytest.raises(InvalidMoveError, match="moves are the c"):
        game.parse_move(game.initial_state(), text)


@given(games_with_play())
def test_a_match_ends_by_a_line_or_a_full_board(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    for state in states[:-1]:
        assert not state.is_terminal
        assert state.returns == (0.0, 0.0)
    last = states[-1]
    if last.is_terminal:
        is_draw = last.returns == (0.0, 0.0)
        assert last.legal_actions == ()
        assert is_draw == (game.ending(last) == "full board")
        assert not is_draw or last.ply == game.max_length
        # The winner is the player who has just moved.
        assert is_draw or last.returns[1 - last.current_player] == 1.0


def test_random_play_has_the_known_results() -> None:
    # Known over a million matches: 55.61 % first wins, 21.3 plies; the bounds are four standard errors.
    rng = seeded(20)
    ends = [random_match(ConnectFour(), rng) for _ in range(4000)]
    assert 0.525 < np.mean([end.returns[0] == 1.0 for end in ends]) < 0.588
    assert 20.8 < np.mean([len(end.history) for end in ends]) < 21.9
    assert random_match(ConnectFour(), seeded(7)).history == random_match(ConnectFour(), seeded(7)).history


def plain_lines(state: KInARowState, k: int, *, exact: bool) -> set[int]:
    """Return the cells of winning lines, found by walking along each line from each cell."""
    rows, cols = state.game.shape

    def stone(row: int, col: int) -> int:
        return state.cells[row * cols + col] if 0 <= row < rows and 0 <= col < cols else 0

    found: set[int] = set()
    for row in range(rows):
        for col in range(cols):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                run = [(row + down * step, col + right * step) for step in range(k)]
                own = stone(row, col)
                if not own or any(stone(*cell) != own for cell in run):
                    continue
                beyond = (stone(row - down, col - right), stone(row + down * k, col + right * k))
                if not (exact and own in beyond):
                    found |= {r * cols + c for r, c in run}
    return found


@given(st.integers(3, 8), st.integers(2, 5), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_winning_cells_are_those_that_a_walk_finds(
    size: int,
    k: int,
    exact: bool,  # noqa: FBT001 # drawn by Hypothesis
    gravity: bool,  # noqa: FBT001 # drawn by Hypothesis
    rng: Random,
) -> None:
    assume(k <= size)
    game = ConnectFour(size, size, k) if gravity else Gomoku(size, k, exact=exact)
    state = game.initial_state()
    while not state.is_terminal:
        assert state.winning_cells == ()
        state = state.child(rng.choice(state.legal_actions))
    expected = plain_lines(state, k, exact=exact and not gravity) if any(state.returns) else set[int]()
    assert state.winning_cells == tuple(sorted(expected))
    assert bool(expected) == any(state.returns)
