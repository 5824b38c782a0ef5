"""The view of a stored tournament for its schedule: plan and results, read lazily, and only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Final, overload

from typing_extensions import override

from arena.errors import ArenaError
from arena.results.forfeits import loser
from arena.schedules.protocol import Absence, Basis, Participant, View
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.schedules.protocol import MatchKey
    from arena.schedules.seat_counts import SeatCounts
    from arena_db.records import Entrant, TournamentRecord
    from arena_db.store import Store

_PAGE: Final = 10_000
"""Number of rows per query: a ladder may have millions."""
_JUDGES: Final = frozenset({"void", "unvoid"})
"""Changes that may alter the result of a match that was read already."""
_MOVES: Final = frozenset({"join", "leave", "disqualify"})
"""Changes of the entrants."""


class StoredPlan(Sequence[PlannedMatch]):
    """The rows of a plan by number, read from the store on first access.

    A schedule that only asks for their number keeps none of them in memory.
    """

    def __init__(self, store: Store, tournament: int, num_planned: int) -> None:
        """Prepare a plan of `num_planned` matches; nothing is read yet."""
        self._store = store
        self._tournament = tournament
        self._num = num_planned
        self._rows: list[PlannedMatch] = []

    def grow(self, matches: Sequence[PlannedMatch]) -> None:
        """Append matches that were stored."""
        # Only a list that is complete is continued here; `_read` continues any other from the store.
        if self._rows and len(self._rows) == self._num:
            self._rows += matches
        self._num += len(matches)

    def reach(self, num_planned: int) -> None:
        """Set the number of planned matches; new ones are read on access."""
        self._num = num_planned

    @override
    def __len__(self) -> int:
        return self._num

    @overload
    def __getitem__(self, index: int) -> PlannedMatch: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PlannedMatch]: ...
    @override
    def __getitem__(self, index: int | slice) -> PlannedMatch | Sequence[PlannedMatch]:
        return self._read()[index]

    @override
    def __iter__(self) -> Iterator[PlannedMatch]:
        return iter(self._read())

    def _read(self) -> list[PlannedMatch]:
        while len(self._rows) < self._num:
            limit = min(_PAGE, self._num - len(self._rows))
            self._rows += self._store.plans.planned(self._tournament, after=len(self._rows), limit=limit)
        return self._rows


class StoredResults(Mapping["MatchKey", float | None]):
    """Points of the lower seat by encounter and number of the match; each match is read once."""

    def __init__(self, store: Store, tournament: int) -> None:
        """Prepare an empty view."""
        self._store = store
        self._tournament = tournament
        self._basis = Basis()
        self._num_seen = 0
        self._found: dict[MatchKey, float | None] = {}
        self._forfeits: dict[MatchKey, int] = {}

    def see(self, basis: Basis, *, anew: bool) -> None:
        """Extend the view to all matches up to a basis; `anew` reads earlier ones again."""
        if anew:
            self._num_seen, self._found, self._forfeits = 0, {}, {}
        self._basis = basis

    @override
    def __getitem__(self, key: MatchKey) -> float | None:
        return self._read()[key]

    @override
    def __iter__(self) -> Iterator[MatchKey]:
        return iter(self._read())

    @override
    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[MatchKey, float | None]:
        if self._num_seen < self._basis.match:
            news = self._store.plans.results(self._tournament, after=self._num_seen, last=self._basis.match)
            for each in news:
                key = each.encounter, each.match_no
                self._found[key] = each.points
                player = loser(each)
                if player is not None:
                    self._forfeits[key] = (each.first, each.second)[player]
            self._num_seen = self._basis.match
        return self._found

    def forfeits(self) -> dict[MatchKey, int]:
        """Return the seat that forfeited, for each match that ended by a forfeit."""
        self._read()
        return self._forfeits


class StoredForfeits(Mapping["MatchKey", int]):
    """Seats that forfeited, by encounter and number of the match; read on first access."""

    def __init__(self, results: StoredResults) -> None:
        """Use the results that are read together with the forfeits."""
        self._results = results

    @override
    def __getitem__(self, key: MatchKey) -> int:
        return self._results.forfeits()[key]

    @override
    def __iter__(self) -> Iterator[MatchKey]:
        return iter(self._results.forfeits())

    @override
    def __len__(self) -> int:
        return len(self._results.forfeits())


class EventView:
    """Creates views of a stored tournament, each with the results stored at the time."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Prepare views of a tournament from its stored record."""
        self._store = store
        self._tournament = tournament.id
        self._results = StoredResults(store, tournament.id)
        self._change: int | None = None
        self._counts: SeatCounts | None = None
        self._num_counted = 0
        self._seats: tuple[Participant, ...] = ()
        self.entrants: Sequence[Entrant] = ()
        """The entrants as of the last look."""
        self.plan: Final = StoredPlan(store, tournament.id, tournament.num_planned)
        """All matches planned so far."""

    def basis(self) -> Basis:
        """Return the ids of the newest match and change; cheap enough to poll."""
        return Basis(self._store.matches.last_id(self._tournament), self.last_change())

    def last_change(self) -> int:
        """Return the id of the newest change of the tournament; 0 before the first."""
        return self._store.changes.last(self._tournament)

    def look(self, basis: Basis, decision: str, *, adds_up: bool = False) -> View:
        """Return the view of a basis; later views must not have an older basis.

        Args:
            basis: newest match and change that it includes.
            decision: as in `View`.
            adds_up: whether the view includes sums by pair of seats, and ratings.
        """
        is_judged = self._is_judged(basis)
        self._results.see(basis, anew=is_judged)
        if is_judged:
            # Counted again from the start, because a sum does not record which matches it includes.
            self._counts, self._num_counted = None, 0
        if basis.change != self._change:
            self._change = basis.change
            self.entrants = self._store.tournaments.entrants(self._tournament)
            self._seats = seats_of(self._store, self._tournament, self.entrants)
        return View(
            seats=self._seats,
            plan=self.plan,
            results=self._results,
            basis=basis,
            decision=decision,
            forfeits=StoredForfeits(self._results),
            counts=self._add_up(basis) if adds_up else None,
            errors=self._errors if adds_up else None,
        )

    def _is_judged(self, basis: Basis) -> bool:
        """Return whether matches that were read may have become void, or count again, since the last look.

        Bots that join or leave change no result, and reading a long ladder again would take a second.
        """
        if self._change is None or basis.change == self._change:
            return False
        news = self._store.changes.of(self._tournament, after=self._change)
        return any(each.kind in _JUDGES for each in news)

    def _add_up(self, basis: Basis) -> SeatCounts:
        """Return the sums up to a basis; a ladder has no end, so no row is kept in memory for them."""
        # Imported here, because it imports NumPy, which would delay other types of tournaments.
        from arena.schedules.seat_counts import SeatCounts

        counts = self._counts = self._counts or SeatCounts()
        while (missing := len(self.plan) - counts.num_planned) > 0:
            after, limit = counts.num_planned, min(_PAGE, missing)
            counts.add(self._store.plans.planned(self._tournament, after=after, limit=limit), {})
        while self._num_counted < basis.match:
            page = self._store.plans.results(
                self._tournament, after=self._num_counted, last=basis.match, limit=_PAGE
            )
            counts.add((), {(each.encounter, each.match_no): each.points for each in page})
            # By ids of matches, which have gaps: other tournaments are stored in the same table.
            self._num_counted = page[-1].id if len(page) == _PAGE else basis.match
        return counts

    def _errors(self) -> Sequence[float]:
        from arena.results.history import rate_now

        found = [inf] * len(self.entrants)
        # If no ratings fit the results, no rating is precise enough.
        with suppress(ArenaError):
            point = rate_now(self._store, self._tournament, len(self.entrants))
            for rating in () if point is None else point.ratings:
                found[rating.seat] = rating.error
        return found


def seats_of(
    store: Store, tournament: int, entrants: Sequence[Entrant], until: int | None = None
) -> tuple[Participant, ...]:
    """Return the participants of a tournament, by seat.

    Args:
        store: contains it.
        tournament: its id.
        entrants: its present and former entrants.
        until: the last change to include; None for all.
    """
    moves = [
        each
        for each in store.changes.of(tournament)
        if each.kind in _MOVES and (until is None or each.id <= until)
    ]
    lengths = store.plans.lengths(tournament) if moves else []

    def planned_before(change: int) -> int:
        return max((num for newest, num in lengths if newest < change), default=0)

    # By label: it is unique within the tournament and the subject of a change.
    left: dict[str, int] = {}
    absences: dict[str, list[Absence]] = {}
    for each in moves:
        if each.kind != "join":
            left[each.subject] = each.id
        elif (gone := left.pop(each.subject, None)) is not None:
            away = Absence(planned_before(gone), planned_before(each.id), gone)
            absences.setdefault(each.subject, []).append(away)
    return tuple(
        Participant(
            entrant.label,
            entrant.state,
            entrant.anchor,
            joined_at=planned_before(entrant.joined),
            left_at=planned_before(left[entrant.label]) if entrant.label in left else None,
            joined=entrant.joined,
            left=left.get(entrant.label, 0),
            absences=tuple(absences.get(entrant.label, ())),
        )
        for entrant in entrants
    )
