"""A cached fit equals a computed one, and only changed encounters are computed again."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.rating.fit import fit, head_to_head
from arena.rating.model import look_level
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.results import remembered
from arena.results.counts import counts_of
from arena.results.remembered import fit_of, gaps_of_encounters

if TYPE_CHECKING:
    from arena.rating.ratings import Gap
    from arena.rating.sums import Encounters

SEEDS = range(6)


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with empty caches, without changing those that other tests use."""
    monkeypatch.setattr(remembered, "_GAPS", type(remembered._GAPS)(1000))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(remembered, "_FITS", type(remembered._FITS)(60))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _played(seed: int, num_bots: int = 7, num: int = 160) -> list[RatedMatch]:
    """Return matches with sweeps, draws, singles, repeated openings and equal moves."""
    rng = Random(seed)  # noqa: S311 - a test
    found: list[RatedMatch] = []
    for pair in range(num):
        one, other = rng.sample(range(num_bots), 2)
        edge, opening = 0.5 + (other - one) / (2 * num_bots), rng.randrange(4)
        for first, second in ((one, other), (other, one))[: rng.choice((1, 2, 2, 2))]:
            share = edge if first == one else 1 - edge
            points = rng.choices((1.0, 0.5, 0.0), (share, 0.2, 1 - share))[0]
            found.append(RatedMatch(first, second, points, pair, opening, rng.randrange(3)))
    return found


def _sums(played: list[RatedMatch]) -> Encounters:
    arrays = MatchArrays()
    arrays.add(played)
    return encounters(arrays)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_encounter_alone_has_exactly_the_gap_that_it_has_among_others(seed: int) -> None:
    found = _sums(_played(seed))
    together = head_to_head(found)
    assert len(set(together)) > len(found) // 2
    for place in range(len(found)):
        assert head_to_head(found.take(np.array([place]))) == [together[place]]
    some = np.arange(len(found))[:: 1 + seed]
    assert head_to_head(found.take(some)) == [together[place] for place in some]
    assert [counts_of(found.take(np.array([place])))[0] for place in range(len(found))] == counts_of(found)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("look", [1, 3])
def test_remembered_gaps_are_those_of_the_sums(seed: int, look: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(sums: Encounters, level: float) -> list[Gap]:
        asked.append(len(sums))
        return head_to_head(sums, level)

    monkeypatch.setattr(remembered, "head_to_head", counted)
    played = _played(seed)
    before, level = _sums(played[:-1]), look_level(look)
    assert gaps_of_encounters(before, level) == head_to_head(before, level)
    after = _sums(played)
    assert gaps_of_encounters(after, level) == head_to_head(after, level)
    assert gaps_of_encounters(after, level) == head_to_head(after, level)
    # The last match changed one encounter; the level is part of the cache key.
    assert asked == [len(before), 1]
    assert gaps_of_encounters(after, 0.2) == head_to_head(after, 0.2)


def test_without_encounters_there_is_nothing_to_remember() -> None:
    nothing = _sums(_played(1)).take(np.array([], dtype=np.int64))
    assert gaps_of_encounters(nothing) == []
    assert fit_of(nothing, 2).elo == fit(nothing, 2).elo


def test_every_column_of_the_sums_tells_encounters_apart() -> None:
    found = _sums(_played(2))
    rows = remembered._columns(found)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    first, second = found.collapsed_singles
    for sums in (found.openings, found.collapsed, first, second):
        for column in sums.columns:
            assert (rows == column[:, None]).all(axis=0).any()
    for name in ("num_openings", "num_different", "replays", "alike"):
        assert (rows == getattr(found, name)[:, None]).all(axis=0).any(), name
    cells = found.results.size + found.ptnml.size + found.singles.size
    assert rows.size == cells + (4 + 4 * 6) * len(found)


def test_a_fit_is_made_once_and_for_each_question_anew() -> None:
    found = _sums(_played(3))
    names = tuple("abcdefg")
    known = fit_of(found, names)
    assert fit_of(found, names) is known
    assert known.elo == fit(found, names).elo
    others = [
        fit_of(found, tuple("gfedcba")),
        fit_of(found, names, [(0, 1000.0)]),
        fit_of(found, names, weighted=_sums(_played(4)[:-1])),
        fit_of(_sums(_played(3)[:-1]), names),
    ]
    assert len({id(each) for each in (known, *others)}) == 5
    assert others[1].elo[0] == pytest.approx(1000.0)
    order = known.ranking()[0]
    assert known.next_gaps(order) == known.gaps([*pairwise(order)])
    assert known.next_gaps(order) is known.next_gaps(order)


def test_the_memory_is_bounded_and_keeps_what_was_used_last() -> None:
    fields = [_sums(_played(seed, num_bots=5)) for seed in range(8)]
    size = max(map(len, fields))
    fits = [fit_of(each, 5) for each in fields]
    assert sum(len(each) for each in fields) > 60
    assert fit_of(fields[0], 5) is not fits[0]
    assert fit_of(fields[-1], 5) is fits[-1]
    for each in (fields[0], *fields[-(60 // size) + 1 :]):
        fit_of(fields[0], 5)
        fit_of(each, 5)
    kept = fit_of(fields[0], 5)
    assert fit_of(fields[0], 5) is kept
    # A field larger than the cache is kept as well, until the next one.
    large = _sums(_played(9, num_bots=14, num=600))
    assert len(large) > 60
    assert fit_of(large, 14) is fit_of(large, 14)
    fit_of(fields[1], 5)
    fit_of(fields[2], 5)
    assert sum(weight for weight, _ in remembered._FITS._known.values()) <= 60  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
