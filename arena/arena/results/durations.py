"""Expected durations of matches, from rated matches of the same bots with the same limit in the same tier."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from arena_db.records import MatchFilter
from arena_plugins.contract import Termination

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena_db.store import Store

    Pair = frozenset[str]
    """Identities of two bots; only one for a bot that plays itself."""

_MOST: Final = 300
"""Newest matches per bot that are read: enough for a mean within a few percent."""


class Expected(NamedTuple):
    """The expected duration of planned matches."""

    seconds: float | None
    """Mean seconds per match; None if a pair is unknown and no clock bounds it."""
    is_bound: bool
    """Whether the mean includes upper bounds from clocks in place of measured durations."""


class Durations(NamedTuple):
    """Durations of stored matches, used to predict others."""

    pairs: Mapping[Pair, Sequence[float]]
    """Seconds of each match, by its two bots."""

    @property
    def num_matches(self) -> int:
        """Number of matches that were read."""
        return sum(map(len, self.pairs.values()))

    def expect(self, planned: Iterable[tuple[str, str]], longest: float | None) -> Expected:
        """Return the expected duration of planned matches.

        A pair that has not met is estimated from its bots' matches against others, and if there are none,
        from what the clocks allow.

        Args:
            planned: identities of the two bots of each match.
            longest: maximum seconds that clocks allow a match; None if there is no maximum.
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
    """Return the durations of matches among some bots.

    Unrated matches, such as those of people, are left out, as are other tiers, in which bots start at another
    speed, and walkovers, which are not played.

    Args:
        store: the store with the matches.
        bots: specs by identity.
        game: canonical spec.
        limit: text of the limit, as in the name of a pool.
        tier: isolation tier of the matches.
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
