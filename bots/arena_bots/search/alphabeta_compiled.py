"""Compiled alpha-beta for k in a row: the same scores and best actions as `alphabeta`, but much faster."""

from __future__ import annotations

from math import inf, tanh
from typing import TYPE_CHECKING

import numpy as np

from arena_bots.search.alphabeta import Verdict
from arena_bots.search.alphabeta_board import WON, AlphaBetaBoard, empty_board, geometry_of, replay
from arena_bots.search.alphabeta_frames import (
    AGE,
    LEVEL,
    MAX_NODES,
    NODES,
    NUM_COLUMNS,
    NUM_NUMBERS,
    OPEN,
    PAUSE,
    PLAYED,
    PLIES,
    SHIFT,
    STONES,
    AlphaBetaSearch,
)
from arena_bots.search.alphabeta_kernels import DONE, PAUSED, SKIPPED, glance, run
from arena_bots.search.alphabeta_table import MAX_AGE
from arena_bots.search.budget import Budget

if TYPE_CHECKING:
    from arena_bots.search.alphabeta_board import AlphaBetaGeometry
    from arena_plugins.contract import Game, State, Symmetry

_MAX_BITS = 20
"""Log2 of the number of positions in the transposition table, which then takes 16 MiB."""
_FEWEST_BITS = 11
"""Log2 of the positions in the table of a search to depth 0; each ply doubles it, up to `_MAX_BITS`."""
_WORD = 64
WORK = 1 << 18
"""Maximum actions evaluated between two reads of the clock; each stone re-evaluates all of a board's."""
_STONES = 4096
"""Stones placed between two reads of the clock on small boards; either bound takes 1 ms, at worst 3 ms."""
_DECIDED = WON // 2
"""Scores above this, or below its negative, are decided results."""


class CompiledAlphaBeta:
    """A search of one game to at most `depth` plies; nothing it keeps can change a later result."""

    def __init__(self, game: Game, geometry: AlphaBetaGeometry, depth: int) -> None:
        cells, num_actions = geometry.rows * geometry.columns, game.num_actions
        levels = min(depth, cells) + 2
        bits = min(depth + _FEWEST_BITS, _MAX_BITS)
        self._geometry = geometry
        self._empty = empty_board(geometry)
        self._symmetries = game.symmetries
        self._scale = 4.0 ** (geometry.k - 1)
        self._shift = _WORD - bits
        self._slice = max(min(WORK // num_actions, _STONES), 1)
        self._search = AlphaBetaSearch(
            numbers=np.zeros(NUM_NUMBERS, np.int64),
            frames=np.zeros((levels, NUM_COLUMNS), np.int64),
            moves=np.zeros((levels, num_actions), np.int64),
            lines=np.zeros((levels + num_actions, levels + 1), np.int16),
            scores=np.zeros(num_actions, np.int64),
            history=np.zeros((2, cells), np.int64),
            table=np.zeros((1 << bits, 2), np.int64),
        )
        self._age = 0
        # Compile or load the kernels before the clock of a move runs.
        self.deepen(game.initial_state(), 1, Budget(inf, inf))

    def deepen(self, state: State, depth: int, budget: Budget) -> Verdict | None:
        """Search 0, 1, ... `depth` plies after each action; return the deepest completed result.

        Returns None if the budget does not allow even depth 0. It ends early if more depth cannot change the
        result.
        """
        # Depth 0 visits each action once.
        if len(state.legal_actions) > budget.nodes or budget.is_late:
            return None
        empty = self._empty
        board = AlphaBetaBoard(
            empty.codes.copy(), empty.gains.copy(), empty.landing.copy(), empty.sums.copy()
        )
        replay(self._geometry, board, np.array(state.history, np.int64))
        self._reset(len(state.history), budget)
        glance(self._geometry, board, self._search)
        verdict = self._verdict(0, [])
        stabilizer = self._stabilizer(state)
        self._skip_images(stabilizer)
        numbers = self._search.numbers
        for plies in range(1, depth + 1):
            if (
                not numbers[OPEN]
                or abs(verdict.score) >= WON - plies
                or not self._reach(plies, board, budget)
            ):
                break
            verdict = self._verdict(plies, stabilizer)
        return verdict

    def value(self, score: int) -> float:
        """Convert a score to an expected result in [-1, 1], as `AlphaBeta.value` does."""
        if abs(score) > _DECIDED:
            return 1.0 if score > 0 else -1.0
        return tanh(score / self._scale)

    def distance(self, score: int) -> int | None:
        """Return the number of plies until a match with this score is decided; None if it is not."""
        return WON - abs(score) if abs(score) > _DECIDED else None

    def _reset(self, ply: int, budget: Budget) -> None:
        search = self._search
        # Entries name their search by its age. Before an age is used again, the entries with it must go.
        if self._age == MAX_AGE:
            search.table[:] = 0
            self._age = 0
        self._age += 1
        # The move order learnt from earlier positions is dropped: an answer depends on its position alone.
        search.history[:] = 0
        search.numbers[:] = 0
        search.numbers[AGE] = self._age
        search.numbers[PLAYED] = ply
        search.numbers[SHIFT] = self._shift
        search.numbers[MAX_NODES] = np.iinfo(np.int64).max if budget.nodes == inf else int(budget.nodes)

    def _reach(self, plies: int, board: AlphaBetaBoard, budget: Budget) -> bool:
        """Search to `plies`; return False if the budget ran out first."""
        numbers = self._search.numbers
        numbers[PLIES] = plies
        numbers[LEVEL] = numbers[OPEN] = 0
        how = PAUSED
        while how == PAUSED:
            if budget.is_late:
                return False
            # A kernel cannot read the clock: it pauses, and its state in `frames` lets the next call
            # continue.
            numbers[PAUSE] = numbers[STONES] + self._slice
            how = run(self._geometry, board, self._search)
        return how == DONE

    def _stabilizer(self, state: State) -> list[Symmetry]:
        """Return the symmetries that map the position to itself, except the identity."""
        stones = {cell: owner for cell, owner in enumerate(state.cells) if owner}
        return [
            symmetry
            for symmetry in self._symmetries[1:]
            if all(stones.get(symmetry.cells[cell]) == owner for cell, owner in stones.items())
        ]

    def _skip_images(self, stabilizer: list[Symmetry]) -> None:
        """Exclude each action that is the symmetric image of another one from the search."""
        scores = self._search.scores
        for action in range(len(scores)):
            # Of equivalent actions the one with the lowest number is searched, and `_verdict` adds the
            # others.
            if any(symmetry.actions[action] < action for symmetry in stabilizer):
                scores[action] = SKIPPED

    def _verdict(self, plies: int, stabilizer: list[Symmetry]) -> Verdict:
        search = self._search
        score = int(search.scores.max())
        best: dict[int, tuple[int, ...]] = {}
        for action in np.flatnonzero(search.scores == score).tolist():
            length, *line = search.lines[len(search.frames) + action].tolist()
            best[action] = tuple(line[:length])
        for symmetry in stabilizer:
            for action, line in [*best.items()]:
                best.setdefault(symmetry.actions[action], tuple(symmetry.actions[step] for step in line))
        return Verdict(score, best, plies, int(search.numbers[NODES]))


def compiled_search(game: Game, depth: int) -> CompiledAlphaBeta | None:
    """Make the search for `game` to at most `depth` plies; None if only the general search supports it."""
    geometry = geometry_of(game)
    return CompiledAlphaBeta(game, geometry, depth) if geometry else None
