"""Excludes matches from all tables, and includes them again; records the author and reason of each change.

A void match stays stored. It counts in no tally, no stored sum and no rating, from the transaction that
declares it void until the one that undoes this.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, insert, select, update

from arena_db import coordination, points, replays, seals
from arena_db.clock import now
from arena_db.cold.thawing import missing_match
from arena_db.corrections import MOST_REASON, changes, voids
from arena_db.counted import HALF_POINTS, CountedMatch, parts
from arena_db.errors import RefusedError
from arena_db.models import matches, tallies, tournaments
from arena_db.saving import count_text
from arena_db.summed import recompute
from arena_db.tallying import KEYS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import Connection, Row


_MOST_NAMED: Final = 50
"""Maximum number of matches named in the subject of a change."""


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
    # The others are as wanted already, and no decision about them is recorded.
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
        # Only the void that is in force: a match may have been void before, and that stays on record.
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
    # After the tallies, but before the commit: no reader sees one without the other.
    recompute(connection, map(_counted, filter(_counts, changed)))


def _by_tournament(
    rows: Sequence[Row[*tuple[Any, ...]]],
) -> Iterator[tuple[int, list[Row[*tuple[Any, ...]]]]]:
    """Yield the matches of each tournament, by number."""
    # `groupby` joins neighbours only, so rows of one tournament must be next to each other.
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


def archive(connection: Connection, tournament: int, who: str, *, undo: bool) -> bool:
    """Hide a tournament from lists, or show it again; return whether that changed anything.

    Raises:
        RefusedError: no such tournament, or it is being run.
    """
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
    """Return the rows of these matches by id, each with `is_void`, whether the match is void now.

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
"""The columns of a match that a `CountedMatch` has."""


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
