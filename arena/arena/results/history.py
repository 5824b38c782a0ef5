"""Rating history of a tournament: points stored by its coordinator, and points computed from its matches."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from arena.rating.fit import fit
from arena.rating.sums import ClusterSums, Encounters, MatchArrays, RatedMatch, encounters, join
from arena.results.replays import rate_event, replayed_of
from arena.results.sides import POINTS
from arena.results.stored_sums import encounters_of
from arena_db.points import RatingPoint, SeatRating, step_of
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from arena.rating.ratings import Ratings
    from arena.rating.sums import IntArray
    from arena_db.counted import CountedMatch
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

NUM_SCANNED: Final = 20
"""Number of points that a scan of the matches computes."""
_FEW: Final = 200
"""A gap between two rating points is scanned only if it is wider than two steps plus this number of
matches."""


def rate_now(store: Store, tournament: int, num_bots: int) -> RatingPoint | None:
    """Return ratings from all matches of a tournament stored so far, as in its standings; None without any.

    Args:
        store: the store with the tournament.
        tournament: id of the tournament.
        num_bots: number of its entrants.

    Raises:
        ArenaError: the fit does not converge.
    """
    moment = store.sums.moment(tournament)
    if moment is None:
        return None
    seats = {seat: seat for seat in range(num_bots)}
    anchors = [
        (entrant.seat, entrant.anchor)
        for entrant in store.tournaments.entrants(tournament)
        if entrant.anchor is not None and entrant.seat < num_bots
    ]
    ratings = rate_event(
        encounters_of(moment.sums, {**seats}), num_bots, replayed_of(store, tournament), anchors
    )
    return RatingPoint(moment.num_matches, moment.last_match, _seat_ratings(ratings))


class History:
    """The rating points of one tournament, oldest first; `update` reads only new ones.

    Matches played before points were stored are rated by `scan`, which reads each match and takes seconds for
    a million.
    """

    def __init__(
        self, store: Store, tournament: TournamentRecord, *, seats: Collection[int] | None = None
    ) -> None:
        """Prepare for a tournament and its plan; nothing is read yet.

        Args:
            store: the store with the tournament.
            tournament: record of the tournament.
            seats: seats whose ratings are wanted; None for all.
        """
        self._tournament = tournament
        self._num_bots = len(store.tournaments.entrants(tournament.id))
        self._seats = seats
        self._is_scanned = False
        self._change = 0
        self.points: list[RatingPoint] = []

    def update(self, store: Store) -> None:
        """Read the points stored since the last call; all of them if matches became void or valid since."""
        change = store.changes.last()
        if change != self._change:
            self._change, self._is_scanned, self.points = change, False, []
            self._num_bots = len(store.tournaments.entrants(self._tournament.id))
        newest = self.points[-1].num_matches if self.points else 0
        self.points += store.ratings.points(self._tournament.id, after=newest, seats=self._seats)

    def needs_scan(self, tournament: TournamentRecord) -> bool:
        """Return whether points are missing for a part of the tournament.

        A run of this version stores its first point at the first step and the others without gaps. A match
        that becomes void removes all points after it.

        Args:
            tournament: the current record of the tournament.
        """
        if self._is_scanned or not tournament.num_done:
            return False
        return not self.points or bool(self._gaps(tournament))

    def _gaps(self, tournament: TournamentRecord) -> list[tuple[int, int]]:
        """Return the ranges of match counts without points; one range from 0 if there are no points."""
        known = [0, *(point.num_matches for point in self.points)]
        if len(known) == 1:
            return [(0, tournament.num_done + 1)]
        step = step_of(tournament.num_total or tournament.num_done, self._num_bots)
        most = max(tournament.num_done / 4, 2 * step + _FEW)
        return [(low, high) for low, high in pairwise(known) if high - low > most]

    def scan(
        self, store: Store, tournament: TournamentRecord, is_wanted: Callable[[], bool] = lambda: True
    ) -> None:
        """Compute all missing points from the matches.

        Args:
            store: the store with the matches.
            tournament: the current record of the tournament.
            is_wanted: polled between pages of matches and between fits; if it returns False, nothing changes.
        """
        gaps = self._gaps(tournament)
        end = max((high for _, high in gaps), default=0)
        step = step_of(tournament.num_done, self._num_bots, NUM_SCANNED)
        matches = GatheredMatches()
        found: list[RatingPoint] = []
        last: CountedMatch | None = None
        for page in store.bulk.counted_matches(self._tournament.id):
            start = 0
            while start < len(page) and len(matches) < end:
                # Continue to the next point, or to the end of the page.
                part = page[start : start + step - len(matches) % step]
                matches.add(map(_rated, part))
                start, last = start + len(part), part[-1]
                if not is_wanted():
                    return
                if len(matches) % step == 0 and any(low < len(matches) < high for low, high in gaps):
                    found.append(self._point(store, matches, last))
        if last is not None and not self.points and len(matches) % step:
            found.append(self._point(store, matches, last))
        self._is_scanned = True
        missing = [point for point in found if point.ratings]
        self.points = sorted([*missing, *self.points], key=lambda point: point.num_matches)

    def _point(self, store: Store, matches: GatheredMatches, last: CountedMatch) -> RatingPoint:
        ratings = _seat_ratings(fit(matches.encounters(), self._num_bots))
        if self._seats is not None:
            ratings = tuple(rating for rating in ratings if rating.seat in self._seats)
        match = store.matches.find(last.id)
        ended_at = 0.0 if match is None else match.started_at + match.duration_ms / 1000
        return RatingPoint(len(matches), last.id, ratings, ended_at)


def _rated(match: CountedMatch) -> RatedMatch:
    points = POINTS[Outcome(match.outcome)]
    pair = match.encounter, match.match_no // 2
    return RatedMatch(match.first_seat, match.second_seat, points, pair, match.opening_hash, match.match_hash)


def _seat_ratings(ratings: Ratings) -> tuple[SeatRating, ...]:
    """Return the ratings of the bots that have played, by seat."""
    return tuple(
        SeatRating(seat, ratings.elo[seat], ratings.error[seat], ratings.rests_on_prior[seat])
        for seat, num in enumerate(ratings.num_matches)
        if num
    )


_NUM_PARTS: Final = 32
"""Number of parts. Summing up a part takes ten times its memory: a third of the memory of all matches."""
_FACTOR: Final = 31
"""Factor that distributes pairs over parts; coprime to their number, so that a bot's opponents are spread."""
_PACKED: Final = np.dtype([("bots", "<i4", 2), ("half", "i1"), ("hashes", "<i8", 3)])
"""Packed form of a match: 33 bytes, instead of the 48 of `MatchArrays`."""


class GatheredMatches:
    """Rated matches by encounter: `encounters` sums up one part of them at a time.

    `sums.encounters` takes ten times the memory of its matches while it works, and a viewer that calls it for
    200,000 of them would keep 20 MB more from then on. All matches of two bots are in one part, so the sums
    are the same.
    """

    def __init__(self) -> None:
        """Start without matches."""
        self._parts = [np.zeros(0, _PACKED) for _ in range(_NUM_PARTS)]
        self._num = 0

    def __len__(self) -> int:
        """Return the number of matches."""
        return self._num

    def add(self, played: Iterable[RatedMatch]) -> None:
        """Add matches.

        Raises:
            ConfigError: a match has points other than 0, 0.5 or 1.
        """
        sorted_out: list[list[RatedMatch]] = [[] for _ in self._parts]
        for match in played:
            low, high = sorted(match[:2])
            sorted_out[(_FACTOR * low + high) % _NUM_PARTS].append(match)
        for place, own in enumerate(sorted_out):
            rows = MatchArrays(own).rows
            packed = np.zeros(len(rows), _PACKED)
            packed["bots"], packed["half"], packed["hashes"] = rows[:, :2], rows[:, 2], rows[:, 3:]
            self._parts[place] = np.concatenate([self._parts[place], packed])
            self._num += len(own)

    def encounters(self) -> Encounters:
        """Return the sums of all matches, as `sums.encounters` does."""
        found = [encounters(MatchArrays.of(_unpacked(part))) for part in self._parts]
        order = np.lexsort(
            [np.concatenate([getattr(one, name) for one in found]) for name in ("high", "low")]
        )

        def joined(values: Sequence[Any]) -> Any:  # noqa: ANN401 # of each of three kinds of fields
            if isinstance(values[0], ClusterSums):
                return join(values).take(order)
            if isinstance(values[0], tuple):
                return tuple(joined(each) for each in zip(*values, strict=True))
            return np.concatenate(values)[order]

        return Encounters(
            **{each.name: joined([getattr(one, each.name) for one in found]) for each in fields(Encounters)}
        )


def _unpacked(part: NDArray[np.void]) -> IntArray:
    """Return packed matches in the format of `MatchArrays.rows`, `[matches, 6]`."""
    return np.column_stack([part["bots"], part["half"], part["hashes"]]).astype(np.int64, copy=False)
