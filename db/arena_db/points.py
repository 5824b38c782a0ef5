"""Stored ratings of a tournament over time: up to 40 points, each after its first N rated matches."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, literal, select, text

from arena_db import seals
from arena_db.cold_tables import cold_ends, cold_tournaments
from arena_db.counted import COUNTS
from arena_db.errors import RefusedError
from arena_db.kept import rating_points
from arena_db.models import matches, tournaments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Select, Table


MOST_POINTS: Final = 40
"""Maximum number of stored points of a tournament."""


class SeatRating(NamedTuple):
    """The rating of one bot at a point."""

    seat: int
    elo: float
    error: float
    """Half width of the 95 % interval, Elo."""
    rests_on_prior: bool
    """Whether no result bounds the rating on one side, so that the prior determines it; shown as `?`."""


class RatingPoint(NamedTuple):
    """The ratings of a tournament after its first `num_matches` rated matches, in the order of storing."""

    num_matches: int
    last_match: int
    """Id of the last of the `num_matches` matches."""
    ratings: tuple[SeatRating, ...]
    """Ratings of the bots that had played, by seat."""
    ended_at: float = 0.0
    """Time at which the last match ended, UTC seconds; set in points that were read."""


def step_of(num_matches: int, num_bots: int, num_points: int = MOST_POINTS) -> int:
    """Return the number of matches between two points of a tournament of this size.

    With fewer new matches than bots, most ratings would be unchanged.
    """
    return max(num_bots, -(-num_matches // num_points), 1)


def surplus(numbers: Sequence[int]) -> list[int]:
    """Choose which points to remove, so that `MOST_POINTS` remain and stay spread evenly.

    The last one stays. Each step removes the point whose neighbours are nearest to each other. There are at
    least 40 candidates, and the distances between their neighbours add up to at most twice the last number,
    so no step makes a gap wider than a twentieth of it.

    Args:
        numbers: numbers of matches at the points, ascending, above 0.
    """
    # The start counts as a point, so that the first one is not dropped for its nearness to the second.
    kept = [0, *numbers]
    removed: list[int] = []
    while len(kept) - 1 > MOST_POINTS:
        gaps = [later - earlier for earlier, later in zip(kept, kept[2:], strict=False)]
        removed.append(kept.pop(1 + gaps.index(min(gaps))))
    return sorted(removed)


def find_faults(connection: Connection) -> Iterator[str]:
    """Compare the points with their matches and seals; yield one sentence per contradiction."""
    yield from find_unmatched(connection)
    called = _names(connection)
    for tournament, num_matches in seals.wrong_points(connection):
        yield (
            f"the ratings of tournament {called.get(tournament, tournament)} after {num_matches} matches are "
            "not as they were stored; `arena db repair` removes them"
        )


def end_of(table: Table) -> ColumnElement[float]:
    """Return the time at which a match ended, UTC seconds."""
    return table.c.started_at + table.c.duration_ms / 1000.0


def find_unmatched(connection: Connection, tournament: int | None = None) -> Iterator[str]:
    """Compare the points of all stored tournaments, or of one, with their matches only."""
    called = _names(connection)
    for number, num_matches, place in _wrong(connection, tournament):
        is_here = f"is rated match {place}" if place else "is no rated match of it"
        yield (
            f"the ratings of tournament {called.get(number, number)} after {num_matches} matches "
            f"name a last match that {is_here}; `arena db repair` removes them"
        )


def _names(connection: Connection) -> dict[int, str]:
    return {row[0]: row[1] for row in connection.execute(select(tournaments.c.id, tournaments.c.name))}


def remove_wrong(connection: Connection) -> list[str]:
    """Remove the points that contradict the matches or their seals; return a sentence with their number.

    It is unknown which matches they were computed from. If the first points of a tournament are missing,
    viewers compute such points from the matches.
    """
    wrong = {(tournament, num_matches) for tournament, num_matches, _ in _wrong(connection)}
    wrong.update(seals.wrong_points(connection))
    for tournament, num_matches in wrong:
        _remove(connection, tournament, num_matches)
    return [f"{len(wrong)} wrong ratings over time are removed"] if wrong else []


def _remove(connection: Connection, tournament: int, num_matches: int) -> None:
    connection.execute(delete(rating_points).where(*_at(tournament, num_matches)))
    seals.forget_point(connection, tournament, num_matches)


def remove_since(connection: Connection, tournament: int, match: int) -> None:
    """Remove the points of a tournament that include a match which no longer counts, or counts again."""
    table = rating_points.c
    own = (table.tournament_id == tournament) & (table.match_id >= match)
    for num_matches in connection.scalars(select(table.num_matches).where(own).distinct()).all():
        _remove(connection, tournament, num_matches)


def _wrong(connection: Connection, tournament: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield tournament, stored and right number of matches of points whose match has another number.

    The right number is 0 if the match is not a counted match of the tournament.
    """
    table = rating_points.c
    known = select(table.tournament_id, table.num_matches, table.match_id).distinct()
    # Matches of cold tournaments are in files, so their points cannot be compared here.
    if tournament is None:
        known = known.where(table.tournament_id.not_in(select(cold_tournaments.c.tournament_id)))
    else:
        known = known.where(table.tournament_id == tournament)
    order = (table.tournament_id, table.num_matches, table.match_id)
    points: dict[int, list[tuple[int, int]]] = {}
    for number, num_matches, match in connection.execute(known.order_by(*order)):
        points.setdefault(number, []).append((num_matches, match))
    for number, own in points.items():
        # In the order of matches, so that each of them is counted once.
        ends = sorted({match for _, match in own})
        counted = 0
        places: dict[int, int] = {}
        for before, match in pairwise([0, *ends]):
            counted += connection.scalar(_number(number, before, match)) or 0
            # The right number is not enough: the named match must count as well.
            is_last = connection.scalar(_number(number, match - 1, match))
            places[match] = counted if is_last else 0
        for num_matches, match in own:
            if places[match] != num_matches:
                yield number, num_matches, places[match]


def _number(tournament: int, after: int, last: int) -> Select[int]:
    """Return the query that counts the rated matches of a tournament with ids in `(after, last]`."""
    own = (matches.c.tournament_id == tournament, matches.c.id > after, matches.c.id <= last)
    return select(func.count()).select_from(matches).where(*own, text(COUNTS))


def _at(tournament: int, num_matches: int) -> tuple[Any, Any]:
    return rating_points.c.tournament_id == tournament, rating_points.c.num_matches == num_matches


def add(connection: Connection, tournament: int, point: RatingPoint) -> bool:
    """Store a point if it is newer than the stored ones, and keep them spread evenly; return whether it is.

    Raises:
        RefusedError: the tournament has no such match.
    """
    own = rating_points.c.tournament_id == tournament
    numbers = select(rating_points.c.num_matches).where(own).distinct().order_by(rating_points.c.num_matches)
    known = list(connection.scalars(numbers))
    # Another run may have stored a later point meanwhile, and points must stay in the order of matches.
    if known and point.num_matches <= known[-1]:
        return False
    last = select(matches.c.id).where(matches.c.tournament_id == tournament, matches.c.id == point.last_match)
    if connection.scalar(last) is None:
        raise RefusedError(f"tournament {tournament} has no match #{point.last_match} to rate it up to")
    rows = [
        {
            "tournament_id": tournament,
            "num_matches": point.num_matches,
            "seat": rating.seat,
            "match_id": point.last_match,
            "elo": rating.elo,
            "error": rating.error,
            "rests_on_prior": int(rating.rests_on_prior),
        }
        for rating in point.ratings
    ]
    if not rows:
        return False
    connection.execute(insert(rating_points), rows)
    seals.seal_point(connection, tournament, point.num_matches)
    for number in surplus([*known, point.num_matches]):
        _remove(connection, tournament, number)
    return True


def find(
    connection: Connection, tournament: int, after: int, seats: Collection[int] | None
) -> list[RatingPoint]:
    """Return the points of more than `after` matches, oldest first, with the ratings of all or some seats."""
    table = rating_points.c
    # The matches of a cold tournament are in files, but the times of their ends were kept.
    ended = func.coalesce(end_of(matches), cold_ends.c.ended_at, literal(0.0))
    names = (
        table.num_matches,
        table.match_id,
        ended,
        table.seat,
        table.elo,
        table.error,
        table.rests_on_prior,
    )
    query = (
        select(*names)
        .outerjoin_from(rating_points, matches, matches.c.id == table.match_id)
        .outerjoin(cold_ends, cold_ends.c.match_id == table.match_id)
        .where(table.tournament_id == tournament, table.num_matches > after)
        .order_by(table.num_matches, table.seat)
    )
    if seats is not None:
        query = query.where(table.seat.in_(list(seats)))
    found: dict[int, RatingPoint] = {}
    ratings: dict[int, list[SeatRating]] = {}
    for num_matches, match, ended_at, seat, elo, error, rests_on_prior in connection.execute(query):
        if num_matches not in found:
            found[num_matches] = RatingPoint(num_matches, match, (), ended_at)
        rating = SeatRating(seat, elo, error, bool(rests_on_prior))
        ratings.setdefault(num_matches, []).append(rating)
    return [point._replace(ratings=tuple(ratings[number])) for number, point in found.items()]
