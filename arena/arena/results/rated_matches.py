"""Sums up the rated matches of a store for a field of bots, from stored sums or match by match."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.results.replays import replayed_of
from arena.results.sides import POINTS
from arena.results.stored_sums import encounters_of, lightened
from arena_db.records import MatchFilter
from arena_db.wild import is_wild
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.rating.replayed import Replayed
    from arena.rating.sums import Encounters
    from arena_db.store import Store
    from arena_db.sums import EncounterSums

    Seat = tuple[int, int]
    """Id of a tournament, and a seat in it."""


class RatedMatches:
    """The rated matches that pass a filter.

    If the filter names only a tournament, game or pool, the sums that the store maintains are used and no
    match is read. Other filters read each match once.
    """

    def __init__(self, where: MatchFilter) -> None:
        """Prepare to sum up the matches that pass a filter; nothing is read yet."""
        self._where = where
        self._newest = 0
        self._change = 0
        self._seats: dict[Seat, int] = {}
        self._matches = MatchArrays()
        self._store: Store | None = None
        self._kept: list[EncounterSums] = []
        self._is_kept = _is_kept(where)

    def update(self, store: Store) -> None:
        """Read new matches; the store must stay open while sums or matches are requested."""
        self._store = store
        if not self._is_kept:
            self._read_matches()
        elif self._where.tournament is None:
            self._kept = store.sums.of_pools(self._where.game, self._where.pool)
        else:
            tournament = store.tournaments.find(self._where.tournament)
            self._kept = [] if tournament is None else store.sums.of_tournament(tournament.id)

    def matches(self, index: Mapping[Seat, int]) -> MatchArrays:
        """Return the matches of a field, one by one.

        Args:
            index: index of a bot in the field by tournament and seat; matches of other seats are left out.
        """
        self._read_matches()
        numbers = np.full(max(len(self._seats), 1), -1, dtype=np.int64)
        for seat, code in self._seats.items():
            numbers[code] = index.get(seat, -1)
        return self._matches.renumbered(numbers)

    def of_tournament(self, tournament: int, index: Mapping[int, int]) -> Encounters:
        """Sum up the matches of a tournament.

        Args:
            tournament: id of the tournament.
            index: index of a bot in the field, by seat.
        """
        if self._is_kept and self._where.tournament is not None:
            return encounters_of(self._kept, {**index})
        if self._is_kept and self._store is not None:
            return encounters_of(self._store.sums.of_tournament(tournament), {**index})
        return encounters(self.matches({(tournament, seat): bot for seat, bot in index.items()}))

    def of_pool(
        self, game: str, pool: str, index: Mapping[str, int], seats: Mapping[Seat, int]
    ) -> Encounters:
        """Sum up the matches of a pool over all tournaments.

        Args:
            game: canonical spec.
            pool: name of the pool.
            index: index of a bot in the field, by identity.
            seats: index of a bot in the field by tournament and seat, for filters that read matches.
        """
        if not self._is_kept or self._where.tournament is not None:
            return encounters(self.matches(seats))
        own = [each for each in self._kept if (each.game, each.pool) == (game, pool)]
        return encounters_of(own, {**index})

    def replayed(self, seats: Mapping[Seat, int]) -> Replayed | None:
        """Return the replay corrections of a field whose matches are all of one tournament, else None.

        Args:
            seats: index of a bot in the field, by tournament and seat.
        """
        events = {tournament for tournament, _ in seats}
        if len(events) != 1 or self._store is None or not self._is_kept:
            return None
        found = replayed_of(self._store, *events)
        order = [seat for _, seat in sorted(seats, key=seats.__getitem__)]
        return (
            None
            if found is None
            else replace(
                found, strength=found.strength[order], away=np.ascontiguousarray(found.away[:, order])
            )
        )

    def weighted(self, whole: Encounters, seats: Mapping[Seat, int]) -> Encounters:
        """Return encounters in which matches of replayed tournaments are weighted by their errors.

        Args:
            whole: sums of the matches of a field.
            seats: index of a bot in the field, by tournament and seat.
        """
        events: dict[int, dict[int, int]] = {}
        for (tournament, seat), bot in seats.items():
            events.setdefault(tournament, {})[seat] = bot
        marks = {} if self._store is None else self._store.ratings.replay_marks()
        for tournament in sorted(events.keys() & marks.keys()):
            kept = None if self._store is None else self._store.ratings.replay_of(tournament)
            if kept is not None and kept.weight < 1:
                part = self.of_tournament(tournament, events[tournament])
                whole = lightened(whole, part, kept.weight)
        return whole

    def _read_matches(self) -> None:
        if self._store is None:
            return
        change = self._store.changes.last()
        if change != self._change:
            # Matches that were read may have become void or valid since.
            self._change, self._newest = change, 0
            self._seats, self._matches = {}, MatchArrays()
        found = self._store.matches.played(self._where, after=self._newest)
        if not found:
            return
        self._newest = found[-1].id
        seats = self._seats
        self._matches.add(
            RatedMatch(
                seats.setdefault((match.tournament, match.first_seat), len(seats)),
                seats.setdefault((match.tournament, match.second_seat), len(seats)),
                POINTS[Outcome(match.outcome)],
                # Two matches form a pair, with the same opening and swapped sides.
                (match.tournament, match.encounter, match.match_no // 2),
                match.opening_hash,
                match.match_hash,
            )
            for match in found
        )


def _is_kept(where: MatchFilter) -> bool:
    """Return whether a filter names only a tournament, a game or a pool, by exact names."""
    names = (where.game, where.tournament, where.pool)
    if any(is_wild(name) for name in names if name is not None):
        return False
    if where.tournament is not None and where != MatchFilter(tournament=where.tournament):
        return False
    return where == MatchFilter(game=where.game, pool=where.pool, tournament=where.tournament)
