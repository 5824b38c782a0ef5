"""Self-play of many games at once: one call of the network for all of them, a ply at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena_bots.keras_wdl.train.rules import DRAWN, ILLEGAL, LOST, OPEN, SURE, WON

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.rules import Look, Rules

    Judge = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.float32]]
    """Gives the expected points, 0 to 1, of who has just moved in each position."""

_WORTH = {WON: 2.0, DRAWN: 0.5}
"""Of ends; a win comes before whatever the network thinks."""
_PROVEN = {LOST: -1.0, SURE: 1.5}
"""Where endings are looked up: what loses at once comes last, what wins in two comes right after a win."""
_NOISE = 1e-6
"""Breaks ties."""


class Plan(NamedTuple):
    """How games are to be played."""

    openings: NDArray[np.int64]
    """Plies of each game's opening, the last one at random; `[n]`."""
    epsilons: NDArray[np.float64]
    """Chance of a random action in each game's opening; `[n]`."""
    rivals: NDArray[np.int64]
    """Which player slips, -1 for neither; `[n]`."""
    slips: NDArray[np.float64]
    """Chance that who slips in a game acts at random, each time anew; else by the network; `[n]`."""
    is_exact: bool
    """Whether losses and sure wins within two plies are looked up; the bot itself only sees wins."""


class Proofs(NamedTuple):
    """Positions beside the games whose outcome the rules prove, for who has just moved."""

    mine: NDArray[np.uint64]
    other: NDArray[np.uint64]
    is_won: NDArray[np.bool_]


class Games(NamedTuple):
    """Games that were played, in the order of the plan."""

    actions: NDArray[np.int16]
    """0 after the end; `[n, max_length]`."""
    lengths: NDArray[np.int64]
    outcomes: NDArray[np.int8]
    """1 where the first player won, -1 where the second did."""
    proofs: Proofs


def plain_plan(count: int, *, rivals: NDArray[np.int64] | None = None) -> Plan:
    """Plan games without openings, as the bot plays."""
    none = np.full(count, -1, np.int64)
    return Plan(
        np.zeros(count, np.int64),
        np.zeros(count),
        none if rivals is None else rivals,
        np.ones(count),
        is_exact=False,
    )


def play(rules: Rules, judge: Judge, plan: Plan, rng: np.random.Generator, *, proofs: float = 0.0) -> Games:
    """Play games to their ends; keep `proofs` of the proven positions that were looked at."""
    count, length = len(plan.openings), rules.layout.max_length
    actions, lengths = np.zeros((count, length), np.int16), np.zeros(count, np.int64)
    outcomes = np.zeros(count, np.int8)
    own, opp = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    running = np.arange(count)
    found: list[Proofs] = []
    for ply in range(length):
        found_here = rules.look(own[running], opp[running])
        chosen = _choose(found_here, own[running], opp[running], judge, plan, running, ply, rng)
        if proofs:
            found.append(_proofs(found_here, own[running], opp[running], rng, proofs))
        rows = np.arange(len(running))
        actions[running, ply] = chosen
        lengths[running] = ply + 1
        kinds = found_here.kinds[rows, chosen]
        outcomes[running[kinds == WON]] = 1 - 2 * (ply % 2)
        own[running] |= found_here.stones[rows, chosen]
        own, opp = opp, own
        running = running[(kinds != WON) & (kinds != DRAWN)]
        if not len(running):
            break
    words = np.zeros(0, np.uint64)
    kept = [Proofs(words, words, np.zeros(0, np.bool_)), *found]
    return Games(actions, lengths, outcomes, Proofs(*map(np.concatenate, zip(*kept, strict=True))))


def against_random(
    rules: Rules, judge: Judge, count: int, rng: np.random.Generator
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Let the network, wins first, meet random play: wins, draws, losses moving first, then second.

    `count` games of each.
    """
    rivals = np.repeat(np.array([1, 0]), count)
    outcomes = play(rules, judge, plain_plan(2 * count, rivals=rivals), rng).outcomes
    first, second = outcomes[:count], -outcomes[count:]
    return _tally(first), _tally(second)


def _tally(results: NDArray[np.int8]) -> tuple[int, int, int]:
    return int((results == 1).sum()), int((results == 0).sum()), int((results == -1).sum())


def _choose(  # noqa: PLR0913, PLR0917 - where the games are, who judges, and by what rules
    look: Look,
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    judge: Judge,
    plan: Plan,
    running: NDArray[np.intp],
    ply: int,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Give the action of each game."""
    openings = plan.openings[running]
    at_random = (ply < openings) & (rng.random(len(running)) < plan.epsilons[running])
    slips = (plan.rivals[running] == ply % 2) & (rng.random(len(running)) < plan.slips[running])
    at_random |= (ply == openings - 1) | slips
    worth = rng.random(look.kinds.shape)
    worth[~at_random] *= _NOISE
    for kind, value in (_WORTH | _PROVEN if plan.is_exact else _WORTH).items():
        worth[~at_random] += value * (look.kinds[~at_random] == kind)
    asked = ~at_random & ~(look.kinds == WON).any(axis=1)
    kinds = {OPEN} if plan.is_exact else {OPEN, LOST, SURE}
    rows, found = np.nonzero(np.isin(look.kinds, list(kinds)) & asked[:, None])
    if len(rows):
        worth[rows, found] += judge(own[rows] | look.stones[rows, found], opp[rows])
    worth[look.kinds == ILLEGAL] = -np.inf
    return worth.argmax(axis=1)


def _proofs(
    look: Look, own: NDArray[np.uint64], opp: NDArray[np.uint64], rng: np.random.Generator, share: float
) -> Proofs:
    """Keep a share of the positions that are proven, at most one of each game and kind of proof."""
    rows: list[NDArray[np.intp]] = []
    columns: list[NDArray[np.intp]] = []
    for kind in (LOST, SURE):
        order = rng.random(look.kinds.shape) * (look.kinds == kind)
        best = order.argmax(axis=1)
        kept = np.nonzero((order.max(axis=1) > 0) & (rng.random(len(order)) < share))[0]
        rows.append(kept)
        columns.append(best[kept])
    row, column = np.concatenate(rows), np.concatenate(columns)
    return Proofs(own[row] | look.stones[row, column], opp[row], look.kinds[row, column] == SURE)
