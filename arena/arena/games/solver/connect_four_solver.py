"""The solver of Connect Four on 6 rows and 7 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np
from typing_extensions import override

from arena.games.solver._four import decide, forced_action, instant_win, narrow, narrow_actions, rate_actions
from arena.games.solver._memory import forget, new_memory
from arena.games.solver._ordering import shipped_order
from arena.games.solver._stones import NUM_ACTIONS, NUM_CELLS
from arena.games.solver.solved import ILLEGAL, UNSOLVED, Labels
from arena.games.solver.solver import Solver, ply_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena.games.solver.book import Book
    from arena.games.solver.solver import Bounds
    from arena.games.solver.stored_answers import Answers
    from arena_plugins.contract import State

TOP_BITS = 20
"""Logarithm (base 2) of the table size for plies before 24: 8 MB. With the book, a larger one has no
benefit."""


SMALL_BITS = 16
_NO_SCORE = 99
_UNBOUNDED = 1 << 60
"""More nodes than can be searched in a century."""


class ConnectFourSolver(Solver):
    """Solves any position, with a book for the first plies and stored answers for long searches beyond it."""

    usual_nodes = 2_000_000
    patient_nodes = 2_000_000_000
    """Number of nodes sufficient for any position beyond the book."""

    def __init__(
        self,
        game: KInARow,
        book: Book | None,
        *,
        answers: Answers | None = None,
        top_bits: int = TOP_BITS,
        order: NDArray[np.int64] | None = None,
    ) -> None:
        """Load a solver; `order` replaces the shipped weights of the move order."""
        super().__init__(game, new_memory(top_bits, shipped_order() if order is None else order))
        self._book = book
        self._answers = answers

    @override
    def clear(self) -> None:
        forget(self._memory)

    @override
    def label(self, states: Sequence[State], *, nodes: int | None = None, distances: bool = True) -> Labels:
        known = self._book.plies if self._book else 0
        own = list(map(self.checked, states))
        # Positions in the book are looked up one by one; all others are solved together in one compiled call.
        early = [position for position, state in enumerate(own) if state.is_terminal or ply_of(state) < known]
        late = sorted(set(range(len(own))).difference(early))
        shape = (len(own), NUM_ACTIONS)
        labels = Labels(np.full(shape, ILLEGAL, np.int8), np.zeros(shape, np.int8))
        few = super().label([own[position] for position in early], nodes=nodes, distances=distances)
        many = self._label([own[position] for position in late], nodes, distances=distances)
        for target, small, large in zip(labels, few, many, strict=True):
            target[early], target[late] = small, large
        return labels

    def _label(self, states: Sequence[KInARowState], nodes: int | None, *, distances: bool) -> Labels:
        """Label positions beyond the book, none of them over, in one call of compiled code."""
        own = np.array([state.own for state in states], np.int64)
        mask = own | np.array([state.opp for state in states], np.int64)
        # The kernel writes legal actions only, so the others keep a value that is no score.
        bounds = np.full((len(states), NUM_ACTIONS, 2), _NO_SCORE, np.int64)
        narrow_actions(self._memory, own, mask, _UNBOUNDED if nodes is None else nodes, distances, bounds)
        low, high = bounds[..., 0], bounds[..., 1]
        outcomes = np.where(low == _NO_SCORE, ILLEGAL, _outcomes(bounds)).astype(np.int8)
        ply = np.bitwise_count(mask)[:, None].astype(np.int64)
        exact = (low == high) & (low != _NO_SCORE)
        return Labels(outcomes, np.where(exact, distance_of(low, ply), 0).astype(np.int8))

    def outcomes(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], nodes: int) -> NDArray[np.int8]:
        """Return 1, 0 or -1 for the side to move in many positions, none of them over, or UNSOLVED.

        `own` and `opp` are stones of the side to move and of the other side, `[n]` each, with bits as in
        `arena.games.bitboard`; `nodes` is the budget of each position. The book is not used.
        """
        # Kernels of this game use signed words: the 49 bits of a board never reach the sign.
        mine = own.astype(np.int64)
        bounds = np.zeros((len(own), 2), np.int64)
        decide(self._memory, mine, mine | opp.astype(np.int64), nodes, bounds)
        return _outcomes(bounds).astype(np.int8)

    @override
    def only_answer(self, state: State) -> int | None:
        own = self.checked(state)
        action = -1 if own.is_terminal else forced_action(own.own, own.own | own.opp)
        return None if action < 0 else action

    @override
    def _narrow(self, state: KInARowState, bounds: Bounds, *, exact: bool) -> bool:
        return narrow(self._memory, bounds, state.own, state.own | state.opp, exact)

    @override
    def _order(self, state: KInARowState, actions: Iterable[int]) -> list[int]:
        merits = np.zeros(NUM_ACTIONS, np.int64)
        rate_actions(self._memory, state.own, state.own | state.opp, merits)
        # Of equal merit the middle comes first: it belongs to most lines, so it refutes most often.
        return sorted(actions, key=lambda action: (-merits[action], abs(action - 3)))

    @override
    def _distance(self, score: int, ply: int) -> int:
        return distance_of(score, ply)

    @override
    def _expect(self, state: KInARowState) -> tuple[int, int]:
        win = instant_win(state.own, state.own | state.opp)
        if win:
            return win, win
        low, high = super()._expect(state)
        # Just beyond the book its scores bound this one, as the position is a child of known ones.
        if self._book is not None and ply_of(state) == self._book.plies + 1:
            low = max(low, self._book.least(state.own, state.own | state.opp))
        return low, high

    @override
    def _answered(self, state: KInARowState) -> tuple[int, int] | None:
        return None if self._answers is None else self._answers.find(state.own, state.own | state.opp)

    @override
    def _recall(self, state: KInARowState) -> int | None:
        return (
            None if self._book is None else self._book.score(state.own, state.own | state.opp, ply_of(state))
        )


def _outcomes(bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the signs of scores between `bounds` `[..., 2]`; UNSOLVED if they are not certain."""
    low, high = bounds[..., 0], bounds[..., 1]
    # Bounds of 0 and a positive number have different signs: a draw is then possible as well as a win.
    certain = (np.sign(low) == np.sign(high)) & ((low == high) | (low != 0))
    return np.where(certain, np.sign(low), UNSOLVED)


@overload
def distance_of(score: int, ply: int) -> int: ...
@overload
def distance_of(score: NDArray[np.int64], ply: NDArray[np.int64]) -> NDArray[np.int64]: ...
def distance_of(score: int | NDArray[np.int64], ply: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
    """Return the plies from `ply` to the end that the score of a position at `ply` stands for.

    A winner's n-th last stone is placed at ply `43 - 2n` or `44 - 2n`, depending on the side.
    """
    # The parity of the ply says whose stone it is: at an odd distance the side to move places the last stone.
    end = NUM_CELLS + 1 - 2 * abs(score)
    is_mine = (end - ply) % 2 == 1
    return end - ply + (score != 0) * (is_mine != (score > 0)) - (score == 0)
