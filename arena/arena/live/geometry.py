"""Positions of a game, and where its actions lie on the board."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Literal

import msgspec

from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins import Game, State


class Geometry(msgspec.Struct, frozen=True, kw_only=True):
    """The cells that the actions of a game fill, derived from its initial position."""

    rows: int
    columns: int
    kind: Literal["columns", "cells", "other"]
    """Meaning of an action: a column into which a stone falls (`columns`), a cell (`cells`), or neither
    (`other`)."""
    column_names: tuple[str, ...]
    """Names of the columns in moves, else their numbers."""
    row_names: tuple[str, ...]
    """Names of the rows in moves, from the top, else their numbers."""
    targets: tuple[int, ...]
    """The cell that each action fills on the empty board; empty for `other`."""

    def landing(self, cells: Sequence[int], action: int) -> int | None:
        """Return the cell that `action` would fill; None if it is not playable or the cell is unknown."""
        if self.kind == "other" or not 0 <= action < len(self.targets):
            return None
        if self.kind == "cells":
            cell = self.targets[action]
            return None if cells[cell] else cell
        column = range(self.targets[action] % self.columns, self.rows * self.columns, self.columns)
        falls_down = self.targets[action] >= self.columns
        empty = [cell for cell in column if not cells[cell]]
        return (empty[-1] if falls_down else empty[0]) if empty else None

    def action_at(self, row: int, column: int) -> int | None:
        """Return the action of a click on a cell, legal or not; None if there is none."""
        if self.kind == "columns":
            return next((a for a, cell in enumerate(self.targets) if cell % self.columns == column), None)
        cell = row * self.columns + column
        return self.targets.index(cell) if cell in self.targets else None


@lru_cache(maxsize=32)
def find_game(spec: str) -> Game:
    """Return a game, loaded once.

    Raises:
        PluginError: the game is not installed, or rejects an option.
    """
    return load_game(spec)


def position(spec: str, actions: tuple[int, ...]) -> State:
    """Return the state after `actions`; computed from the cached state before the last action if possible.

    Raises:
        PluginError: the game is not installed.
        InvalidMoveError: an action does not exist in the game.
        IllegalMoveError: an action is illegal in its position.
    """
    with _LOCK:
        known = _RECENT.pop((spec, actions), None)
        if known is None:
            before = _RECENT.get((spec, actions[:-1]))
            known = _replayed(spec, actions) if before is None or not actions else before.child(actions[-1])
        _RECENT[spec, actions] = known
        if len(_RECENT) > _MAX_RECENT:
            # A dict keeps its insertion order, so the first key is the least recently used one.
            del _RECENT[next(iter(_RECENT))]
    return known


_RECENT: dict[tuple[str, tuple[int, ...]], State] = {}
_MAX_RECENT = 256
_LOCK = Lock()
"""Guards the cache: a viewer reduces events in one thread and replays matches in another."""


def _replayed(spec: str, actions: tuple[int, ...]) -> State:
    state = find_game(spec).initial_state()
    for action in actions:
        state = state.child(action)
    return state


@lru_cache(maxsize=32)
def geometry(spec: str) -> Geometry:
    """Return the geometry of a game.

    Raises:
        PluginError: the game is not installed, or rejects an option.
    """
    game = find_game(spec)
    rows, columns = game.shape
    names = edges(game)
    found = _targets(game)
    targets = list(found.values()) if list(found) == list(range(game.num_actions)) else []
    kind: Literal["columns", "cells", "other"] = "other"
    if len(targets) == columns and len({cell % columns for cell in targets}) == columns:
        kind = "columns"
    elif sorted(targets) == list(range(rows * columns)):
        kind = "cells"
    return Geometry(
        rows=rows,
        columns=columns,
        kind=kind,
        column_names=tuple(names[0]) or tuple(str(column + 1) for column in range(columns)),
        row_names=tuple(names[1]) or tuple(str(rows - row) for row in range(rows)),
        targets=() if kind == "other" else tuple(targets),
    )


def edges(game: Game) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of columns and rows that occur in moves; empty if moves have another form.

    They are derived from the first moves: in Connect Four a move is the name of a column; on a board where
    every cell is playable it is the name of the column followed by that of the row.
    """
    rows, columns = game.shape
    start = game.initial_state()
    moves = {divmod(cell, columns): game.move(start, action) for action, cell in _targets(game).items()}
    if len(moves) == columns and len({column for _, column in moves}) == columns:
        return [moves[place] for place in sorted(moves, key=lambda place: place[1])], ()
    if len(moves) != rows * columns:
        return (), ()
    column_names = [_beginning([moves[row, column] for row in range(rows)]) for column in range(columns)]
    row_names = [moves[row, 0].removeprefix(column_names[0]) for row in range(rows)]
    if any(moves[row, column] != column_names[column] + row_names[row] for row, column in moves):
        return (), ()
    return column_names, row_names


def changed_cells(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return the cells that differ between two boards."""
    return [cell for cell, stone in enumerate(after) if stone != before[cell]]


def _targets(game: Game) -> dict[int, int]:
    """Return the cell that each legal action fills at first; empty unless each fills exactly one."""
    start = game.initial_state()
    filled = {action: changed_cells(start.cells, start.child(action).cells) for action in start.legal_actions}
    return {a: cells[0] for a, cells in filled.items()} if all(len(c) == 1 for c in filled.values()) else {}


def _beginning(moves: Sequence[str]) -> str:
    """Return the longest common prefix of all moves."""
    first, last = min(moves), max(moves)
    same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:same]
