"""Many positions at once: stones in 64-bit words, the effects of actions, symmetric images."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.compiling import kernel
from arena.games.kernels.layout import layout_of
from arena.games.kernels.rules import completing, has_line, land, landings
from arena_plugins.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow
    from arena.games.kernels.layout import Layout
    from arena_plugins.contract import Game

ILLEGAL, OPEN, WON, DRAWN, LOST, SURE = range(6)
"""The effect of an action: it is illegal, the result is open, the game is won or drawn, the opponent wins at
once, or the opponent cannot win at once and faces two immediate wins."""
_ONE = np.uint64(1)
_BYTES = 8
_BITS = 64


class Look(NamedTuple):
    """The effects of all actions in some positions."""

    stones: NDArray[np.uint64]
    """The stone that each action places; `[n, num_actions]`."""
    kinds: NDArray[np.uint8]
    """`ILLEGAL` to `SURE`; `[n, num_actions]`."""


class ArrayRules:
    """A game in arrays; a position is a pair of words: the last mover's stones and the other player's."""

    def __init__(self, game: Game) -> None:
        """Use a k-in-a-row game with fewer than 64 cells.

        Raises:
            OptionError: it is another game.
        """
        layout = layout_of(game)
        if layout is None:
            raise OptionError(
                f"the trainer keras learns k in a row with fewer than 64 cells, not {game.name}"
            )
        self.game = game
        self.layout: Layout = layout
        self.shape = game.shape
        board = _board_of(game)
        self.bits = np.array(board, np.int64)
        """The bit number of each cell, row 0 on top; `[cells]`."""
        self._images = _image_tables(game, board)

    def look(self, own: NDArray[np.uint64], opp: NDArray[np.uint64]) -> Look:
        """Determine the effects of all actions; `own` are the stones of the side to move; `[n]` each."""
        size = (len(own), self.layout.num_actions)
        found = Look(np.zeros(size, np.uint64), np.zeros(size, np.uint8))
        _look(self.layout, own, opp, found.stones, found.kinds)
        return found

    def planes(self, mine: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Return the network's input, channels last as Keras needs on a CPU; `[n, rows, columns, 2]`."""
        words = np.stack([mine, other], axis=1).astype("<u8")
        bits = np.unpackbits(words.view(np.uint8).reshape(len(mine), 2, _BYTES), axis=2, bitorder="little")
        cells = bits[:, :, self.bits].astype(np.float32)
        return np.ascontiguousarray(cells.transpose(0, 2, 1)).reshape(len(mine), *self.shape, 2)

    @property
    def num_images(self) -> int:
        """Number of symmetries, identity included."""
        return len(self._images)

    def image(self, words: NDArray[np.uint64], symmetry: int) -> NDArray[np.uint64]:
        """Return the images of words under a symmetry."""
        table = self._images[symmetry]
        # A symmetry moves each bit independently, so eight table lookups give the image of a word.
        turned = np.zeros_like(words)
        for number in range(_BYTES):
            part = (words >> np.uint64(8 * number)).astype(np.uint8)
            turned |= table[number, part]
        return turned

    def canonical(
        self, mine: NDArray[np.uint64], other: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the smallest symmetric image of each position."""
        first, second = mine.copy(), other.copy()
        for symmetry in range(1, self.num_images):
            a, b = self.image(mine, symmetry), self.image(other, symmetry)
            less = (a < first) | ((a == first) & (b < second))
            first[less], second[less] = a[less], b[less]
        return first, second


def _board_of(game: Game) -> tuple[int, ...]:
    """Return the bit number of each cell, for a game that has a layout."""
    rules: KInARow = game  # pyright: ignore[reportAssignmentType] # only k in a row has a layout
    return rules.board.bits


def _image_tables(game: Game, bits: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return a table of where the bits of each byte of a word move; `[symmetries, 8, 256]`."""
    tables = np.zeros((len(game.symmetries), _BYTES, 256), np.uint64)
    values = np.arange(256)
    for number, symmetry in enumerate(game.symmetries):
        for cell, target in enumerate(symmetry.cells):
            byte, bit = divmod(bits[cell], _BYTES)
            tables[number, byte, values >> bit & 1 == 1] |= _ONE << np.uint64(bits[target])
    return tables


@kernel
def _look(
    layout: Layout,
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    stones: NDArray[np.uint64],
    kinds: NDArray[np.uint8],
) -> None:
    for row in range(len(own)):
        occupied = own[row] | opp[row]
        # Cells where the opponent would win; computed once, because the action does not change them.
        answers = completing(opp[row], layout)
        for action in range(layout.num_actions):
            stone = land(occupied, action, layout)
            stones[row, action] = stone
            if not stone:
                kinds[row, action] = ILLEGAL
                continue
            mine = own[row] | stone
            if has_line(mine, layout):
                kinds[row, action] = WON
            elif occupied | stone == layout.full:
                kinds[row, action] = DRAWN
            else:
                free = landings(occupied | stone, layout)
                threats = completing(mine, layout) & free
                # The opponent answers first: its win at hand counts before any own threats.
                if answers & free:
                    kinds[row, action] = LOST
                elif threats & (threats - _ONE):
                    # Two cells complete a line, and the opponent can fill only one of them.
                    kinds[row, action] = SURE
                else:
                    kinds[row, action] = OPEN
