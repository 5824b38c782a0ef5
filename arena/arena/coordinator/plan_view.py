"""What a schedule sees of a stored event: its plan and its results, read when it asks for them, and once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, overload

from typing_extensions import override

from arena.schedules.protocol import Basis, Participant, View
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.schedules.protocol import MatchKey
    from arena_db.records import Entrant, TournamentRecord
    from arena_db.store import Store

_PAGE: Final = 10_000
"""Rows that are read at once."""


class StoredPlan(Sequence[PlannedMatch]):
    """The rows of a plan by number; they are read from the store when the first one is asked for.

    A schedule that only asks how many there are keeps none of them in memory.
    """

    def __init__(self, store: Store, tournament: int, num_planned: int) -> None:
        """Take a plan of so many matches."""
        self._store = store
        self._tournament = tournament
        self._num = num_planned
        self._rows: list[PlannedMatch] = []

    def grow(self, matches: Sequence[PlannedMatch]) -> None:
        """Add matches that were stored."""
        if self._rows and len(self._rows) == self._num:
            self._rows += matches
        self._num += len(matches)

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
            self._rows += self._store.planned(self._tournament, after=len(self._rows), limit=limit)
        return self._rows


class StoredResults(Mapping["MatchKey", float | None]):
    """Points of the lower seat by encounter and number of the match; each match is read once."""

    def __init__(self, store: Store, tournament: int) -> None:
        """See nothing yet."""
        self._store = store
        self._tournament = tournament
        self._basis = Basis()
        self._num_seen = 0
        self._found: dict[MatchKey, float | None] = {}

    def see(self, basis: Basis) -> None:
        """Let all matches up to a basis be seen."""
        if basis.change != self._basis.change:
            # A change may be about any match of before.
            self._num_seen, self._found = 0, {}
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
            news = self._store.results(self._tournament, after=self._num_seen, last=self._basis.match)
            self._found.update(((each.encounter, each.match_no), each.points) for each in news)
            self._num_seen = self._basis.match
        return self._found


class EventView:
    """Makes views of a stored event, each of the results that are stored at the time."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Take an event as it stands in the store."""
        self._store = store
        self._tournament = tournament.id
        self._results = StoredResults(store, tournament.id)
        self._seats = seats_of(store.entrants(tournament.id))
        self.plan: Final = StoredPlan(store, tournament.id, tournament.num_planned)
        """All matches planned so far."""

    def basis(self) -> Basis:
        """Return how much there is to see now; it costs next to nothing."""
        return Basis(match=self._store.last_match(self._tournament))

    def look(self, basis: Basis) -> View:
        """Return the view of a basis, which no later view may go back behind."""
        self._results.see(basis)
        return View(seats=self._seats, plan=self.plan, results=self._results, basis=basis)


def seats_of(entrants: Sequence[Entrant]) -> tuple[Participant, ...]:
    """Return who has a seat of an event, by seat."""
    return tuple(Participant(entrant.label) for entrant in entrants)
