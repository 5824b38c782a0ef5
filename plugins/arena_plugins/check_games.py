"""The conformance checks for games; each function checks one requirement of the contract."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING

from arena_plugins.checks import ConformanceError, random_match, require
from arena_plugins.errors import IllegalMoveError, InvalidMoveError
from arena_plugins.spec import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena_plugins.contract import Game, State

_NUM_MATCHES = 5
"""Number of random matches that each check plays."""
_NO_ACTIONS: tuple[object, ...] = (True, 0.0, "0", None)
"""Values that are not an action in any game."""
_NO_MOVES = ("", "?!", "0 0 0", "\N{SNOWMAN}")
"""Texts that are not a move in any game."""


def _states(game: Game) -> Iterator[State]:
    return chain.from_iterable(random_match(game, seed) for seed in range(_NUM_MATCHES))


def _refuses(call: Callable[[], object], error: type[Exception], what: str) -> None:
    try:
        call()
    except error:
        return
    except Exception as other:
        raise ConformanceError(f"{what} raised {type(other).__name__}, not {error.__name__}") from other
    raise ConformanceError(f"{what} was accepted; it must raise {error.__name__}")


def initial_state(game: Game) -> str:
    """The initial state has no history, and the first player is to move."""
    state = game.initial_state()
    require(state.current_player == 0, f"current_player is {state.current_player}")
    require(not state.is_terminal, "it is terminal")
    require(state.history == (), f"history is {state.history}")
    require(len(state.legal_actions) > 0, "no action is legal")
    return f"{len(state.legal_actions)} legal actions"


def names(game: Game) -> str:
    """The name is lower case with hyphens; params are ints and texts."""
    require(NAME.match(game.name) and game.name == game.name.lower(), f"name is {game.name!r}")
    require("_" not in game.name, f'name is {game.name!r}; write "-" for "_"')
    params = dict(game.params)
    require(all(type(value) in (int, str) for value in params.values()), f"params are {params}")
    require(json.loads(json.dumps(params)) == params, f"params are {params}")
    return f"{len(params)} params"


def sizes(game: Game) -> str:
    """num_actions, max_length and the board's sides are positive ints."""
    for what, number in zip(
        ("num_actions", "max_length", "rows", "columns"),
        (game.num_actions, game.max_length, *game.shape),
        strict=True,
    ):
        require(type(number) is int and number > 0, f"{what} is {number!r}")
    return f"{game.num_actions} actions, {game.shape[0]} x {game.shape[1]}"


def legal_actions(game: Game) -> str:
    """Legal actions are a tuple of ints, ascending, in range, empty only at the end."""
    for state in _states(game):
        actions = state.legal_actions
        require(type(actions) is tuple, f"legal_actions is a {type(actions).__name__}")
        require(all(type(action) is int for action in actions), f"{actions} are not all ints")
        require(list(actions) == sorted(set(actions)), f"{actions} do not ascend")
        require(all(0 <= action < game.num_actions for action in actions), f"{actions} leave the range")
        require(
            bool(actions) is not state.is_terminal, f"{len(actions)} actions, terminal: {state.is_terminal}"
        )
    return f"{_NUM_MATCHES} matches"


def children(game: Game) -> str:
    """child() appends to the history, leaves the parent unchanged, and is repeatable."""
    count = 0
    for state in _states(game):
        before = _view(state)
        for action in state.legal_actions[:3]:
            child = state.child(action)
            require(child.history == (*state.history, action), f"history is {child.history}")
            require(_view(child) == _view(state.child(action)), f"child({action}) differs the second time")
            require(child.current_player in {0, 1}, f"current_player is {child.current_player}")
            count += 1
        require(_view(state) == before, f"child changed its parent, {state.history}")
    return f"{count} children"


def refusals(game: Game) -> str:
    """A value that is not an action raises InvalidMoveError, a forbidden action IllegalMoveError."""
    for state in random_match(game, 0):
        for action in (-1, game.num_actions, *_NO_ACTIONS):
            _refuses(lambda s=state, a=action: s.child(a), InvalidMoveError, f"child({action!r})")  # pyright: ignore[reportArgumentType] - wrong on purpose
        for action in set(range(game.num_actions)) - set(state.legal_actions):
            _refuses(lambda s=state, a=action: s.child(a), IllegalMoveError, f"child({action})")
    return "every action of one match"


def length(game: Game) -> str:
    """Every match ends within max_length."""
    longest = max(len(state.history) for state in _states(game))
    return f"longest of {_NUM_MATCHES}: {longest} of {game.max_length}"


def returns(game: Game) -> str:
    """Returns sum to zero, lie in [-1, 1], and are zero until the end."""
    for state in _states(game):
        first, second = state.returns
        require(first + second == 0 and abs(first) <= 1, f"returns are {state.returns}")
        require(state.is_terminal or first == 0, f"returns are {state.returns} before the end")
    return f"{_NUM_MATCHES} matches"


def cells(game: Game) -> str:
    """Cells are a tuple of 0, 1 and 2, one per row and column; winning cells hold the winner's stones."""
    rows, columns = game.shape
    for state in _states(game):
        require(len(state.cells) == rows * columns, f"{len(state.cells)} cells on {rows} x {columns}")
        require(set(state.cells) <= {0, 1, 2}, f"cells hold {set(state.cells)}")
        require(all(type(cell) is int for cell in state.cells), "cells are not all ints")
        _require_winning(state)
    return f"{rows * columns} cells"


def _require_winning(state: State) -> None:
    """Require that winning cells, which are optional, hold stones of the winner.

    Raises:
        ConformanceError: they do not, or they are not an ascending tuple of ints.
    """
    found = state.winning_cells
    require(type(found) is tuple, f"winning_cells is a {type(found).__name__}")
    require(all(type(cell) is int for cell in found), f"winning_cells {found} are not all ints")
    require(list(found) == sorted(set(found)), f"winning_cells {found} do not ascend")
    winner = 1 if state.returns[0] > 0 else 2
    own = any(state.returns) and all(0 <= c < len(state.cells) and state.cells[c] == winner for c in found)
    require(own or not found, f"winning_cells {found} are not stones of the winner after {state.history}")


def observation(game: Game) -> str:
    """The observation is float32 planes of 0 and 1: the mover's stones, the opponent's, others."""
    import numpy as np  # imported here to keep `import arena_plugins` fast

    shape = ()
    for state in _states(game):
        planes = state.observation
        shape = planes.shape
        require(planes.dtype == np.float32, f"dtype is {planes.dtype}")
        require(len(shape) == 3 and shape[0] >= 2 and shape[1:] == game.shape, f"shape is {shape}")  # noqa: PLR2004 - planes, rows, columns
        require(bool(np.isin(planes, (0, 1)).all()), "there are values beside 0 and 1")
        if not state.is_terminal:
            board = np.array(state.cells).reshape(game.shape)
            for plane, stone in enumerate((1 + state.current_player, 2 - state.current_player)):
                equal = np.array_equal(planes[plane], board == stone)
                require(equal, f"plane {plane} is not the stones {stone} after {state.history}")
    return f"shape {list(shape)}"


def moves(game: Game) -> str:
    """parse_move reads what move writes, ignoring case and surrounding blanks."""
    for state in _states(game):
        texts = [game.move(state, action) for action in state.legal_actions]
        require(len(set(texts)) == len(texts), f"two actions have one move: {texts}")
        for action, text in zip(state.legal_actions, texts, strict=True):
            for variant in (text, f" {text} ", text.upper(), text.lower()):
                read = game.parse_move(state, variant)
                require(read == action, f"{variant!r} is read as {read}, not {action}")
    return f"{_NUM_MATCHES} matches"


def wrong_moves(game: Game) -> str:
    """A text that is not a move raises InvalidMoveError, a forbidden move IllegalMoveError."""
    for state in random_match(game, 0):
        for text in _NO_MOVES:
            _refuses(lambda s=state, t=text: game.parse_move(s, t), InvalidMoveError, f"parse_move({text!r})")
        for action in set(range(game.num_actions)) - set(state.legal_actions):
            text = game.move(state, action)
            _refuses(lambda s=state, t=text: game.parse_move(s, t), IllegalMoveError, f"parse_move({text!r})")
    return "every action of one match"


def symmetries(game: Game) -> str:
    """Symmetries are permutations, the identity first, and commute with child()."""
    count = game.shape[0] * game.shape[1]
    identity = (tuple(range(count)), tuple(range(game.num_actions)))
    require(len(game.symmetries) > 0 and tuple(game.symmetries[0]) == identity, "identity is not the first")
    for number, symmetry in enumerate(game.symmetries):
        require(sorted(symmetry.cells) == list(identity[0]), f"cells of symmetry {number} are no permutation")
        require(
            sorted(symmetry.actions) == list(identity[1]), f"actions of symmetry {number} are no permutation"
        )
        image = game.initial_state()
        for state in _states(game):
            image = (
                image.child(symmetry.actions[state.history[-1]]) if state.history else game.initial_state()
            )
            mapped = [0] * count
            for cell, stone in enumerate(state.cells):
                mapped[symmetry.cells[cell]] = stone
            same = image.cells == tuple(mapped) and image.returns == state.returns
            require(same, f"symmetry {number} does not commute with {state.history}")
            legal = sorted(symmetry.actions[action] for action in state.legal_actions)
            require(image.legal_actions == tuple(legal), f"symmetry {number}: other legal actions")
    return f"{len(game.symmetries)} symmetries"


def endings(game: Game) -> str:
    """ending() describes every terminal state."""
    words = {game.ending(state) for state in _states(game) if state.is_terminal}
    require(all(type(word) is str and word for word in words), f"ending gave {words}")
    return ", ".join(sorted(words))


def _view(state: State) -> tuple[object, ...]:
    return (
        state.current_player,
        state.legal_actions,
        state.is_terminal,
        state.returns,
        state.history,
        state.cells,
        state.observation.tobytes(),
    )


CHECKS: tuple[Callable[[Game], str], ...] = (
    initial_state,
    names,
    sizes,
    legal_actions,
    children,
    refusals,
    length,
    returns,
    cells,
    observation,
    moves,
    wrong_moves,
    symmetries,
    endings,
)
"""All checks in the order of their numbers."""
