"""A search in many games at once, step by step: the network evaluates all leaves of a step together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.layout import layout_of, rules_of
from arena.games.notation import spec_of
from arena.games.solver.connect_four_solver import ConnectFourSolver
from arena.games.solver.find import solver_for
from arena.games.solver.solved import UNSOLVED
from arena_bots.search.lockstep.batches import WITH_LAST, cells_of, forget, gather, new_memory, scatter
from arena_bots.search.lockstep.endings import ENDING_NODES, FRAMES
from arena_bots.search.lockstep.forest import DRAW, NOWHERE, UNKNOWN, new_forest, new_leaves
from arena_bots.search.lockstep.growing import descend, grow, keep, plant
from arena_bots.search.lockstep.selecting import halve, improve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_bots.search.lockstep.batches import Net
    from arena_bots.search.lockstep.forest import Forest, Rule
    from arena_plugins.contract import Game


_TINY = np.float32(1e-9)
"""Least sum of noise, so that a root without searched actions divides by no 0."""
PLAIN_ENDINGS = 12
"""Maximum empty cells for solving a leaf without a table; with more, a solver with a table is used."""
MOST_ENDINGS = 24
"""Maximum empty cells for the solver with a table, when it takes as long as a network; Connect Four only."""


def most_endings(game: Game) -> int:
    """Return the largest number of empty cells at which leaves of the game can be solved."""
    return MOST_ENDINGS if str(spec_of(game)) == "connect-four" else PLAIN_ENDINGS


class LockstepSettings(NamedTuple):
    """The size of a search, and its selection rule."""

    rule: Rule
    lanes: int = 1
    """Number of simultaneous games."""
    nodes: int = 1024
    """Space for nodes in each tree; a full tree stops growing, but its leaves are still evaluated."""
    ending_cells: int = 0
    """A leaf with at most this many empty cells is solved exactly; see `most_endings`."""
    memory_bits: int = 12
    """Log2 of the number of positions in the cache of evaluations."""


class Searched(NamedTuple):
    """The results of a search at its roots."""

    policy: NDArray[np.float32]
    """The improved policies; `[lanes, num_actions]`."""
    values: NDArray[np.float32]
    """Values for the side to move; `[lanes]`."""
    visits: NDArray[np.int32]
    """Visits of the actions; `[lanes, num_actions]`."""


class LockstepSearch:
    """The trees of many matches of one game, and the network that guides the search."""

    def __init__(self, game: Game, net: Net, settings: LockstepSettings) -> None:
        """Make trees without roots.

        Raises:
            ValueError: kernels do not support `game`, or cannot solve endings of that length.
        """
        layout, rules = layout_of(game), rules_of(game)
        if layout is None or rules is None:
            raise ValueError(f"there are no kernels for {game.name} of this size")
        self._solver = _table_solver(game, settings.ending_cells)
        self._layout = layout
        self._settings = settings
        self._cells = cells_of(rules.board.bits)
        lanes, actions = settings.lanes, layout.num_actions
        self.forest: Forest = new_forest(lanes, settings.nodes, actions)
        self._leaves = new_leaves(lanes, actions, layout.max_length)
        self._memory = new_memory(settings.memory_bits, actions)
        self._planes = np.zeros((lanes, net.planes, game.shape[0] * game.shape[1]), np.float32)
        self._shape = game.shape
        self._net = net
        self._scratch = np.zeros((FRAMES, 4), np.uint64)
        self._moved = np.zeros(settings.nodes, np.int32)
        self.num_asked = 0
        """Number of positions that the network has evaluated."""

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether each root's result is still unproven; `[lanes]`."""
        return self.forest.proof[:, 0] == UNKNOWN

    def change_net(self, net: Net) -> None:
        """Use another network with the same planes from now on."""
        self._net = net
        # The cache has evaluations of the old network. Trees are left; callers plant new ones.
        self.forget()

    def forget(self) -> None:
        """Clear the caches outside of the trees, so that results equal those of a new search."""
        forget(self._memory)
        if self._solver is not None:
            self._solver.clear()

    def plant(
        self,
        own: NDArray[np.uint64],
        opp: NDArray[np.uint64],
        last: NDArray[np.uint64],
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        """Start new trees in the chosen lanes (default: all) at non-terminal positions; `[lanes]`."""
        if chosen is None:
            chosen = np.ones(len(own), np.bool_)
        plant(self.forest, self._leaves, self._layout, own, opp, last, chosen)
        self._judge()
        grow(self.forest, self._leaves, self._layout)

    def advance(self, moves: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Keep the subtree below each lane's move; return which lanes had one to keep; `[lanes]`."""
        kept = np.zeros(len(moves), np.bool_)
        keep(self.forest, moves, self._moved, kept)
        return kept

    def step(self, active: NDArray[np.bool_], firsts: NDArray[np.int32] | None = None) -> None:
        """Make one simulation in each active lane, whose root must not be proven.

        It begins with the action in `firsts`, unless that is NOWHERE.
        """
        if firsts is None:
            firsts = np.full(len(active), NOWHERE, np.int32)
        self._descend(firsts, active)
        self._judge()
        grow(self.forest, self._leaves, self._layout)

    def halve(self, gumbel: NDArray[np.float32], wanted: NDArray[np.int32]) -> NDArray[np.int32]:
        """Choose root actions by sequential halving; see `selecting.halve`."""
        actions = np.zeros(len(wanted), np.int32)
        halve(self.forest, self._settings.rule, gumbel, wanted, actions)
        return actions

    def judged(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the network's logits `[lanes, num_actions]` and values `[lanes]` of the roots planted last.

        Valid only until the next step.
        """
        return self._leaves.logits, self._leaves.worth

    def results(self) -> Searched:
        """Return the current results at the roots."""
        visits = self.forest.visits[:, 0].copy()
        policy, values = np.zeros(visits.shape, np.float32), np.zeros(len(visits), np.float32)
        improve(self.forest, self._settings.rule, policy, values)
        return Searched(policy, values, visits)

    def mix_priors(self, noise: NDArray[np.float32], share: float) -> None:
        """Mix noise `[lanes, num_actions]` into the priors of the roots' searched actions."""
        priors = self.forest.prior[:, 0]
        is_searched = priors >= 0
        # Noise of actions that are not searched is left out, and the rest scaled so that priors still sum to
        # one.
        drawn = np.where(is_searched, noise, 0)
        drawn /= np.maximum(drawn.sum(axis=1, keepdims=True), _TINY)
        # As at the roots of AlphaZero (Silver et al., 2018, methods).
        priors[is_searched] = ((1 - share) * priors + share * drawn)[is_searched]

    def _descend(self, firsts: NDArray[np.int32], active: NDArray[np.bool_]) -> None:
        settings = self._settings
        descend(
            self.forest,
            self._leaves,
            self._layout,
            settings.rule,
            firsts,
            active,
            # Longer endings are left to the solver with a table below.
            min(settings.ending_cells, PLAIN_ENDINGS),
            self._scratch,
        )
        if self._solver is not None:
            self._solve(self._solver)

    def _solve(self, solver: ConnectFourSolver) -> None:
        """Solve the leaves with few empty cells, within the solver's budget."""
        leaves = self._leaves
        left = self._layout.max_length - np.bitwise_count(leaves.own | leaves.opp).astype(np.int64)
        lanes = np.flatnonzero(leaves.waits & (left <= self._settings.ending_cells))
        # A budget in nodes, so that results do not depend on the speed of the machine.
        found = solver.outcomes(leaves.own[lanes], leaves.opp[lanes], ENDING_NODES)
        lanes, found = lanes[found != UNSOLVED], found[found != UNSOLVED]
        leaves.proof[lanes] = DRAW - found
        leaves.waits[lanes] = False
        # A leaf of a full tree has no node to keep its proof in.
        lanes = lanes[leaves.node[lanes] != NOWHERE]
        self.forest.proof[lanes, leaves.node[lanes]] = leaves.proof[lanes]

    def _judge(self) -> None:
        """Evaluate the waiting leaves, from the cache or by the network."""
        # Without that plane, positions that differ only in the last stone share an entry of the cache.
        sees_last = self._net.planes == WITH_LAST
        count = int(gather(self._leaves, self._memory, self._cells, self._planes, sees_last))
        if not count:
            return
        self.num_asked += count
        boards = self._planes[:count].reshape(count, self._net.planes, *self._shape)
        logits, worth = self._net(boards)
        scatter(self._leaves, self._memory, self._layout, self._cells, logits, worth, sees_last)


def _table_solver(game: Game, cells: int) -> ConnectFourSolver | None:
    """Make the solver for long endings, if they are asked for.

    Raises:
        ValueError: there is no such solver for the game.
    """
    if cells <= PLAIN_ENDINGS:
        return None
    solver = solver_for(game, small=True)
    if cells > (most := most_endings(game)) or not isinstance(solver, ConnectFourSolver):
        raise ValueError(f"{spec_of(game)} is solved with up to {most} empty cells, not {cells}")
    return solver
