"""The checks accept games that keep the contract, and name the violation of others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typing_extensions import override

from arena_plugins import InvalidMoveError, State, assert_conforms, check_game, load_game
from arena_plugins.checks import ConformanceError, random_match

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arena_plugins import Game

pytestmark = pytest.mark.usefixtures("third_party")


@pytest.mark.parametrize(
    "spec", ["misere", "misere:size=4", "tic-tac-toe", "connect-four", "gomoku:size=6,k=4"]
)
def test_good_games_pass(spec: str) -> None:
    checks = check_game(load_game(spec))
    assert_conforms(checks)
    assert [check.number for check in checks] == list(range(1, 15))
    assert all(check.title and check.detail for check in checks)


class Wrapped(State):
    """A state of a good game with one attribute replaced, by a value or by a function of the good state."""

    def __init__(self, state: State, changes: dict[str, Any]) -> None:
        self._state, self._changes = state, changes

    def __getattr__(self, name: str) -> object:
        if name not in self._changes:
            return getattr(self._state, name)
        change = self._changes[name]
        return change(self._state) if callable(change) else change

    @property
    @override
    def observation(self) -> NDArray[np.float32]:
        change = self._changes.get("observation", np.asarray)
        return change(self._state.observation)

    @property
    @override
    def winning_cells(self) -> tuple[int, ...]:
        change = self._changes.get("winning_cells", tuple)
        return change(self._state.winning_cells)

    @override
    def child(self, action: int) -> State:
        change = self._changes.get("child", type(self._state).child)
        return Wrapped(change(self._state, action), self._changes)


class Mutable(Wrapped):
    """A state that becomes its child, as if both shared one list of cells."""

    @override
    def child(self, action: int) -> State:
        child = self._state.child(action)
        self._changes = {"cells": child.cells}
        return Mutable(child, {})


def both_win(state: State) -> tuple[float, float]:
    return (1.0, 1.0) if state.is_terminal else (0.0, 0.0)


def lax(state: State, action: int) -> State:
    return state.child(action if action in state.legal_actions else state.legal_actions[0])


def rude(state: State, action: int) -> State:
    if action not in state.legal_actions:
        raise ValueError(action)
    return state.child(action)


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (1, {"current_player": 1}),
        (1, {"is_terminal": True}),
        (1, {"history": (0,)}),
        (1, {"legal_actions": ()}),
        (4, {"legal_actions": [0, 1]}),
        (4, {"legal_actions": (1, 0)}),
        (4, {"legal_actions": (0.0, 1.0)}),
        (4, {"legal_actions": (8, 9)}),
        (5, {"history": ()}),
        (6, {"child": lax}),
        (6, {"child": rude}),
        (8, {"returns": (1.0, 1.0)}),
        (8, {"returns": (1.0, -1.0)}),
        (8, {"returns": both_win}),
        (9, {"cells": (0, 1)}),
        (9, {"cells": (3,) * 9}),
        (10, {"observation": np.float64}),
        (10, {"observation": partial(np.delete, obj=1, axis=0)}),
        (10, {"observation": partial(np.multiply, 2)}),
        (10, {"observation": partial(np.flip, axis=0)}),
    ],
)
def test_a_broken_state_is_found(
    number: int, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = load_game("misere")
    initial = game.initial_state()
    monkeypatch.setattr(game, "initial_state", lambda: Wrapped(initial, changes))
    assert not check_game(game)[number - 1].passed


def test_a_state_that_its_child_changes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("misere")
    initial = game.initial_state()
    monkeypatch.setattr(game, "initial_state", lambda: Mutable(initial, {}))
    assert check_game(game)[4].detail == "child changed its parent, ()"


WRONG: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "a list": list,
    "descending": lambda cells: cells[::-1],
    "floats": lambda cells: tuple(map(float, cells)),
    "beyond the board": lambda cells: cells and (*cells, 99),
    "the loser's": lambda cells: cells and tuple(range(9)),
    "before the end": lambda _: (0,),
}


@pytest.mark.parametrize("what", WRONG)
def test_winning_cells_that_are_wrong_are_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("tic-tac-toe")
    initial = game.initial_state()
    monkeypatch.setattr(game, "initial_state", lambda: Wrapped(initial, {"winning_cells": WRONG[what]}))
    assert not check_game(game)[8].passed


def fixed_move(*_: object) -> str:
    return "a1"


def nothing_read(*_: object) -> int:
    return 0


def nothing_allowed(_: State, text: str) -> int:
    raise InvalidMoveError(text)


def no_words(*_: object) -> str:
    return ""


@pytest.mark.parametrize(
    ("number", "attribute", "value"),
    [
        (2, "name", "My Game"),
        (2, "name", "my_game"),
        (2, "params", {"size": 1.5}),
        (2, "params", {1: 2}),
        (3, "num_actions", 0),
        (3, "shape", (3, 3.0)),
        (7, "max_length", 4),
        (11, "move", fixed_move),
        (11, "parse_move", nothing_read),
        (12, "parse_move", nothing_read),
        (12, "parse_move", nothing_allowed),
        (13, "symmetries", []),
        (13, "symmetries", None),
        (14, "ending", no_words),
    ],
)
def test_a_broken_game_is_found(
    number: int, attribute: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = load_game("misere")
    monkeypatch.setattr(game, attribute, value)
    assert not check_game(game)[number - 1].passed


def test_false_symmetries_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("misere")
    identity = game.symmetries[0]
    swapped = (1, 0, *range(2, 9))
    for false in (
        identity._replace(cells=(0,) * 9),
        identity._replace(actions=(0,) * 9),
        identity._replace(cells=swapped),
        identity._replace(cells=swapped, actions=swapped),
    ):
        monkeypatch.setattr(game, "symmetries", [identity, false])
        assert not check_game(game)[12].passed


def test_failures_are_listed() -> None:
    class Broken:
        def initial_state(self) -> State:
            raise SystemExit("off")

    broken: Game = Broken()  # pyright: ignore[reportAssignmentType] - it is no game
    checks = check_game(broken)
    assert checks[0].detail == "raised SystemExit: off"
    assert {check.detail for check in checks[1:]} == {"not run because check 1 failed"}
    with pytest.raises(AssertionError, match=r"FAIL 1\. .*: raised SystemExit: off\nFAIL 2\. "):
        assert_conforms(checks)


def test_a_match_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("misere")
    monkeypatch.setattr(game, "max_length", 2)
    with pytest.raises(ConformanceError, match="not over after max_length = 2"):
        list(random_match(game, 1))
