"""Reads the pairs of matches that a bootstrap draws from."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from arena.leaderboard.sides import POINTS
from arena.rating.encounter import MatchResult
from arena.rating.outcomes import pair_outcomes
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from arena.rating.outcomes import PairOutcome
    from arena_db.records import MatchFilter, StoredMatch
    from arena_db.store import Store

_PAGE = 1000


def pair_outcomes_of(store: Store, where: MatchFilter, index: Mapping[str, int]) -> list[PairOutcome]:
    """Give the rated matches that fit a filter as pairs of the bots in `index`, by their identities."""
    encounters: dict[tuple[int, int, int, int], list[MatchResult]] = defaultdict(list)
    for match in _matches(store, where):
        if not match.rated or match.first not in index or match.second not in index:
            continue
        if match.first == match.second:
            continue
        one, other = sorted((index[match.first], index[match.second]))
        is_first = index[match.first] == one
        points = POINTS[Outcome(match.outcome)]
        encounters[match.tournament, match.encounter, one, other].append(
            MatchResult(match.match_no // 2, is_first, points if is_first else 1 - points, match.match_hash)
        )
    return [
        outcome
        for (_, _, one, other), results in encounters.items()
        for outcome in pair_outcomes(one, other, results)
    ]


def _matches(store: Store, where: MatchFilter) -> Iterator[StoredMatch]:
    """Read all matches that fit, page by page."""
    before = None
    while page := store.matches(where, before=before, limit=_PAGE):
        yield from page
        before = page[-1].id
