"""The table by place: points first, then tie-breaks; ratings do not influence it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.rating.tiebreaks import Meeting, places, tie_breaks
from arena.results.encounter import meetings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.results.rated_matches import RatedMatches
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class PlaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One bot in a table by place; the fields are the columns, and the keys of the JSON form."""

    place: int
    """Place, from 1; shared by bots that no tie-break separates."""
    name: str
    points: float
    """Points of all rated matches and of byes."""
    buchholz: float
    """Sum of the points of the bot's opponents, one per encounter (Buchholz score)."""
    cut_one: float
    """Buchholz score without the lowest opponent."""
    median: float
    """Buchholz score without the lowest and the highest opponent."""
    sonneborn_berger: float
    """Sum over opponents of points taken from them times their points (Sonneborn-Berger score)."""
    direct: float | None
    """Points against bots with equal points (direct encounter); None unless all of these have met."""
    wins: int
    """Number of matches won."""


def place_rows(met: Sequence[Meeting], labels: Sequence[str]) -> list[PlaceRow]:
    """Return the rows of bots by place; bots that share a place stay in the order of `labels`."""
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
    """Return the table by place of a stored tournament; all matches of two bots form one encounter.

    Args:
        store: the store with the tournament.
        tournament: the tournament, whose rated matches count.
        book: these matches, if the caller has read them.
    """
    entrants = sorted(store.tournaments.entrants(tournament.id), key=lambda entrant: entrant.seat)
    index = {entrant.seat: number for number, entrant in enumerate(entrants)}
    met = [
        Meeting(
            index[one],
            index[other],
            each.wins + each.draws / 2,
            each.losses + each.draws / 2,
            each.wins,
            each.losses,
        )
        for (one, other), each in meetings(store, tournament, book).counts().items()
    ]
    return place_rows(met, [entrant.label for entrant in entrants])
