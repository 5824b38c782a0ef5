"""Excludes matches from all tables, and includes them again; records the author and reason of each change.

A void match stays stored. It counts in no tally, no stored sum and no rating, from the transaction that
declares it void until the one that undoes this.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, or_, select, update

from arena_db import coordination, points, replays, seals
from arena_db.access import Access, patient
from arena_db.clock import now
from arena_db.cold.thawing import missing_match
from arena_db.corrections import MOST_REASON, changes, voids
from arena_db.counted import HALF_POINTS, CountedMatch, parts
from arena_db.errors import RefusedError
from arena_db.models import matches, tallies, tournaments
from arena_db.queries import count_matches
from arena_db.saving import count_text
from arena_db.summed import recompute
from arena_db.tallying import KEYS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import Connection, Row

    from arena_db.records import MatchFilter

_MOST_NAMED: Final = 50
"""Maximum number of matches named in the subject of a change."""


class ChangeRecord(NamedTuple):
    """A change that was made to a tournament after it was planned."""

    id: int
    tournament: int
    """Id of the tournament."""
    kind: str
    """void, unvoid, join, leave, disqualify, archive or unarchive."""
    subject: str
    """Which matches, or which bot, as text."""
    reason: str
    who: str
    """user@host."""
    made_at: float
    """UTC seconds."""


class Correcting(Access):
    """The part of a store that voids matches and archives tournaments, and lists these changes."""

    def void(self, numbers: Collection[int], *, reason: str, who: str) -> int:
        """Declare matches void, so that no table counts them; return how many were not void before.

        Tallies, stored sums and ratings over time change in the same transaction. The plan does not: a void
        match is not played again.

        Args:
            numbers: ids of matches.
            reason: the reason, shown to everybody.
            who: author of the change, user@host.

        Raises:
            RefusedError: no such match; no reason, or one of over 4,096 characters.
        """
        with self._write() as connection:
            return judge(connection, numbers, reason, who, make_void=True)

    def unvoid(self, numbers: Collection[int], *, reason: str, who: str) -> int:
        """Count void matches again; return how many were void. Otherwise like `void`."""
        with self._write() as connection:
            return judge(connection, numbers, reason, who, make_void=False)

    def archive(self, tournament: int, *, who: str, undo: bool = False) -> bool:
        """Hide a tournament from lists, or show it again; return whether that changed anything.

        Its matches count as before.

        Raises:
            RefusedError: no such tournament, or it is being run.
        """
        with self._write() as connection:
            return _archive(connection, tournament, who, undo=undo)

    def num_archived(self) -> int:
        """Return the number of archived tournaments."""
        own = tournaments.c.archived_at.is_not(None)
        with self._read() as connection:
            return connection.scalar(select(func.count()).select_from(tournaments).where(own)) or 0

    def changes(self, tournament: int, *, after: int = 0) -> list[ChangeRecord]:
        """Return the changes made to a tournament, oldest first; only those with ids above `after`."""
        own = select(changes).where(changes.c.tournament_id == tournament, changes.c.id > after)
        own = own.order_by(changes.c.id)
        with self._read() as connection:
            return [ChangeRecord._make(row) for row in connection.execute(own)]

    def void_change(self, match: int) -> ChangeRecord | None:
        """Return the change that made a match void; None if it is not void."""
        own = select(changes).join_from(voids, changes, changes.c.id == voids.c.change_id)
        own = own.where(voids.c.match_id == match, voids.c.undone_change.is_(None))
        with self._read() as connection:
            row = connection.execute(own).first()
        return None if row is None else ChangeRecord._make(row)

    @patient
    def last_change(self, tournament: int | None = None) -> int:
        """Return the id of the newest change of a tournament, or of any; 0 before the first.

        Data that was read match by match may be outdated once this id differs.
        """
        found = select(func.max(changes.c.id))
        if tournament is not None:
            found = found.where(changes.c.tournament_id == tournament)
        with self._read() as connection:
            return connection.scalar(found) or 0

    def num_matches(self, where: MatchFilter) -> int:
        """Return how many matches fit a filter, void ones included; `tallies` has those that count."""
        with self._read_for(where) as connection:
            return count_matches(connection, where)

    def match_numbers(self, tournament: int, seats: Collection[int]) -> list[int]:
        """Return the ids of the matches of a tournament in which one of these seats played, ascending."""
        sides = (matches.c.first_seat, matches.c.second_seat)
        found = select(matches.c.id).where(
            matches.c.tournament_id == tournament, or_(*(side.in_(list(seats)) for side in sides))
        )
        with self._read_of(tournament) as connection:
            return list(connection.scalars(found.order_by(matches.c.id)))


class Why(NamedTuple):
    """Who made a change, and why."""

    who: str
    """user@host."""
    reason: str = ""


def add_change(connection: Connection, tournament: int, kind: str, subject: str, why: Why) -> int:
    """Record a change; return its id.

    Raises:
        RefusedError: the reason is longer than the table permits.
    """
    num = len(why.reason)
    if num > MOST_REASON:
        raise RefusedError(f"the reason has {num} characters; shorten it to at most {MOST_REASON}")
    values = {"tournament_id": tournament, "kind": kind, "subject": subject, **why._asdict()}
    added = insert(changes).values(values | {"made_at": now()}).returning(changes.c.id)
    return connection.execute(added).scalar_one()


def judge(connection: Connection, numbers: Collection[int], reason: str, who: str, *, make_void: bool) -> int:
    """Make matches void or count them again, with all derived data; return how many changed.

    Raises:
        RefusedError: there is no such match, or no reason.
    """
    if not reason.strip():
        raise RefusedError("a reason is missing; it is shown to everybody who looks at the match later")
    found = find_judged(connection, sorted(set(numbers)))
    changed = [row for row in found if row.is_void != make_void]
    kind = "void" if make_void else "unvoid"
    for tournament, own in _by_tournament(changed):
        with seals.amending(connection, tournament):
            subject = _subject([row.number for row in own])
            change = add_change(connection, tournament, kind, subject, Why(who, reason))
            _note(connection, [row.id for row in own], change, make_void=make_void)
    settle(connection, changed, make_void=make_void)
    return len(changed)


def _note(connection: Connection, ids: Sequence[int], change: int, *, make_void: bool) -> None:
    """Record the change by which matches become void or count again."""
    if make_void:
        connection.execute(insert(voids), [{"match_id": number, "change_id": change} for number in ids])
        return
    for some in parts(ids):
        present = voids.c.match_id.in_(some) & voids.c.undone_change.is_(None)
        connection.execute(update(voids).where(present).values(undone_change=change))


def settle(connection: Connection, changed: Sequence[Row[*tuple[Any, ...]]], *, make_void: bool) -> None:
    """Update tallies, sums and ratings over time after matches became void or count again.

    Args:
        connection: holds the write lock; the table `voids` is updated already.
        changed: the rows of these matches that `find_judged` returned.
        make_void: whether they became void.
    """
    for tournament, own in _by_tournament(changed):
        _count(connection, tournament, own, -1 if make_void else 1)
        _drop_ratings(connection, tournament, own)
    recompute(connection, map(_counted, filter(_counts, changed)))


def _by_tournament(
    rows: Sequence[Row[*tuple[Any, ...]]],
) -> Iterator[tuple[int, list[Row[*tuple[Any, ...]]]]]:
    """Yield the matches of each tournament, by number."""
    for tournament, own in groupby(sorted(rows, key=_place), key=lambda row: row.tournament_id):
        yield tournament, list(own)


def refuse_running(connection: Connection, tournament: int) -> None:
    """Refuse to change a whole tournament while it is being run.

    Raises:
        RefusedError: it is being run; the text says how to stop it. Or there is no such tournament.
    """
    name = connection.scalar(select(tournaments.c.name).where(tournaments.c.id == tournament))
    if name is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    lease = coordination.find(connection, tournament)
    if lease is not None and lease.is_alive:
        raise RefusedError(f"{name} is being run; arena stop {name} stops it")


def _archive(connection: Connection, tournament: int, who: str, *, undo: bool) -> bool:
    refuse_running(connection, tournament)
    at = tournaments.c.archived_at
    own = (tournaments.c.id == tournament, at.is_not(None) if undo else at.is_(None))
    changed = update(tournaments).where(*own).values(archived_at=None if undo else now())
    if not connection.execute(changed).rowcount:
        return False
    kind = "unarchive" if undo else "archive"
    with seals.amending(connection, tournament):
        add_change(connection, tournament, kind, "", Why(who))
    return True


def _place(row: Row[*tuple[Any, ...]]) -> tuple[int, int]:
    return row.tournament_id, row.number


def find_judged(connection: Connection, numbers: Sequence[int]) -> list[Row[*tuple[Any, ...]]]:
    """Return the rows of matches that may become void or are void, by id.

    Raises:
        RefusedError: there is no such match.
    """
    present = (voids.c.match_id == matches.c.id) & voids.c.undone_change.is_(None)
    names = dict.fromkeys((*KEYS, *_COUNTED, "number", "is_final"))
    query = select(*(matches.c[name] for name in names), voids.c.match_id.is_not(None).label("is_void"))
    query = query.outerjoin_from(matches, voids, present).order_by(matches.c.id)
    found: list[Row[*tuple[Any, ...]]] = []
    for some in parts(numbers):
        found += connection.execute(query.where(matches.c.id.in_(some)))
    missing = set(numbers) - {row.id for row in found}
    if missing:
        raise missing_match(connection, min(missing))
    return found


_COUNTED: Final = tuple(
    "tournament_id" if name == "tournament" else name
    for name in CountedMatch._fields
    if name not in {"encounter", "match_no"}
)
"""The columns of a counted match."""


def _counts(row: Row[*tuple[Any, ...]]) -> bool:
    """Return whether ratings count a match if it is not void."""
    return row.rated == 1 and row.is_final == 1 and row.outcome in HALF_POINTS


def _counted(row: Row[*tuple[Any, ...]]) -> CountedMatch:
    # The encounter within the plan matters only to the pair of the match, which is read with all others.
    values: dict[str, Any] = {"encounter": 0, "match_no": 0} | {name: getattr(row, name) for name in _COUNTED}
    return CountedMatch(tournament=values.pop("tournament_id"), **values)


def _count(connection: Connection, tournament: int, rows: list[Row[*tuple[Any, ...]]], sign: int) -> None:
    """Add matches to the tallies, or subtract them."""
    counts = Counter(tuple(getattr(row, name) for name in KEYS) for row in rows)
    values = [(*key, sign * num) for key, num in counts.items()]
    connection.exec_driver_sql(count_text(connection.dialect.name), values)
    own = tallies.c.tournament_id == tournament
    # A recount has no row for a result without matches, and a check compares the two row by row.
    connection.execute(delete(tallies).where(own, tallies.c.num_matches == 0))


def _drop_ratings(connection: Connection, tournament: int, rows: list[Row[*tuple[Any, ...]]]) -> None:
    """Remove the stored ratings that depend on these matches."""
    # A point is about the first matches up to an id, so those before the first changed match stay true.
    first = min((row.id for row in rows if _counts(row)), default=None)
    if first is not None:
        points.remove_since(connection, tournament, first)
        replays.forget(connection, tournament)


def _subject(numbers: list[int]) -> str:
    """Return a text that names matches by their numbers in the plan, the first ones of many."""
    if len(numbers) == 1:
        return f"match {numbers[0]}"
    named = ", ".join(map(str, numbers[:_MOST_NAMED]))
    more = len(numbers) - _MOST_NAMED
    return f"matches {named}{f' and {more} more' if more > 0 else ''}"
