"""Self-play of the recipe `article-selfplay`: statistics per position guide full rollouts of matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.bits import num_bits
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.layout import layout_of, rules_of
from arena.games.kernels.rules import has_line, land, landings
from arena_bots.alphazero.train.games import GOING, Harvest, gathered, no_samples
from arena_bots.alphazero.train.games import place as place_stones
from arena_bots.alphazero.train.harvest import reap
from arena_bots.search.lockstep.batches import WITH_LAST, cells_of, gather, new_memory, scatter
from arena_bots.search.lockstep.forest import new_leaves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout
    from arena_bots.alphazero.train.games import Lanes, Samples
    from arena_bots.alphazero.train.selfplay import SelfPlaySettings
    from arena_bots.search.lockstep.batches import Net
    from arena_bots.search.lockstep.forest import Leaves
    from arena_plugins.contract import Game
    from arena_plugins.training import TrainingMatch

_ENTRIES = 1 << 12
"""Number of positions per match with statistics: several times what rollouts reach between two moves."""
_ALPHA = 0.5
"""Concentration of the Dirichlet noise: of seven shares the largest two make up 0.71 on average, so a search
prefers a few moves; with 0.3, as in `selfplay`, it is 0.79."""
_MEMORY_BITS = 14
"""Logarithm (base 2) of the entries of the memory of evaluations."""


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
        # The network has changed since the last matches.
        self._memory = new_memory(_MEMORY_BITS, self._layout.num_actions)
        is_going = np.ones(len(lanes.own), np.bool_)
        samples = [no_samples(self._layout.num_actions)]
        matches: list[TrainingMatch] = []
        asked = 0
        while is_going.any():
            asked += self._search(net, lanes, is_going, rng)
            self._move(lanes, is_going, rng, samples, matches)
            prune(self._table, self._spare, lanes.own, lanes.opp)
            # Entries cannot be removed in place: with linear probing, a gap would hide those behind it.
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
            # The mean result of all rollouts through this position.
            lanes.values[lane, ply] = self._table.total[lane, entry].sum() / visits.sum()
            lanes.weights[lane, ply] = 1
            lanes.searched[lane, ply] = True
        lanes.ply[is_going] += 1
        results = np.zeros(len(is_going), np.int8)
        place_stones(lanes.own, lanes.opp, lanes.last, self._layout, actions, results)
        some, ended = reap(lanes, results, self._layout, self._plan.result_share)
        samples.append(some)
        matches += ended
        is_going[results != GOING] = False

    def _forget(self, table: SearchTables) -> None:
        table.own.fill(_NOTHING)
        table.size.fill(0)


FULL = 0.75
"""Share of a table's entries that may be used; after that, rollouts continue at random."""
_NOTHING = np.uint64(2**64 - 1)
# 2^64 divided by the golden ratio (Knuth, TAOCP vol. 3, section 6.4), and the prime PRIME64_2 of xxHash.
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_SHIFT = np.uint64(40)
"""Folds the upper 24 bits, which multiplication mixes best, into those that make the index."""
_STEPS = np.float32(1 << 24)
"""Steps of a uniform number: the precision of a float32."""
_FIRST = np.float32(1e6)
"""Worth of an unvisited action at the root: above that of each visited one."""
_BARRED = np.float32(-1)
"""Prior of an illegal action."""
_LEAST = np.float32(-3e38)
"""Below every score; close to the least number of 32 bits."""
_NONE = -1


class SearchTables(NamedTuple):
    """Hash tables with statistics of each match's positions, keyed by their stones."""

    own: NDArray[np.uint64]
    """Stones of the side to move, all bits set in a free entry; `[lanes, entries]`, a power of two."""
    opp: NDArray[np.uint64]
    prior: NDArray[np.float32]
    """The network's priors, below 0 if illegal; this and the next two are `[lanes, entries, num_actions]`."""
    visits: NDArray[np.int32]
    total: NDArray[np.float32]
    """Sum of results for the side to move."""
    size: NDArray[np.int64]
    """Number of used entries; `[lanes]`."""


class Rollouts(NamedTuple):
    """The rollouts in progress, one per lane."""

    own: NDArray[np.uint64]
    """Stones of the side to move at the current position; with the next four, `[lanes]`."""
    opp: NDArray[np.uint64]
    depth: NDArray[np.int64]
    """Plies from the root to the current position."""
    known: NDArray[np.int64]
    """Number of plies on the path whose positions have an entry."""
    done: NDArray[np.int64]
    """Number of finished rollouts."""
    entries: NDArray[np.int64]
    """Entry of each position on the path; `[lanes, max_length + 1]`."""
    actions: NDArray[np.int64]
    """Action taken in each position on the path; `[lanes, max_length + 1]`."""
    noise: NDArray[np.float32]
    """Dirichlet noise, drawn once per search; `[lanes, num_actions]`."""
    chance: NDArray[np.float32]
    """Random number per rollout that breaks ties, and selects actions when the table is full; `[lanes]`."""


def new_table(lanes: int, entries: int, num_actions: int) -> SearchTables:
    """Return empty tables."""
    wide = (lanes, entries, num_actions)
    return SearchTables(
        own=np.full((lanes, entries), _NOTHING, np.uint64),
        opp=np.zeros((lanes, entries), np.uint64),
        prior=np.zeros(wide, np.float32),
        visits=np.zeros(wide, np.int32),
        total=np.zeros(wide, np.float32),
        size=np.zeros(lanes, np.int64),
    )


def new_rollouts(lanes: int, num_actions: int, max_length: int) -> Rollouts:
    """Return rollouts that have not begun."""
    path = (lanes, max_length + 1)
    return Rollouts(
        own=np.zeros(lanes, np.uint64),
        opp=np.zeros(lanes, np.uint64),
        depth=np.zeros(lanes, np.int64),
        known=np.zeros(lanes, np.int64),
        done=np.zeros(lanes, np.int64),
        entries=np.zeros(path, np.int64),
        actions=np.zeros(path, np.int64),
        noise=np.zeros((lanes, num_actions), np.float32),
        chance=np.zeros(lanes, np.float32),
    )


@inline_kernel
def find(table: SearchTables, lane: Int, own: np.uint64, opp: np.uint64) -> Int:
    """Return the entry of a position, or the free entry where it belongs; linear probing."""
    mask = np.uint64(table.own.shape[1] - 1)
    # Multiplicative hashing: the high bits are folded into the index. Probing ends, since entries stay free.
    word = own * _MIX[0] ^ opp * _MIX[1]
    place = np.int64((word ^ (word >> _SHIFT)) & mask)
    while table.own[lane, place] != _NOTHING and (
        table.own[lane, place] != own or table.opp[lane, place] != opp
    ):
        place = np.int64(np.uint64(place + 1) & mask)
    return place


@kernel
def walk(
    table: SearchTables,
    rollouts: Rollouts,
    leaves: Leaves,
    layout: Layout,
    roots_own: NDArray[np.uint64],
    roots_opp: NDArray[np.uint64],
    wanted: Int,
    scales: tuple[float, float, float, float],
) -> None:
    """Advance all lanes until each needs the network for a new position, or has made `wanted` rollouts.

    Selection at the root maximises a Q + b P / (1 + N) + c D / (1 + N) + d sqrt(t) / N, with unvisited
    actions first; deeper it maximises a Q + b P / (1 + N). `scales` are a, b, c, d.
    """
    most = np.int64(FULL * table.own.shape[1])
    for lane in range(len(roots_own)):
        leaves.waits[lane] = False
        while rollouts.done[lane] < wanted:
            own, opp = rollouts.own[lane], rollouts.opp[lane]
            depth = rollouts.depth[lane]
            result = _result(own, opp, layout)
            if result != _NONE:
                _back_up(table, rollouts, lane, np.float32(result - 1))
                rollouts.done[lane] += 1
                rollouts.own[lane], rollouts.opp[lane] = roots_own[lane], roots_opp[lane]
                rollouts.depth[lane] = rollouts.known[lane] = 0
                continue
            place = find(table, lane, own, opp)
            # An empty entry is _NOTHING, so comparing one word shows whether `find` found the position.
            is_known = table.own[lane, place] == own
            if not is_known and table.size[lane] < most:
                leaves.own[lane], leaves.opp[lane] = own, opp
                # All lanes that wait are evaluated as one batch.
                leaves.waits[lane] = True
                break
            if is_known and rollouts.known[lane] == depth:
                # Statistics are used only while the whole path is in the table; after a gap play is random.
                action = _select(table, rollouts, lane, place, depth == 0, scales)
                rollouts.entries[lane, depth] = place
                rollouts.known[lane] = depth + 1
            else:
                action = _any_action(own, opp, rollouts, lane, layout)
            rollouts.actions[lane, depth] = action
            rollouts.depth[lane] = depth + 1
            rollouts.own[lane] = opp
            rollouts.opp[lane] = own | land(own | opp, action, layout)


@inline_kernel
def _result(own: np.uint64, opp: np.uint64, layout: Layout) -> Int:
    """Return the result for `own` plus 1: 0 if the opponent has just won, 1 for a draw, else `_NONE`."""
    if has_line(opp, layout):
        return 0
    return _NONE if landings(own | opp, layout) else 1


@inline_kernel
def _select(
    table: SearchTables,
    rollouts: Rollouts,
    lane: Int,
    place: Int,
    is_root: bool,  # noqa: FBT001 # kernels take only positional arguments
    scales: tuple[float, float, float, float],
) -> Int:
    best, chosen = _LEAST, 0
    rooted = np.float32(np.sqrt(np.float32(rollouts.done[lane])))
    for action in range(table.prior.shape[2]):
        prior = table.prior[lane, place, action]
        if prior < 0:
            continue
        count = np.float32(table.visits[lane, place, action])
        worth = np.float32(scales[1]) * prior / (1 + count)
        if count:
            worth += np.float32(scales[0]) * table.total[lane, place, action] / count
        if is_root:
            worth += np.float32(scales[2]) * rollouts.noise[lane, action] / (1 + count)
            # An unvisited action precedes all visited ones; among several, the prior decides.
            worth += np.float32(scales[3]) * rooted / count if count else _FIRST
        if worth > best:
            best, chosen = worth, action
    return chosen


@inline_kernel
def _any_action(own: np.uint64, opp: np.uint64, rollouts: Rollouts, lane: Int, layout: Layout) -> Int:
    """Return a legal action, selected by the lane's random number and the position."""
    # The uniform number is scaled to 24 bits, the precision of a float32.
    word = (own ^ opp * _MIX[0]) * _MIX[1] ^ np.uint64(_STEPS * rollouts.chance[lane])
    start = np.int64((word >> _SHIFT) % np.uint64(layout.num_actions))
    while not land(own | opp, start, layout):
        start = (start + 1) % layout.num_actions
    return start


@inline_kernel
def _back_up(table: SearchTables, rollouts: Rollouts, lane: Int, result: np.float32) -> None:
    """Add a result, for the side to move at the rollout's end, to all positions on the path with an entry."""
    depth = np.int64(rollouts.depth[lane])
    # The result is for the side to move at the end; it changes sign with every ply up the path.
    for index in range(np.int64(rollouts.known[lane])):
        place, action = rollouts.entries[lane, index], rollouts.actions[lane, index]
        table.visits[lane, place, action] += 1
        table.total[lane, place, action] += result if (depth - index) % 2 == 0 else -result


@kernel
def fill(table: SearchTables, leaves: Leaves, layout: Layout) -> None:
    """Create entries for the positions that waited, with the network's priors of their legal actions."""
    for lane in range(len(leaves.waits)):
        if not leaves.waits[lane]:
            continue
        own, opp = leaves.own[lane], leaves.opp[lane]
        place = find(table, lane, own, opp)
        table.own[lane, place], table.opp[lane, place] = own, opp
        table.size[lane] += 1
        top, weight = _LEAST, np.float32(0)
        # Softmax over the legal actions; subtracting the largest logit keeps exp from overflowing.
        for action in range(layout.num_actions):
            if land(own | opp, action, layout):
                top = max(top, leaves.logits[lane, action])
        for action in range(layout.num_actions):
            table.visits[lane, place, action] = 0
            table.total[lane, place, action] = 0
            table.prior[lane, place, action] = _BARRED
            if land(own | opp, action, layout):
                share = np.exp(leaves.logits[lane, action] - top)
                table.prior[lane, place, action] = share
                weight += share
        for action in range(layout.num_actions):
            if table.prior[lane, place, action] >= 0:
                table.prior[lane, place, action] /= weight


@kernel
def prune(
    table: SearchTables, pruned: SearchTables, own: NDArray[np.uint64], opp: NDArray[np.uint64]
) -> None:
    """Copy the entries that can still be reached from the positions `own`, `opp` (`[lanes]`) to `pruned`."""
    for lane in range(len(own)):
        for place in range(pruned.own.shape[1]):
            pruned.own[lane, place] = _NOTHING
        pruned.size[lane] = 0
        stones = num_bits(own[lane] | opp[lane])
        for place in range(table.own.shape[1]):
            mover, other = table.own[lane, place], table.opp[lane, place]
            if mover == _NOTHING:
                continue
            # An entry is reachable if it contains all stones of the position, seen from the same player.
            is_turned = (num_bits(mover | other) - stones) % 2 != 0
            mine, theirs = (other, mover) if is_turned else (mover, other)
            if own[lane] & ~mine or opp[lane] & ~theirs:
                continue
            new = find(pruned, lane, mover, other)
            pruned.own[lane, new], pruned.opp[lane, new] = mover, other
            pruned.size[lane] += 1
            for action in range(table.prior.shape[2]):
                pruned.prior[lane, new, action] = table.prior[lane, place, action]
                pruned.visits[lane, new, action] = table.visits[lane, place, action]
                pruned.total[lane, new, action] = table.total[lane, place, action]
