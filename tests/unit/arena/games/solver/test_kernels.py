"""The compiled searches against the same code run by Python itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from arena.games.kernels import bits, layout, rules
from arena.games.solver import _four, _layers, _lines_search, _memory, _ordering, _stones, book
from arena.games.solver.connect_four_solver import ConnectFourSolver
from arena.games.solver.line_games import LinesSolver
from brute_force import late_states, random_states
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from arena.games.solver.solved import Solved
    from arena.games.solver.solver import Solver
    from arena_plugins.contract import State

MODULES = (_stones, _memory, _ordering, _four, _layers, _lines_search, book, rules)
CALLERS = (
    "arena.games.solver.connect_four_solver",
    "arena.games.solver.line_games",
    "arena.games.solver.book",
)
CONNECT_FOUR = make("connect-four")
NUM_BITS = {name: getattr(bits, name) for name in ("num_bits", "bit_number")}


def plain(name: str) -> object:
    """Return a Python version of one of the two bit functions, which are single instructions in kernels."""
    if name == "num_bits":
        return lambda word: int(word).bit_count()  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType, reportUnknownArgumentType] # any int
    return lambda word: (int(word) & -int(word)).bit_length() - 1  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType, reportUnknownArgumentType] # any int


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run every kernel as plain Python."""
    import sys

    modules: list[ModuleType] = [*MODULES, *(sys.modules[name] for name in CALLERS)]
    for module in modules:
        for name, value in list(vars(module).items()):
            if name in NUM_BITS:
                monkeypatch.setattr(module, name, plain(name))
            elif hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    with np.errstate(over="ignore"):
        yield


def answers(solver: Solver, states: list[State], **options: Any) -> list[Solved]:  # noqa: ANN401 # any option
    solver.clear()
    return [solver.solve(state, **options) for state in states]


@pytest.mark.parametrize("options", [{}, {"distances": False}, {"nodes": 40}])
def test_connect_four(options: dict[str, Any], request: pytest.FixtureRequest) -> None:
    states = [*late_states(CONNECT_FOUR, seeded(1), 60, 9), *random_states(CONNECT_FOUR, seeded(2), 4, 30)]
    solver = ConnectFourSolver(CONNECT_FOUR, None, top_bits=8)
    compiled = answers(solver, states, **options)
    labels = solver.label(states, nodes=options.get("nodes"))
    request.getfixturevalue("uncompiled")
    assert answers(solver, states, **options) == compiled
    if not options:
        again = solver.label(states)
        assert (again.outcomes == labels.outcomes).all()
        assert (again.distances == labels.distances).all()


def test_early_positions_within_a_budget(request: pytest.FixtureRequest) -> None:
    states = random_states(CONNECT_FOUR, seeded(3), 5, 8)
    solver = ConnectFourSolver(CONNECT_FOUR, None, top_bits=8)
    compiled = answers(solver, states, nodes=300)
    request.getfixturevalue("uncompiled")
    assert answers(solver, states, nodes=300) == compiled


@pytest.mark.parametrize("spec", ["tic-tac-toe", "gomoku:exact=on,k=3,size=4", "connect-four:cols=4,rows=4"])
def test_other_games(spec: str, request: pytest.FixtureRequest) -> None:
    game = make(spec)
    states = list(late_states(game, seeded(1), 20, 7))
    found = layout.layout_of(game)
    assert found is not None
    solver = LinesSolver(game, found)
    compiled = answers(solver, states)
    request.getfixturevalue("uncompiled")
    assert answers(solver, states) == compiled


def test_layers_and_back_up(uncompiled: None) -> None:
    del uncompiled
    plain_layers = _layers.make_layers(3)
    assert [len(layer.keys) for layer in plain_layers] == [1, 4, 25, 121]
    shipped = book.Book.read(book.SHIPPED)
    assert shipped.sizes[:4] == [1, 4, 25, 121]
    lasts = np.array(
        [shipped.score(int(own), int(mask), 3) for _, own, mask in zip(*plain_layers[3], strict=True)]
    )
    again = book.Book.from_last(plain_layers, lasts.astype(np.int8))
    assert again.score(0, 0, 0) == 1
