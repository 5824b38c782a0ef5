"""k in a row in its simplest form, on a list of lists: the reference for tests of the fast rules."""

from __future__ import annotations


class NaiveMatch:
    def __init__(self, rows: int, cols: int, k: int, *, gravity: bool = False, exact: bool = False) -> None:
        self.rows, self.cols, self.k, self.gravity, self.exact = rows, cols, k, gravity, exact
        self.board = [[0] * cols for _ in range(rows)]
        self.stone = 1
        self.winner = 0

    @property
    def cells(self) -> tuple[int, ...]:
        return tuple(stone for row in self.board for stone in row)

    @property
    def legal_actions(self) -> tuple[int, ...]:
        if self.winner:
            return ()
        if self.gravity:
            return tuple(col for col in range(self.cols) if not self.board[0][col])
        return tuple(cell for cell, stone in enumerate(self.cells) if not stone)

    @property
    def returns(self) -> tuple[float, float]:
        return {0: (0.0, 0.0), 1: (1.0, -1.0), 2: (-1.0, 1.0)}[self.winner]

    def play(self, action: int) -> None:
        row, col = self.landing(action)
        self.board[row][col] = self.stone
        lengths = [self.length(row, col, *step) for step in ((0, 1), (1, 0), (1, 1), (1, -1))]
        if any(length == self.k if self.exact else length >= self.k for length in lengths):
            self.winner = self.stone
        self.stone = 3 - self.stone

    def landing(self, action: int) -> tuple[int, int]:
        if self.gravity:
            return max(row for row in range(self.rows) if not self.board[row][action]), action
        return divmod(action, self.cols)

    def length(self, row: int, col: int, down: int, right: int) -> int:
        """Count the stones in line with the one just placed, itself included."""
        count = 1
        for sign in (1, -1):
            r, c = row + sign * down, col + sign * right
            while 0 <= r < self.rows and 0 <= c < self.cols and self.board[r][c] == self.stone:
                count += 1
                r, c = r + sign * down, c + sign * right
        return count
