"""Self-play of many games at once: one network call per ply for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena_bots.keras_wdl.train.array_rules import DRAWN, ILLEGAL, LOST, OPEN, SURE, WON

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.array_rules import ArrayRules, Look

    Judge = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.float32]]
    """Returns the expected points, 0 to 1, of the player who has just moved in each position."""

_WORTH = {WON: 2.0, DRAWN: 0.5}
"""Scores of results; an immediate win precedes any estimate of the network."""
_PROVEN = {LOST: -1.0, SURE: 1.5}
"""Scores of proven positions: an immediate loss comes last, a forced win right after an immediate one."""
_NOISE = 1e-6
"""Magnitude of the random numbers that break ties."""


class LockstepPlan(NamedTuple):
    """How games are to be played."""

    openings: NDArray[np.int64]
    """Number of plies in each game's opening, whose last action is random; `[n]`."""
    epsilons: NDArray[np.float64]
    """Probability of a random action within each game's opening; `[n]`."""
    rivals: NDArray[np.int64]
    """The player that makes random slips, -1 for neither; `[n]`."""
    slips: NDArray[np.float64]
    """Probability that this player acts at random instead of by the network, drawn for each move; `[n]`."""
    is_exact: bool
    """Whether losses and forced wins within two plies are looked up; the bot itself sees only wins."""

    def take(self, rows: NDArray[np.intp]) -> LockstepPlan:
        """Return the plan of the games in some rows."""
        return LockstepPlan(
            self.openings[rows], self.epsilons[rows], self.rivals[rows], self.slips[rows], self.is_exact
        )


class Proofs(NamedTuple):
    """Positions beside the games whose result the rules prove, for the player who has just moved."""

    mine: NDArray[np.uint64]
    other: NDArray[np.uint64]
    is_won: NDArray[np.bool_]


class Games(NamedTuple):
    """Played games, in the order of the plan."""

    actions: NDArray[np.int16]
    """The actions, 0 after the end; `[n, max_length]`."""
    lengths: NDArray[np.int64]
    outcomes: NDArray[np.int8]
    """1 if the first player won, -1 if the second player won, 0 for a draw; `[n]`."""
    proofs: Proofs


def plain_plan(count: int, *, rivals: NDArray[np.int64] | None = None) -> LockstepPlan:
    """Return a plan for games without openings, played as the bot plays."""
    none = np.full(count, -1, np.int64)
    return LockstepPlan(
        np.zeros(count, np.int64),
        np.zeros(count),
        none if rivals is None else rivals,
        np.ones(count),
        is_exact=False,
    )


def play(
    rules: ArrayRules, judge: Judge, plan: LockstepPlan, rng: np.random.Generator, *, proofs: float = 0.0
) -> Games:
    """Play games to their ends; `proofs` is the share of the proven positions seen on the way to keep."""
    count, length = len(plan.openings), rules.layout.max_length
    actions, lengths = np.zeros((count, length), np.int16), np.zeros(count, np.int64)
    outcomes = np.zeros(count, np.int8)
    own, opp = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    running = np.arange(count)
    found: list[Proofs] = []
    for ply in range(length):
        found_here = rules.look(own[running], opp[running])
        sight = Sight(found_here, own[running], opp[running])
        chosen = _choose(sight, judge, plan.take(running), ply, rng)
        if proofs:
            found.append(_proofs(sight, rng, proofs))
        rows = np.arange(len(running))
        actions[running, ply] = chosen
        lengths[running] = ply + 1
        kinds = found_here.kinds[rows, chosen]
        # The first player moves at even plies, and whoever moves last wins.
        outcomes[running[kinds == WON]] = 1 - 2 * (ply % 2)
        own[running] |= found_here.stones[rows, chosen]
        # The other player is next; games that are over have no further moves, so their stones may be
        # exchanged too.
        own, opp = opp, own
        running = running[(kinds != WON) & (kinds != DRAWN)]
        if not len(running):
            break
    words = np.zeros(0, np.uint64)
    kept = [Proofs(words, words, np.zeros(0, np.bool_)), *found]
    return Games(actions, lengths, outcomes, Proofs(*map(np.concatenate, zip(*kept, strict=True))))


def against_random(
    rules: ArrayRules, judge: Judge, count: int, rng: np.random.Generator
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Play the network (which takes immediate wins) against uniformly random play, `count` games per side.

    Returns:
        Wins, draws and losses of the network moving first, then moving second.
    """
    rivals = np.repeat(np.array([1, 0]), count)
    outcomes = play(rules, judge, plain_plan(2 * count, rivals=rivals), rng).outcomes
    first, second = outcomes[:count], -outcomes[count:]
    return _tally(first), _tally(second)


def _tally(results: NDArray[np.int8]) -> tuple[int, int, int]:
    return int((results == 1).sum()), int((results == 0).sum()), int((results == -1).sum())


class Sight(NamedTuple):
    """The positions of the running games, for the player to move."""

    look: Look
    """What the rules see in them."""
    own: NDArray[np.uint64]
    """Stones of the player to move; `[n]`."""
    opp: NDArray[np.uint64]


def _choose(
    sight: Sight, judge: Judge, plan: LockstepPlan, ply: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the action for each game; `plan` has their rows."""
    look, own, opp = sight
    num = len(own)
    at_random = (ply < plan.openings) & (rng.random(num) < plan.epsilons)
    slips = (plan.rivals == ply % 2) & (rng.random(num) < plan.slips)
    # The last ply of an opening is always random, so that games from one network differ after it.
    at_random |= (ply == plan.openings - 1) | slips
    # At random, the largest of these numbers decides; elsewhere they only break ties.
    worth = rng.random(look.kinds.shape)
    worth[~at_random] *= _NOISE
    for kind, value in (_WORTH | _PROVEN if plan.is_exact else _WORTH).items():
        worth[~at_random] += value * (look.kinds[~at_random] == kind)
    # An immediate win is taken whatever the network says.
    asked = ~at_random & ~(look.kinds == WON).any(axis=1)
    kinds = {OPEN} if plan.is_exact else {OPEN, LOST, SURE}
    rows, found = np.nonzero(np.isin(look.kinds, list(kinds)) & asked[:, None])
    if len(rows):
        # All positions of all games in one call: a network takes hardly longer for many than for one.
        worth[rows, found] += judge(own[rows] | look.stones[rows, found], opp[rows])
    # Illegal actions are excluded last, because random numbers were drawn for them as well.
    worth[look.kinds == ILLEGAL] = -np.inf
    return worth.argmax(axis=1)


def _proofs(sight: Sight, rng: np.random.Generator, share: float) -> Proofs:
    """Sample a share of the proven positions, at most one per game and kind of proof."""
    look, own, opp = sight
    rows: list[NDArray[np.intp]] = []
    columns: list[NDArray[np.intp]] = []
    for kind in (LOST, SURE):
        # The largest random number among the positions of the kind is a uniform draw of one of them.
        order = rng.random(look.kinds.shape) * (look.kinds == kind)
        best = order.argmax(axis=1)
        kept = np.nonzero((order.max(axis=1) > 0) & (rng.random(len(order)) < share))[0]
        rows.append(kept)
        columns.append(best[kept])
    row, column = np.concatenate(rows), np.concatenate(columns)
    return Proofs(own[row] | look.stones[row, column], opp[row], look.kinds[row, column] == SURE)
