"""Simulated fields with known strengths, to measure how often intervals of ratings contain the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from arena.rating.fit import fit
from arena.rating.graph import components
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.pairs import expected_elo
from arena.rating.sums import MatchArrays, RatedMatch, encounters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.rating.ratings import Ratings
    from arena.rating.sums import FloatArray, IntArray

    Meetings = list[tuple[int, int, int]]
    Rng = np.random.Generator

POINTS = (0.0, 0.5, 1.0)
_ROOM = 0.98
"""Bound of the expected score of a match from any opening."""


@dataclass(frozen=True, kw_only=True)
class World:
    """How the results of matches are drawn."""

    draws: float = 0.3
    """Share of draws between equal bots."""
    advantage: float = 40.0
    """Advantage of moving first, Elo."""
    opening_sd: float = 0.0
    """Standard deviation of an opening's further advantage, Elo."""
    openings: int | None = None
    """Number of different openings of an encounter; None: each pair has its own."""
    replays: int = 1
    """Number of tournaments of the same plan."""
    deterministic: float = 0.0
    """Share of deterministic bots, those with the lowest index."""
    kinds_of_match: int | None = None
    """Number of different courses of a match per result, few as in tiny games; None: no two matches are
    equal."""
    singles: float = 0.0
    """Share of pairs of which only one match was played."""
    is_davidson: bool = False
    """Davidson's model: draws follow from the gap, and the mean over both sides is not exactly logistic."""


@dataclass(frozen=True)
class Design:
    """A kind of field: which bots meet, and which gap is examined."""

    name: str
    strengths: Callable[[Rng], FloatArray]
    meetings: Callable[[FloatArray, Rng], Meetings]
    pairs: int
    named: Callable[[FloatArray], tuple[int, int]]
    world: World = field(default_factory=World)


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return the logistic function."""
    return 1 / (1 + np.exp(-logits))


def chances(gap: FloatArray, shift: FloatArray, world: World) -> tuple[FloatArray, FloatArray]:
    """Return loss, draw and win of a bot that moves first, and second, each `[openings, 3]`.

    Args:
        gap: natural log-odds above the opponent, `[openings]`.
        shift: advantage of moving first there, natural log-odds, `[openings]`.
        world: the other parameters.
    """
    if world.is_davidson:
        log_draw = np.log(2 * world.draws / (1 - world.draws))
        found: list[FloatArray] = []
        for sign in (1, -1):
            half = (gap + sign * shift) / 2
            weights = np.exp(np.stack([-half, np.full_like(half, log_draw), half], axis=-1))
            found.append(weights / weights.sum(axis=-1, keepdims=True))
        return found[0], found[1]
    mean = sigmoid(gap)
    room = _ROOM * np.minimum(mean, 1 - mean)
    away = np.clip((sigmoid(gap + shift) - sigmoid(gap - shift)) / 2, -room, room)
    return _law(mean + away, world.draws), _law(mean - away, world.draws)


def _law(mean: FloatArray, draws: float) -> FloatArray:
    draw = 2 * draws * np.minimum(mean, 1 - mean)
    win = mean - draw / 2
    return np.stack([1 - win - draw, draw, win], axis=-1)


def play(
    strength: FloatArray, meetings: Meetings, num_pairs: int, world: World, rng: Rng
) -> list[RatedMatch]:
    """Play `num_pairs` pairs of every two bots that meet, in each of the tournaments."""
    num_fixed = round(world.deterministic * len(strength))
    found: list[RatedMatch] = []
    for i, j, times in meetings:
        is_fixed = max(i, j) < num_fixed
        laws = _laws(strength[i] - strength[j], world.openings or times * num_pairs, world, rng)
        opening = np.arange(times * num_pairs) % len(laws[0])
        half = [_draw(law, rng)[opening] for law in laws]
        for again in range(world.replays):
            if not is_fixed:
                half = [_draw(law[opening], rng) for law in laws]
            found += _pairs((i, j, again), opening.tolist(), half, world, None if is_fixed else rng, rng)
    return found


def _laws(gap: float, num: int, world: World, rng: Rng) -> tuple[FloatArray, FloatArray]:
    shift = world.advantage + world.opening_sd * rng.standard_normal(num)
    return chances(np.full(num, gap) * LOGITS_PER_ELO, shift * LOGITS_PER_ELO, world)


def _pairs(  # noqa: PLR0913, PLR0917 - all that a match is made of
    key: tuple[int, int, int],
    openings: list[int],
    half: list[FloatArray],
    world: World,
    course: Rng | None,
    rng: Rng,
) -> Iterator[RatedMatch]:
    """Return the matches of an encounter; without `course` the opening determines how each goes."""
    i, j, _ = key
    alone = np.where(rng.random(len(openings)) < world.singles, rng.integers(0, 2, len(openings)), -1)
    for number, opening in enumerate(openings):
        for side in (0, 1):
            if alone[number] == 1 - side:
                continue
            points = int(half[side][number]) / 2
            moves: object = (i, j, opening, side)
            if course is not None:
                few = world.kinds_of_match
                moves = (points, int(course.integers(few))) if few else object()
            seats = (i, j, points) if side == 0 else (j, i, 1 - points)
            yield RatedMatch(*seats, (key, number), opening, moves)


def _draw(laws: FloatArray, rng: Rng) -> FloatArray:
    """Draw half points from each law, `[num]`."""
    return (rng.random(len(laws))[:, None] > np.cumsum(laws, axis=1)[:, :2]).sum(axis=1)


@dataclass
class Coverage:
    """How often intervals contained the truth."""

    printed: list[bool] = field(default_factory=list[bool])
    """Whether the printed ends of the named gap contain the truth, for each field."""
    plain: list[bool] = field(default_factory=list[bool])
    """Whether the named gap with its `+/-` contains the truth, for each field."""
    ratings: list[bool] = field(default_factory=list[bool])
    bias: list[float] = field(default_factory=list[float])
    """Estimated minus true named gap of each field, Elo."""
    errors: list[float] = field(default_factory=list[float])

    def row(self) -> dict[str, float]:
        """Return shares in percent, and Elo for the rest."""
        return {
            "fields": len(self.printed),
            "gap": round(100 * float(np.mean(self.printed)), 1),
            "gap_plain": round(100 * float(np.mean(self.plain)), 1),
            "ratings": round(100 * float(np.mean(self.ratings)), 1),
            "bias": round(float(np.mean(self.bias)), 1),
            "error": round(float(np.mean(self.errors)), 1),
        }


def measure(design: Design, num_fields: int, seed: int) -> Coverage:
    """Simulate fields of a design and count how often the intervals contain the truth."""
    found = Coverage()
    for strength, ratings in fields(design, num_fields, seed):
        i, j = design.named(strength)
        truth = true_gap(float(strength[i] - strength[j]), design.world)
        gap = ratings.gap(i, j)
        found.printed.append(gap.low <= truth <= gap.high)
        found.plain.append(abs(gap.elo - truth) <= gap.error)
        found.bias.append(gap.elo - truth)
        found.errors.append(gap.error)
        if design.world.is_davidson:
            found.ratings += _met(strength, ratings, design.world)
        else:
            miss = np.array(ratings.elo) - 1500 - (strength - strength.mean())
            found.ratings += (np.abs(miss) <= ratings.error).tolist()
    return found


def true_gap(gap: float, world: World) -> float:
    """Return the logistic Elo of the expected score of a pair."""
    if not world.is_davidson:
        return float(gap)
    laws = chances(np.array([gap * LOGITS_PER_ELO]), np.array([world.advantage * LOGITS_PER_ELO]), world)
    return expected_elo(float((laws[0] + laws[1])[0] @ np.array(POINTS)) / 2)


def _met(strength: FloatArray, ratings: Ratings, world: World) -> list[bool]:
    """Return, for every two bots that met, whether the interval contains their true gap."""
    met = list(zip(ratings.encounters.low.tolist(), ratings.encounters.high.tolist(), strict=True))
    return [
        gap.low <= true_gap(float(strength[i] - strength[j]), world) <= gap.high
        for (i, j), gap in zip(met, ratings.gaps(met), strict=True)
    ]


def fields(design: Design, num_fields: int, seed: int) -> Iterator[tuple[FloatArray, Ratings]]:
    """Yield true strengths and the ratings of simulated fields."""
    for number in range(num_fields):
        rng = np.random.default_rng([seed, number])
        strength = design.strengths(rng)
        meetings = design.meetings(strength, rng)
        played = play(strength, meetings, design.pairs, design.world, rng)
        yield strength, fit(encounters(MatchArrays(played)), len(strength))


def all_meet(strength: FloatArray, _rng: Rng) -> Meetings:
    """Return a round robin, in which every bot meets all others."""
    return [(i, j, 1) for i, j in combinations(range(len(strength)), 2)]


def neighbours_meet(strength: FloatArray, _rng: Rng) -> Meetings:
    """Return a chain, in which every bot meets the next one."""
    return [(bot, bot + 1, 1) for bot in range(len(strength) - 1)]


def one_meets_all(strength: FloatArray, _rng: Rng) -> Meetings:
    """Return a gauntlet, in which bot 0 meets all others."""
    return [(0, bot, 1) for bot in range(1, len(strength))]


def two_groups_meet(strength: FloatArray, rng: Rng) -> Meetings:
    """Return two round robins of half the bots, and one long encounter between the groups."""
    half = len(strength) // 2
    one = all_meet(strength[:half], rng)
    return [*one, *((i + half, j + half, 1) for i, j, _ in one), (0, half, 5)]


def drawn_meet(rounds: int) -> Callable[[FloatArray, Rng], Meetings]:
    """Return a function for rounds in which every bot meets one drawn bot, until the field is connected."""
    return lambda strength, rng: _rounds(rounds, lambda: rng.permutation(len(strength)), len(strength))


def near_meet(rounds: int) -> Callable[[FloatArray, Rng], Meetings]:
    """Return a function for rounds of bots with similar strengths, as in a Swiss tournament."""

    def meet(strength: FloatArray, rng: Rng) -> Meetings:
        num = len(strength)
        return _rounds(rounds, lambda: np.argsort(strength + rng.normal(0, 150, num)), num)

    return meet


def _rounds(rounds: int, order: Callable[[], IntArray], num: int) -> Meetings:
    while True:
        found: set[tuple[int, int]] = set()
        for _ in range(rounds):
            bots = order().tolist()
            found |= {(min(pair), max(pair)) for pair in zip(bots[::2], bots[1::2], strict=True)}
        if len(set(components(found, num))) == 1:
            return [(i, j, 1) for i, j in sorted(found)]


def normal(num: int, deviation: float) -> Callable[[Rng], FloatArray]:
    """Return a function that draws normally distributed strengths."""
    return lambda rng: rng.normal(0, deviation, num)


def steps(num: int, elo: float) -> Callable[[Rng], FloatArray]:
    """Return a function for the strengths of versions, each stronger than the last by the same amount."""
    return lambda _rng: np.arange(num, dtype=np.float64) * elo


def best_and_worst(strength: FloatArray) -> tuple[int, int]:
    """Return the two bots with the widest gap."""
    return int(np.argmax(strength)), int(np.argmin(strength))


def ends(strength: FloatArray) -> tuple[int, int]:
    """Return the last bot and the first."""
    return len(strength) - 1, 0


def neighbours(strength: FloatArray) -> tuple[int, int]:
    """Return the two in the middle by strength."""
    order = np.argsort(-strength)
    middle = len(order) // 2
    return int(order[middle - 1]), int(order[middle])


def first_two(_strength: FloatArray) -> tuple[int, int]:
    """Return the first bot and the second."""
    return 0, 1
