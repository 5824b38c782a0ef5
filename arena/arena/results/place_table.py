"""The table by place: points first, then tie-breaks; ratings have no say in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.rating.tiebreaks import Meeting, places, tie_breaks
from arena.results.encounter import meetings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.results.book import RatedMatches
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class PlaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One bot in a table by place; the fields are the columns, and the keys of the JSON form."""

    place: int
    """From 1; bots that no tie-break separates share it."""
    name: str
    points: float
    """Of all rated matches, and of byes."""
    buchholz: float
    """Points of its opponents, one of each encounter."""
    cut_one: float
    """The same without the lowest."""
    median: float
    """The same without the lowest and the highest."""
    sonneborn_berger: float
    """Points that it took from each opponent, times the points of that opponent."""
    direct: float | None
    """Points against bots with equal points; None unless all of these have met one another."""
    wins: int
    """Matches won."""


def place_rows(met: Sequence[Meeting], labels: Sequence[str]) -> list[PlaceRow]:
    """Return the rows of bots by place; those that share one stay in the order of `labels`."""
    found = tie_breaks(met, len(labels))
    rows = [
        PlaceRow(
            place=place,
            name=label,
            points=each.points,
            buchholz=each.buchholz,
            cut_one=each.cut_one,
            median=each.median,
            sonneborn_berger=each.sonneborn_berger,
            direct=each.direct,
            wins=each.wins,
        )
        for place, label, each in zip(places(found), labels, found, strict=True)
    ]
    return sorted(rows, key=lambda row: row.place)


def place_table(
    store: Store, tournament: TournamentRecord, book: RatedMatches | None = None
) -> list[PlaceRow]:
    """Return the table by place of a stored tournament; all matches of two bots are one encounter.

    Args:
        store: where it is.
        tournament: whose rated matches.
        book: of these matches, if one was read before.
    """
    entrants = sorted(store.entrants(tournament.id), key=lambda entrant: entrant.seat)
    index = {entrant.seat: number for number, entrant in enumerate(entrants)}
    met = [
        Meeting(
            index[one],
            index[other],
            each.counts.wins + each.counts.draws / 2,
            each.counts.losses + each.counts.draws / 2,
            each.counts.wins,
            each.counts.losses,
        )
        for (one, other), each in meetings(store, tournament, book).items()
        if one < other
    ]
    return place_rows(met, [entrant.label for entrant in entrants])
