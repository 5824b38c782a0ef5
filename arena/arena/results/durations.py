"""How long matches take, from rated matches of the same bots under the same limit in the same tier."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from arena_db.records import MatchFilter
from arena_plugins.contract import Termination

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena_db.store import Store

    Pair = frozenset[str]
    """Identities of two bots; of one that meets itself, only one."""

_MOST: Final = 300
"""Newest matches of a bot that are looked at: enough for a mean within a few percent."""


class Expected(NamedTuple):
    """How long planned matches will take."""

    seconds: float | None
    """Mean of a match; None where nothing is known of some pair, and no clock bounds it."""
    is_bound: bool
    """Whether it holds what clocks allow, in place of what matches took."""


class Durations(NamedTuple):
    """What stored matches say about how long others will take."""

    pairs: Mapping[Pair, Sequence[float]]
    """Seconds of each match, by its two bots."""

    @property
    def num_matches(self) -> int:
        """Matches that were looked at."""
        return sum(map(len, self.pairs.values()))

    def expect(self, planned: Iterable[tuple[str, str]], longest: float | None) -> Expected:
        """Return how long planned matches will take.

        A pair that has not met is taken from what its bots played with the others; where there is no such
        match either, from what the clocks allow.

        Args:
            planned: identities of the two bots of each match.
            longest: seconds that clocks allow a match; None if they have no end.
        """
        known = [self._of(frozenset(pair)) for pair in planned]
        is_bound = None in known
        if is_bound and longest is None:
            return Expected(None, is_bound=False)
        seconds = [longest or 0.0 if each is None else each for each in known]
        return Expected(sum(seconds) / len(seconds) if seconds else None, is_bound=is_bound)

    def _of(self, pair: Pair) -> float | None:
        met = self.pairs.get(pair) or [
            seconds for other, each in self.pairs.items() if other & pair for seconds in each
        ]
        return sum(met) / len(met) if met else None


def read_durations(store: Store, bots: Mapping[str, str], *, game: str, limit: str, tier: str) -> Durations:
    """Return how long the matches among some bots took.

    Matches of people and other unrated ones tell nothing, nor do those of another tier, in which bots start
    otherwise; a walkover is not played.

    Args:
        store: where the matches are.
        bots: specs by identity.
        game: canonical spec.
        limit: text of the limit, as in the name of a pool.
        tier: isolation in which they were played.
    """
    found: defaultdict[Pair, list[float]] = defaultdict(list)
    seen: set[int] = set()
    for spec in sorted(set(bots.values())):
        for match in store.matches(MatchFilter(game=game, limit=limit, tier=tier, bot=spec), limit=_MOST):
            is_among = match.first in bots and match.second in bots
            if is_among and match.id not in seen and match.termination != Termination.WALKOVER:
                seen.add(match.id)
                found[frozenset((match.first, match.second))].append(match.duration_ms / 1000)
    return Durations(found)
