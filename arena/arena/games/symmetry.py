"""Symmetries of boards, and canonical forms of positions and matches."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.contract import Symmetry
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins.contract import Game, State


class Canonical(NamedTuple):
    """The smallest of a position's symmetric images; two positions are equivalent if their `key` is equal."""

    cells: tuple[int, ...]
    """The lexicographically smallest image of the cells."""
    player: int
    """The side to move, 0 or 1."""
    symmetry: int
    """Index in `game.symmetries` of the first symmetry that maps the position to `cells`."""

    @property
    def key(self) -> tuple[tuple[int, ...], int]:
        """Cells and player, without the symmetry."""
        return self.cells, self.player


def mirror_symmetries(rows: int, cols: int) -> tuple[Symmetry, Symmetry]:
    """Return the identity and the left-right mirror of a board whose actions are columns."""
    columns = tuple(range(cols))
    mirror = tuple(row * cols + cols - 1 - col for row in range(rows) for col in columns)
    return Symmetry(tuple(range(rows * cols)), columns), Symmetry(mirror, columns[::-1])


def square_symmetries(size: int) -> tuple[Symmetry, ...]:
    """Return the eight symmetries of a square board whose actions are cells.

    Order: identity, quarter turns clockwise, then left-right mirror, diagonal, upside down, other diagonal.
    """
    grid = [tuple(range(size * row, size * (row + 1))) for row in range(size)]
    images: list[tuple[int, ...]] = []
    for turned in (grid, [row[::-1] for row in grid]):
        board = turned
        for _ in range(4):
            images.append(tuple(chain.from_iterable(board)))
            board = list(zip(*board, strict=True))[::-1]
    return tuple(Symmetry(image, image) for image in images)


def canonical(game: Game, state: State) -> Canonical:
    """Return the canonical form of a position of any game."""
    cells = state.cells
    images = [_image(cells, symmetry.cells) for symmetry in game.symmetries]
    # Of equal images the first, so that the symmetry is the same for equal positions.
    best = min(range(len(images)), key=images.__getitem__)
    return Canonical(images[best], state.current_player, best)


def leading(game: Game, state: State, other: State) -> tuple[int, ...]:
    """Return the indices in `game.symmetries` of all symmetries that map one position to another.

    The result is empty if the positions are not equivalent or have different sides to move. For a position
    and itself it lists the symmetries of the position.
    """
    if state.current_player != other.current_player:
        return ()
    cells, wanted = state.cells, other.cells
    return tuple(
        number for number, symmetry in enumerate(game.symmetries) if _image(cells, symmetry.cells) == wanted
    )


def canonical_actions(game: Game, actions: Sequence[int]) -> tuple[int, ...]:
    """Return the smallest of the images of an action sequence under the game's symmetries."""
    # Not `canonical` of each position: one symmetry must map the whole match.
    return min(tuple(symmetry.actions[action] for action in actions) for symmetry in game.symmetries)


def match_hash(game: Game, actions: Sequence[int]) -> str:
    """Return a hash that is equal for equal matches and their symmetric images, as 64 hex digits.

    It is the SHA-256 of the game's spec with every parameter, keys sorted, followed by the canonical actions
    in decimal, all separated by single blanks: `gomoku:exact=off,k=4,size=6 0 7 1`.
    """
    # Imported here, because a host imports this module, too, and every bot would wait.
    import hashlib

    # Defaults too: otherwise a changed default would give stored matches of another game the same hash.
    spec = Spec(game.name, {key: str(value) for key, value in game.params.items()})
    text = " ".join([str(spec), *map(str, canonical_actions(game, actions))])
    return hashlib.sha256(text.encode()).hexdigest()


def _image(cells: tuple[int, ...], permutation: tuple[int, ...]) -> tuple[int, ...]:
    # `permutation[i]` is where cell i goes; reading an image in order needs to know where each cell comes
    # from.
    return tuple(map(cells.__getitem__, _inverse(permutation)))


_INVERSES = 256
"""Permutations whose inverses are kept; a square board has eight, so those of 32 games."""


@lru_cache(maxsize=_INVERSES)
def _inverse(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))
