"""The replay buffer: the newest positions, in a ring whose size grows with their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.layout import rules_of
from arena_bots.alphazero.train.games import Samples, no_samples
from arena_bots.search.lockstep.batches import cells_of, paint_all

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from arena.games.kernels.layout import Layout
    from arena_plugins.contract import Game


class TrainingBatch(NamedTuple):
    """Positions in the form in which a network learns them."""

    planes: NDArray[np.float32]
    """Input planes; `[n, planes, rows, columns]`."""
    legal: NDArray[np.bool_]
    """Whether each logit belongs to a legal action; `[n, logits]`."""
    policies: NDArray[np.float32]
    """Target policies; `[n, logits]`."""
    weights: NDArray[np.float32]
    """Weight of each policy in the loss; `[n]`."""
    chances: NDArray[np.float32]
    """Target chances of a win, a draw and a loss; `[n, 3]`."""


class Window(NamedTuple):
    """The number of newest positions to learn from."""

    least: int
    """Minimum: up to this number, all positions are used."""
    share: float
    """Share of all positions so far that are used."""
    most: int

    def size(self, seen: int) -> int:
        """Return the number of positions to use after `seen` positions in total."""
        return min(seen, self.most, max(self.least, int(self.share * seen)))


class Buffer:
    """A ring buffer of positions."""

    def __init__(self, window: Window, num_actions: int) -> None:
        self._window = window
        self._store = no_samples(num_actions, room=window.most)
        self.seen = 0
        """Total number of positions added so far."""

    @property
    def size(self) -> int:
        """Number of positions currently used."""
        return self._window.size(self.seen)

    def add(self, samples: Samples) -> None:
        """Add positions, which displace the oldest ones."""
        # Places repeat if more positions come at once than fit; NumPy then keeps the last, which are the
        # newest.
        places = (self.seen + np.arange(len(samples.own))) % self._window.most
        for store, some in zip(self._store, samples, strict=True):
            store[places] = some
        self.seen += len(places)

    def draw(self, n: int, rng: np.random.Generator) -> Samples:
        """Draw `n` positions uniformly."""
        newest = self.seen - self.size
        places = (newest + rng.integers(self.size, size=n)) % self._window.most
        return Samples._make(array[places] for array in self._store)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `restore` needs, oldest position first."""
        places = (np.arange(self.seen - self.size, self.seen)) % self._window.most
        return {
            f"buffer.{name}": array[places] for name, array in zip(Samples._fields, self._store, strict=True)
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], seen: int) -> None:
        """Restore a snapshot that was taken after `seen` positions had been added."""
        samples = Samples._make(arrays[f"buffer.{name}"] for name in Samples._fields)
        # The place of a position follows from the number before it, so each returns to where it was.
        self.seen = seen - len(samples.own)
        self.add(samples)


class PositionEncoder:
    """Turns positions into network input, each transformed by one of the game's symmetries."""

    def __init__(self, game: Game, layout: Layout, planes: int, *, by_cell: bool) -> None:
        rules = rules_of(game)
        if rules is None:
            raise ValueError(f"there are no kernels for {game.name}")
        self._layout = layout
        self._shape = (planes, *game.shape)
        self._cells = cells_of(rules.board.bits)
        self._bits = self._cells.bits.astype(np.uint64)
        self._by_cell = by_cell and layout.num_actions != len(self._bits)
        # For each cell and action of the image, the index of the cell or action that it comes from.
        self._cell_maps = np.array([np.argsort(symmetry.cells) for symmetry in game.symmetries])
        self._action_maps = np.array([np.argsort(symmetry.actions) for symmetry in game.symmetries])

    @property
    def num_symmetries(self) -> int:
        """Number of the game's symmetries, identity included."""
        return len(self._cell_maps)

    def paint(self, samples: Samples, symmetries: NDArray[np.int64]) -> TrainingBatch:
        """Return a batch; `symmetries` is the index of the symmetry for each position, `[n]`."""
        n, planes = len(samples.own), self._shape[0]
        boards = np.zeros((n, planes, len(self._bits)), np.float32)
        paint_all(boards, samples.own, samples.opp, samples.last, self._cells)
        maps = self._cell_maps[symmetries]
        boards = np.take_along_axis(boards, maps[:, None, :], axis=2)
        landing = self._landing(samples)
        policies = samples.policies.astype(np.float32)
        if self._by_cell:
            # At most one action lands on a cell, so the cell's logit is that action's logit.
            columns = np.arange(len(self._bits)) % self._shape[2]
            policies = np.where(landing, policies[:, columns], 0)
            moved = maps
        else:
            moved = self._action_maps[symmetries]
            if landing.shape[1] != policies.shape[1]:
                landing = landing.reshape(n, -1, self._shape[2]).any(axis=1)
        return TrainingBatch(
            boards.reshape(n, *self._shape),
            np.take_along_axis(landing, moved, axis=1),
            np.take_along_axis(policies, moved, axis=1),
            samples.weights,
            samples.chances,
        )

    def _landing(self, samples: Samples) -> NDArray[np.bool_]:
        """Return the cells where a stone can land; `[n, rows * columns]`."""
        layout, occupied = self._layout, samples.own | samples.opp
        free = (occupied + layout.bottom) & layout.full if layout.gravity else layout.full & ~occupied
        return (free[:, None] >> self._bits & np.uint64(1)).astype(np.bool_)
