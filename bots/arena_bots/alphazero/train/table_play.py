"""Self-play with the search of `tables`: whole matches, full rollouts, the most visited move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.layout import layout_of, rules_of
from arena_bots.alphazero.train.games import GOING, Harvest, gathered, no_samples, place
from arena_bots.alphazero.train.harvest import reap
from arena_bots.alphazero.train.tables import SearchTables, fill, find, new_rollouts, new_table, prune, walk
from arena_bots.search.lockstep.batches import WITH_LAST, cells_of, gather, new_memory, scatter
from arena_bots.search.lockstep.forest import new_leaves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_bots.alphazero.train.games import Lanes, Samples
    from arena_bots.alphazero.train.selfplay import SelfPlaySettings
    from arena_bots.search.lockstep.batches import Net
    from arena_plugins.contract import Game
    from arena_plugins.training import TrainingMatch

_ENTRIES = 1 << 12
"""Number of positions per match with statistics: several times what rollouts reach between two moves."""
_ALPHA = 0.5
_MEMORY_BITS = 14


class TablePlay:
    """Plays one match per lane from start to end."""

    def __init__(self, game: Game, plan: SelfPlaySettings, lanes: int) -> None:
        layout, rules = layout_of(game), rules_of(game)
        if layout is None or rules is None:
            raise ValueError(f"there are no kernels for {game.name} of this size")
        self._layout, self._plan, self._shape = layout, plan, game.shape
        self._cells = cells_of(rules.board.bits)
        actions = layout.num_actions
        self._table = new_table(lanes, _ENTRIES, actions)
        self._spare = new_table(lanes, _ENTRIES, actions)
        self._rollouts = new_rollouts(lanes, actions, game.max_length)
        self._leaves = new_leaves(lanes, actions, game.max_length)

    def go_on(self, net: Net, lanes: Lanes, rng: np.random.Generator) -> Harvest:
        """Play one match per lane; `lanes` are empty before and after."""
        self._forget(self._table)
        self._memory = new_memory(_MEMORY_BITS, self._layout.num_actions)
        is_going = np.ones(len(lanes.own), np.bool_)
        samples = [no_samples(self._layout.num_actions)]
        matches: list[TrainingMatch] = []
        asked = 0
        while is_going.any():
            asked += self._search(net, lanes, is_going, rng)
            self._move(lanes, is_going, rng, samples, matches)
            prune(self._table, self._spare, lanes.own, lanes.opp)
            self._table, self._spare = self._spare, self._table
        return Harvest(gathered(samples), matches, asked)

    def _search(self, net: Net, lanes: Lanes, is_going: NDArray[np.bool_], rng: np.random.Generator) -> int:
        """Run the rollouts for one move; return the number of positions the network evaluated."""
        rollouts, leaves, actions = self._rollouts, self._leaves, self._layout.num_actions
        rollouts.own[:], rollouts.opp[:] = lanes.own, lanes.opp
        rollouts.depth[:] = rollouts.known[:] = 0
        rollouts.done[:] = np.where(is_going, 0, self._plan.simulations)
        rollouts.noise[:] = rng.dirichlet([_ALPHA] * actions, len(is_going))
        rollouts.chance[:] = rng.random(len(is_going))
        planes = np.zeros((len(is_going), net.planes, len(self._cells.bits)), np.float32)
        sees_last, asked = net.planes == WITH_LAST, 0
        while True:
            walk(
                self._table,
                rollouts,
                leaves,
                self._layout,
                lanes.own,
                lanes.opp,
                self._plan.simulations,
                self._plan.scales,
            )
            if not leaves.waits.any():
                return asked
            count = int(gather(leaves, self._memory, self._cells, planes, sees_last))
            if count:
                asked += count
                logits, worth = net(planes[:count].reshape(count, net.planes, *self._shape))
                scatter(leaves, self._memory, self._layout, self._cells, logits, worth, sees_last)
            fill(self._table, leaves, self._layout)

    def _move(
        self,
        lanes: Lanes,
        is_going: NDArray[np.bool_],
        rng: np.random.Generator,
        samples: list[Samples],
        matches: list[TrainingMatch],
    ) -> None:
        """Play the most visited action in each unfinished lane; ties are broken at random."""
        actions = np.full(len(is_going), -1, np.int32)
        for lane in np.flatnonzero(is_going).tolist():
            entry = find(self._table, lane, lanes.own[lane], lanes.opp[lane])
            visits, ply = self._table.visits[lane, entry], int(lanes.ply[lane])
            actions[lane] = rng.choice(np.flatnonzero(visits == visits.max()))
            lanes.actions[lane, ply] = actions[lane]
            lanes.policies[lane, ply] = visits / visits.sum()
            lanes.values[lane, ply] = self._table.total[lane, entry].sum() / visits.sum()
            lanes.weights[lane, ply] = 1
            lanes.searched[lane, ply] = True
        lanes.ply[is_going] += 1
        results = np.zeros(len(is_going), np.int8)
        place(lanes.own, lanes.opp, lanes.last, self._layout, actions, results)
        some, ended = reap(lanes, results, self._layout, self._plan.result_share)
        samples.append(some)
        matches += ended
        is_going[results != GOING] = False

    def _forget(self, table: SearchTables) -> None:
        table.own.fill(np.uint64(2**64 - 1))
        table.size.fill(0)
