"""Self-play in lockstep: the searches of all matches run together, move by move."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.layout import layout_of
from arena_bots.alphazero.train.games import (
    GOING,
    Harvest,
    Lanes,
    gathered,
    list_lasting,
    new_lanes,
    no_samples,
    place,
)
from arena_bots.alphazero.train.harvest import reap
from arena_bots.search.lockstep.forest import NOWHERE, WIN, Rule
from arena_bots.search.lockstep.search import LockstepSearch, LockstepSettings
from arena_bots.search.lockstep.selecting import schedules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_bots.alphazero.train.games import Samples
    from arena_bots.search.lockstep.batches import Net
    from arena_bots.search.lockstep.search import Searched
    from arena_plugins.contract import Game
    from arena_plugins.training import TrainingMatch

_ALPHA = 0.3
"""Concentration of the Dirichlet noise."""
_TINY = 1e-12
"""Added to the noise of each legal action, so that its sum is above 0."""
_LEAST_MEMORY_BITS, _LANE_MEMORY_BITS = 15, 4
"""Binary logarithm of a player's cache size, emptied with each network: minimum, and per lane."""


class SelfPlaySettings(NamedTuple):
    """How self-play matches are played."""

    search: str
    """`gumbel`: sequential halving, improved policies; `puct`: as in the paper; `table`: see `table_play`."""
    simulations: int
    """Simulations of a full search, or rollouts of a table search."""
    small: int
    """Simulations of a small search, whose policy is not learnt."""
    full_share: float
    """Share of the moves that get a full search."""
    considered: int
    """Number of actions with which sequential halving begins."""
    c_puct: float
    noise: float
    """Share of Dirichlet noise when an action is drawn; PUCT only."""
    ending_cells: int
    opening_plies: int
    """Maximum length of a random opening; each match draws its own length, shorter ones more often."""
    random_plies: int
    """Number of plies in which an action may be drawn at random."""
    random_chance: float
    """Maximum probability of such a random action; each match draws its own, at least half the maximum."""
    result_share: float
    """Weight of the result in the target values."""
    moves: int
    """Number of moves per match in a training step; table search plays whole matches."""
    scales: tuple[float, float, float, float] = (1.0, 2.0, 1.0, 0.5)
    """Weights of value, prior, noise and age in the formula of the table search."""
    together: bool = False
    """Whether all matches search fully in the same moves (at least one per step), to fill batches."""


class SelfPlay:
    """Plays matches of a network against itself."""

    def __init__(self, game: Game, net: Net, plan: SelfPlaySettings, lanes: int) -> None:
        layout = layout_of(game)
        if layout is None:
            raise ValueError(f"there are no kernels for {game.name} of this size")
        self._layout = layout
        self._plan = plan
        self._is_gumbel = plan.search == "gumbel"
        rule = Rule(is_gumbel=self._is_gumbel, c_puct=plan.c_puct, cautious=True)
        # With PUCT the tree below the action that is played is kept, and grows over several moves.
        nodes = 2 + (max(plan.simulations, plan.small) if self._is_gumbel else 4 * plan.simulations)
        self._search = LockstepSearch(
            game,
            net,
            LockstepSettings(
                rule,
                lanes,
                nodes=nodes,
                ending_cells=plan.ending_cells,
                memory_bits=max(_LEAST_MEMORY_BITS, lanes.bit_length() + _LANE_MEMORY_BITS),
            ),
        )
        self.lanes = new_lanes(lanes, layout.num_actions, game.max_length)

    def go_on(self, net: Net, lanes: Lanes, rng: np.random.Generator) -> Harvest:
        """Continue `lanes`, which are modified, for the planned number of moves, evaluated by `net`."""
        self._search.change_net(net)
        self.lanes = lanes
        asked = self._search.num_asked
        samples = [no_samples(self._layout.num_actions)]
        matches: list[TrainingMatch] = []
        kept = np.zeros(len(lanes.own), np.bool_)
        shared = self._shared_budgets(rng)
        for move in range(self._plan.moves):
            kept &= ~self._stray(rng)
            self._search.plant(lanes.own, lanes.opp, lanes.last, ~kept)
            actions = self._think(rng, shared[move] if shared else None)
            # Sequential halving begins with a tree without visits, or its budget would not be shared out as
            # planned.
            kept = self._search.advance(actions) if not self._is_gumbel else np.zeros_like(kept)
            kept &= ~self._move(actions, samples, matches)
        return Harvest(gathered(samples), matches, self._search.num_asked - asked)

    def _stray(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw openings and occasional random actions, none of which ends a match; return where they are."""
        lanes, plan, count = self.lanes, self._plan, len(self.lanes.own)
        strayed = np.zeros(count, np.bool_)
        # Squaring a uniform number gives half of the openings a quarter of the maximum length or less.
        opening = np.where(lanes.ply == 0, plan.opening_plies * rng.random(count) ** 2, 0).round()
        lasting = np.zeros((count, self._layout.num_actions), np.bool_)
        results = np.zeros(count, np.int8)
        going = np.ones(count, np.bool_)
        while going.any():
            chance = plan.random_chance * rng.uniform(0.5, 1, count)
            strays = (lanes.ply < plan.random_plies) & (rng.random(count) < chance)
            list_lasting(lanes.own, lanes.opp, self._layout, lasting)
            going &= ((lanes.ply < opening) | strays) & lasting.any(axis=1)
            drawn = (rng.random(lasting.shape) * lasting).argmax(axis=1)
            rows = np.flatnonzero(going)
            lanes.actions[rows, lanes.ply[rows]] = drawn[rows]
            place(
                lanes.own,
                lanes.opp,
                lanes.last,
                self._layout,
                np.where(going, drawn, NOWHERE).astype(np.int32),
                results,
            )
            lanes.ply[rows] += 1
            lanes.mixed[rows] = lanes.ply[rows]
            strayed |= going
        return strayed

    def _shared_budgets(self, rng: np.random.Generator) -> list[bool] | None:
        """Draw the moves in which all matches search fully; None if each match draws for itself."""
        plan = self._plan
        if not plan.together:
            return None
        drawn = rng.permutation(plan.moves) < max(1, round(plan.moves * plan.full_share))
        return [bool(is_full) for is_full in drawn]

    def _think(self, rng: np.random.Generator, shared: bool | None) -> NDArray[np.int32]:  # noqa: FBT001 # no flag: a draw
        """Search in all lanes, record the results, and return the actions to play."""
        lanes, rows = self.lanes, np.arange(len(self.lanes.own))
        is_full = np.full(len(rows), shared)
        if shared is None:
            is_full = rng.random(len(rows)) < self._plan.full_share
        found, actions = self._halved(rng, is_full) if self._is_gumbel else self._visited(rng)
        policy = found.policy
        if not self._is_gumbel:
            total = found.visits.sum(axis=1, keepdims=True)
            policy = np.where(total > 0, found.visits / np.maximum(total, 1), policy)
        lanes.policies[rows, lanes.ply] = policy
        lanes.values[rows, lanes.ply] = found.values
        # Small searches make more matches, of which only the values are learnt: playout cap randomization,
        # Wu, Accelerating self-play learning in Go (2019).
        lanes.weights[rows, lanes.ply] = is_full
        lanes.searched[rows, lanes.ply] = True
        return actions

    def _halved(
        self, rng: np.random.Generator, is_full: NDArray[np.bool_]
    ) -> tuple[Searched, NDArray[np.int32]]:
        """Search by sequential halving; the action is the best of the most visited ones."""
        search, plan = self._search, self._plan
        priors = search.forest.prior[:, 0]
        gumbel = rng.gumbel(size=priors.shape).astype(np.float32)
        considered = np.minimum((priors >= 0).sum(axis=1), plan.considered)
        budgets = np.where(is_full, plan.simulations, plan.small)
        wanted = schedules(considered, budgets)
        for number in range(wanted.shape[1]):
            active = search.is_open & (wanted[:, number] >= 0)
            if not active.any():
                break
            firsts = search.halve(gumbel, wanted[:, number].copy())
            search.step(active, firsts)
        found = search.results()
        actions = search.halve(gumbel, found.visits.max(axis=1).astype(np.int32))
        return found, self._decided(found, actions)

    def _visited(self, rng: np.random.Generator) -> tuple[Searched, NDArray[np.int32]]:
        """Search by PUCT; the action is drawn in proportion to visits, mixed with noise."""
        search, plan = self._search, self._plan
        for _ in range(plan.simulations):
            active = search.is_open
            if not active.any():
                break
            search.step(active)
        found = search.results()
        visits = found.visits.astype(np.float64)
        legal = search.forest.prior[:, 0] >= 0
        shares: NDArray[np.float64] = np.where(visits.sum(axis=1, keepdims=True) > 0, visits, found.policy)
        shares /= shares.sum(axis=1, keepdims=True)
        noise: NDArray[np.float64] = np.zeros(shares.shape)
        # Gamma numbers divided by their sum have a Dirichlet distribution.
        noise[legal] = _TINY + rng.gamma(_ALPHA, size=int(legal.sum()))
        noise /= noise.sum(axis=1, keepdims=True)
        mixed = ((1 - plan.noise) * shares + plan.noise * noise).cumsum(axis=1)
        # The number of actions whose cumulative share is below a random number; the last one may not be
        # exactly 1.
        drawn = (mixed < rng.random((len(mixed), 1)) * mixed[:, -1:]).sum(axis=1)
        return found, self._decided(found, drawn.astype(np.int32))

    def _decided(self, found: Searched, actions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Replace an action by a proven win if there is one."""
        is_won = self._search.forest.proof[:, 0] == WIN
        return np.where(is_won | (actions == NOWHERE), found.policy.argmax(axis=1), actions).astype(np.int32)

    def _move(
        self, actions: NDArray[np.int32], samples: list[Samples], matches: list[TrainingMatch]
    ) -> NDArray[np.bool_]:
        """Play the actions; store finished matches and begin new ones; return where matches ended."""
        lanes, rows = self.lanes, np.arange(len(actions))
        lanes.actions[rows, lanes.ply] = actions
        results = np.zeros(len(rows), np.int8)
        place(lanes.own, lanes.opp, lanes.last, self._layout, actions, results)
        lanes.ply[:] += 1
        some, ended = reap(lanes, results, self._layout, self._plan.result_share)
        samples.append(some)
        matches += ended
        return results != GOING
