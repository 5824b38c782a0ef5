"""Seals: hashes of data that is derived from nothing else in the store, so that damage to it is detected.

A match carries a hash of its own. The fields of a tournament, its bots, plan and batches, the changes made to
it and its ratings over time are sealed here. Anybody can compute a seal from the other columns: it detects
damage, not forgery.

The plan is sealed by a hash chain with links of up to 1,024 matches; each link includes the hash of the link
before it. A window of unplayed matches is therefore checked without reading the played ones.
"""

from __future__ import annotations

import json
import struct
from bisect import bisect
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, insert, select, update

from arena_db.cold_tables import cold_tournaments
from arena_db.corrections import changes, origins, voids
from arena_db.dialects import driver_text, upsert
from arena_db.errors import DamagedError, RefusedError
from arena_db.kept import pools, rating_points, replays, seals
from arena_db.models import bots, entrants, tournaments
from arena_db.plan_tables import batches, planned

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Executable

FIELDS: Final = (
    *("uid", "name", "type", "game", "num_actions", "seed", "config", "event", "site", "created_at"),
    *("plan_version", "num_total", "is_planned", "decision"),
)
"""Sealed columns of a tournament; the others are states, and counts of rows."""
LINK: Final = 1024
"""Maximum number of planned matches under one hash."""

_WINDOW: Final = 20_000
"""Number of unplayed matches checked before a run; a plan that grows has some hundreds."""
_PLAN: Final = ("number", "encounter", "match_no", "first_seat", "second_seat", "opening")
_BATCH: Final = ("number", "first_number", "last_number", "basis_match", "basis_change", "note")
_SEAT: Final = ("seat", "label", "time_limit", "state", "name", "anchor", "joined_change", "left_change")
_POINT: Final = ("num_matches", "seat", "elo", "error", "rests_on_prior")
_REPLAY: Final = ("num_matches", "slope", "weight", "strength", "away")
_ROW: Final = struct.Struct("<5qI")
"""The first five columns of a planned match, and the length of its opening in bytes."""


def seal_tournament(connection: Connection, tournament: int) -> None:
    """Seal the fields, bots and changes of a new tournament."""
    _keep(connection, tournament, "fields", 0, _fields_hash(connection, tournament))
    _seal_amended(connection, tournament)


def seal_anew(connection: Connection, tournament: int) -> None:
    """Renew all seals of a tournament; only for one that was sound, or came from a sound store."""
    connection.execute(delete(seals).where(seals.c.tournament_id == tournament))
    seal_tournament(connection, tournament)
    plan = select(*_columns(planned.c, _PLAN)).where(planned.c.tournament_id == tournament)
    seal_plan(connection, tournament, connection.execute(plan.order_by(planned.c.number)).all())
    own = select(batches.c.number).where(batches.c.tournament_id == tournament).order_by(batches.c.number)
    for number in connection.scalars(own).all():
        seal_batch(connection, tournament, number)
    points = select(rating_points.c.num_matches).where(rating_points.c.tournament_id == tournament)
    for num_matches in connection.scalars(points.distinct()).all():
        seal_point(connection, tournament, num_matches)
    if connection.scalar(select(replays.c.num_matches).where(replays.c.tournament_id == tournament)):
        seal_replay(connection, tournament)


@contextmanager
def amending(connection: Connection, tournament: int) -> Generator[None]:
    """Renew the seals of a tournament's entrants and changes at the end of a `with` block.

    Raises:
        DamagedError: they were damaged before; a new seal would hide that.
    """
    if connection.scalar(select(tournaments.c.id).where(tournaments.c.id == tournament)) is None:
        yield
        return
    for fault in _wrong_amended(connection, tournament):
        raise DamagedError(f"{fault}; `arena db check` shows more")
    yield
    # Not after an error, which rolls back what was amended.
    _seal_amended(connection, tournament)


def require_sound(connection: Connection, tournament: int) -> None:
    """Check that a tournament agrees with its seals.

    Raises:
        DamagedError: it does not.
    """
    for fault in find_faults(connection, tournament):
        raise DamagedError(f"{fault}; `arena db check` shows more")


def change(connection: Connection, tournament: int, **values: Any) -> None:  # noqa: ANN401 - of its columns
    """Change fields of a tournament, and renew their seal.

    Raises:
        RefusedError: there is no such tournament.
        DamagedError: the fields were damaged before; a new seal would hide that.
    """
    own = tournaments.c.id == tournament
    if connection.scalar(select(tournaments.c.id).where(own)) is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    for fault in _wrong_fields(connection, tournament):
        raise DamagedError(f"{fault}; `arena db check` shows more")
    connection.execute(update(tournaments).where(own).values(values))
    _keep(connection, tournament, "fields", 0, _fields_hash(connection, tournament))


def seal_batch(connection: Connection, tournament: int, number: int) -> None:
    """Seal a new batch of a plan, chained to the batches before it."""
    # The first batch follows no other.
    before = _stored(connection, tournament, "batches", number - 1) or b""
    _keep(connection, tournament, "batches", number, _batch_hash(connection, tournament, number, before))


def seal_plan(connection: Connection, tournament: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """Seal new matches of a plan by appending links to its chain.

    Args:
        connection: holds the write lock.
        tournament: its id.
        rows: number, encounter, number within it, both seats and opening of each match, by number.
    """
    last = select(seals.c.content_hash).where(*_part(tournament, "plan"))
    # The first link of a plan continues nothing.
    before = connection.scalar(last.order_by(seals.c.number.desc()).limit(1)) or b""
    links: list[tuple[Any, ...]] = []
    for start in range(0, len(rows), LINK):
        link = rows[start : start + LINK]
        # Each hash includes the one before, so that links cannot be exchanged or left out unnoticed.
        before = _link_hash(before, link)
        links.append((tournament, "plan", link[-1][0], bytearray(before)))
    if links:
        names = [column.name for column in seals.c]
        connection.exec_driver_sql(driver_text(insert(seals), connection.dialect.name, names), links)


def seal_point(connection: Connection, tournament: int, num_matches: int) -> None:
    """Seal the ratings of a tournament after `num_matches` matches, which were just stored."""
    _keep(connection, tournament, "points", num_matches, _point_hash(connection, tournament, num_matches))


def forget_point(connection: Connection, tournament: int, num_matches: int) -> None:
    """Remove the seal of removed ratings."""
    connection.execute(delete(seals).where(*_part(tournament, "points"), seals.c.number == num_matches))


def seal_replay(connection: Connection, tournament: int) -> None:
    """Seal the replayed ratings of a tournament, which were just stored."""
    _keep(connection, tournament, "replays", 0, _replay_hash(connection, tournament))


def forget_replay(connection: Connection, tournament: int) -> None:
    """Remove the seal of removed replayed ratings."""
    connection.execute(delete(seals).where(*_part(tournament, "replays")))


def wrong_replays(connection: Connection) -> Iterator[int]:
    """Yield tournaments whose replayed ratings contradict their seal, or where one of the two is missing."""
    kept = set(connection.scalars(select(replays.c.tournament_id)))
    sealed = set(connection.scalars(select(seals.c.tournament_id).where(seals.c.part == "replays")))
    # Both: a seal without ratings is as wrong as ratings without a seal.
    for tournament in sorted(kept | sealed):
        if _stored(connection, tournament, "replays") != _replay_hash(connection, tournament):
            yield tournament


def find_faults(
    connection: Connection, tournament: int | None = None, *, whole: bool = True
) -> Iterator[str]:
    """Compare tournaments with their seals; yield one sentence for each difference.

    Args:
        connection: only read from.
        tournament: id of the only tournament; None for all.
        whole: check whole plans; otherwise only links with one of the next 20,000 unplayed matches.
    """
    own = [] if tournament is None else [tournaments.c.id == tournament]
    cold = set(connection.scalars(select(cold_tournaments.c.tournament_id)))
    for number in connection.scalars(select(tournaments.c.id).where(*own).order_by(tournaments.c.id)).all():
        yield from _wrong_fields(connection, number)
        yield from _wrong_amended(connection, number)
        # The plan of a cold tournament is in a file, and checked there.
        if number not in cold:
            yield from wrong_plan(connection, number, whole=whole)
        yield from _wrong_batches(connection, number)
    known = (
        select(seals.c.tournament_id, seals.c.part).distinct().order_by(seals.c.tournament_id, seals.c.part)
    )
    for number, part in connection.execute(known):
        if part not in {"fields", "entrants", "changes", "plan", "batches", "points", "replays"}:
            yield f"tournament {number} has a seal of an unknown part, {part}"


def wrong_points(connection: Connection) -> Iterator[tuple[int, int]]:
    """Yield tournament and number of matches of ratings over time that contradict their seal, or lack it."""
    key = (rating_points.c.tournament_id, rating_points.c.num_matches)
    points = {tuple(row) for row in connection.execute(select(*key).distinct())}
    own = select(seals.c.tournament_id, seals.c.number).where(seals.c.part == "points")
    sealed = {tuple(row) for row in connection.execute(own)}
    for tournament, num_matches in sorted(points | sealed):
        kept = _stored(connection, tournament, "points", num_matches)
        if kept != _point_hash(connection, tournament, num_matches):
            yield tournament, num_matches


def _wrong_fields(connection: Connection, tournament: int) -> Iterator[str]:
    if _stored(connection, tournament, "fields") != _fields_hash(connection, tournament):
        yield (
            f"tournament {_name(connection, tournament)} is not as it was stored: its name, type, game, "
            "pool, seed, configuration, event, site, time, or the state of its plan"
        )


def _wrong_amended(connection: Connection, tournament: int) -> Iterator[str]:
    if _stored(connection, tournament, "entrants") != _entrants_hash(connection, tournament):
        yield f"the bots of tournament {_name(connection, tournament)} are not as they were entered"
    if _stored(connection, tournament, "changes") != _changes_hash(connection, tournament):
        yield f"what was decided about tournament {_name(connection, tournament)} is not as it was stored"


def _seal_amended(connection: Connection, tournament: int) -> None:
    _keep(connection, tournament, "entrants", 0, _entrants_hash(connection, tournament))
    _keep(connection, tournament, "changes", 0, _changes_hash(connection, tournament))


def wrong_plan(connection: Connection, tournament: int, *, whole: bool) -> Iterator[str]:
    """Compare the plan of a tournament with its seals; yield one sentence for each difference.

    Args:
        connection: only read from.
        tournament: its id.
        whole: see `find_faults`.
    """
    links = select(seals.c.number, seals.c.content_hash).where(*_part(tournament, "plan"))
    plan = select(*_columns(planned.c, _PLAN)).order_by(planned.c.number)
    still_open = [] if whole else _next_open(connection, tournament)
    hash_before, last_before = b"", 0
    for last, content_hash in connection.execute(links.order_by(seals.c.number)).all():
        here = _range(tournament, last_before + 1, last)
        # Links without an unplayed match are skipped.
        if whole or bisect(still_open, last) > bisect(still_open, last_before):
            rows = connection.execute(plan.where(*here)).all()
            if _link_hash(hash_before, rows) != content_hash:
                name = _name(connection, tournament)
                yield f"matches {last_before + 1} to {last} of {name} are not planned as they were stored"
        # The stored hash, not the computed one, so that a damaged link is not reported again with each later
        # link.
        hash_before, last_before = content_hash, last
    beyond = select(planned.c.number).where(
        planned.c.tournament_id == tournament, (planned.c.number > last_before) | (planned.c.number < 1)
    )
    found = connection.scalar(beyond.limit(1))
    if found is not None:
        yield f"match {found} of the plan of {_name(connection, tournament)} has no seal"


def _wrong_batches(connection: Connection, tournament: int) -> Iterator[str]:
    """Compare all batches with their seals, in one read: a ladder has a batch per handful of matches."""
    own = select(seals.c.number, seals.c.content_hash).where(*_part(tournament, "batches"))
    sealed: dict[int, bytes] = {row[0]: row[1] for row in connection.execute(own)}
    known: dict[int, list[Sequence[Any]]] = {number: [] for number in sealed}
    query = select(batches.c.number, *_columns(batches.c, _BATCH)).where(
        batches.c.tournament_id == tournament
    )
    for number, *row in connection.execute(query):
        known.setdefault(number, []).append(row)
    before = b""
    for number in sorted(known):
        stored = sealed.get(number)
        if stored != _chained(before, known[number]):
            yield f"batch {number} of the plan of {_name(connection, tournament)} is not as it was stored"
        # As in `wrong_plan`, the stored hash.
        before = stored or b""


def _range(tournament: int, first: int, last: int) -> tuple[ColumnElement[bool], ...]:
    return planned.c.tournament_id == tournament, planned.c.number.between(first, last)


def _next_open(connection: Connection, tournament: int) -> list[int]:
    """Return the numbers of the next unplayed matches, at most `_WINDOW`."""
    own = (planned.c.tournament_id == tournament, planned.c.state == "planned")
    query = select(planned.c.number).where(*own).order_by(planned.c.number).limit(_WINDOW)
    return list(connection.scalars(query))


def _link_hash(before: bytes, rows: Sequence[Sequence[Any]]) -> bytes:
    pack = _ROW.pack
    parts = [before]
    try:
        for number, encounter, match_no, first_seat, second_seat, opening in rows:
            # The length of the opening keeps rows apart: without it bytes could move from one to the next.
            parts += (pack(number, encounter, match_no, first_seat, second_seat, len(opening)), opening)
        return sha256(b"".join(parts)).digest()
    except (struct.error, TypeError):
        # A damaged page may hold any value in the place of a number; the empty hash equals no stored seal.
        return b""


def _fields_hash(connection: Connection, tournament: int) -> bytes:
    pool = [column for column in pools.c if column is not pools.c.id]
    query = select(*_columns(tournaments.c, FIELDS), *pool).join_from(tournaments, pools)
    return _rows_hash(connection.execute(query.where(tournaments.c.id == tournament)).all())


def _entrants_hash(connection: Connection, tournament: int) -> bytes:
    own = [column for column in bots.c if column is not bots.c.id]
    query = select(*_columns(entrants.c, _SEAT), *own)
    query = query.join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
    query = query.where(entrants.c.tournament_id == tournament).order_by(entrants.c.seat)
    return _rows_hash(connection.execute(query).all())


def _changes_hash(connection: Connection, tournament: int) -> bytes:
    decided = select(changes).where(changes.c.tournament_id == tournament).order_by(changes.c.id)
    void = select(voids).join_from(voids, changes, changes.c.id == voids.c.change_id)
    void = void.where(changes.c.tournament_id == tournament).order_by(*voids.primary_key)
    copied = select(origins).where(origins.c.tournament_id == tournament)
    return _rows_hash([row for query in (decided, void, copied) for row in connection.execute(query).all()])


def _batch_hash(connection: Connection, tournament: int, number: int, before: bytes) -> bytes:
    here = (batches.c.tournament_id == tournament, batches.c.number == number)
    rows = connection.execute(select(*_columns(batches.c, _BATCH)).where(*here)).all()
    return _chained(before, rows)


def _chained(before: bytes, rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the hash over the rows of a batch and the seal of the batch before."""
    return sha256(before + _rows_hash(rows)).digest()


def _point_hash(connection: Connection, tournament: int, num_matches: int) -> bytes:
    table = rating_points.c
    query = select(*_columns(table, _POINT)).order_by(table.seat)
    here = (table.tournament_id == tournament, table.num_matches == num_matches)
    return _rows_hash(connection.execute(query.where(*here)).all())


def _replay_hash(connection: Connection, tournament: int) -> bytes:
    own = [replays.c[name] for name in _REPLAY]
    return _rows_hash(connection.execute(select(*own).where(replays.c.tournament_id == tournament)).all())


def _rows_hash(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the hash of rows of strings and numbers.

    JSON separates `1` from `"1"` and is exact for floats.
    """
    # A damaged page may hold bytes in the place of a string, which JSON cannot encode.
    return sha256(json.dumps([list(row) for row in rows], default=repr).encode()).digest()


def _columns(table: Any, names: Sequence[str]) -> list[Column[Any]]:  # noqa: ANN401 - columns by name
    return [table[name] for name in names]


def _part(tournament: int, part: str) -> tuple[ColumnElement[bool], ...]:
    return seals.c.tournament_id == tournament, seals.c.part == part


def _stored(connection: Connection, tournament: int, part: str, number: int = 0) -> bytes | None:
    own = (*_part(tournament, part), seals.c.number == number)
    return connection.scalar(select(seals.c.content_hash).where(*own))


def _name(connection: Connection, tournament: int) -> str:
    return str(connection.scalar(select(tournaments.c.name).where(tournaments.c.id == tournament)))


def _keep(connection: Connection, tournament: int, part: str, number: int, content_hash: bytes) -> None:
    values = {"tournament_id": tournament, "part": part, "number": number, "content_hash": content_hash}
    connection.execute(_keeping(connection.dialect.name), values)


@cache
def _keeping(dialect: str) -> Executable:
    """Return the statement that stores a seal; building it takes longer than executing it."""
    statement = upsert(seals, dialect)
    changed = {"content_hash": statement.excluded["content_hash"]}
    keys = [column.name for column in seals.primary_key]
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)
