"""Tournaments in the store: their names, bots and entrants."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from sqlalchemy import insert, select, update

from arena_db import coordination, plan_rows, seals
from arena_db.clock import now
from arena_db.corrections import origins
from arena_db.dialects import upsert
from arena_db.errors import RefusedError, TakenError
from arena_db.filters import is_named
from arena_db.kept import pools
from arena_db.models import bots, entrants, leases, tournaments
from arena_db.numbering import next_tournament
from arena_db.pools import PoolRecord
from arena_db.records import BotRecord, Entered, Entrant, NewBatch, OpenPlan, TournamentRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row, Select

    from arena_db.records import NewTournament, PlannedMatch

_PREFIXES: Final = {"round-robin": "rr"}
"""Prefixes of generated names that differ from the type."""
_NEW_LEASE: Final = {"expires_at": 0.0, "epoch": 0, "beat_at": 0.0, "last_seq": 0, "pruned_seq": 0}
_ENTERED: Final = ("seat", "label", "time_limit", "state", "anchor", "joined_change", "left_change")
"""Columns of an entrant."""


def add_tournament(
    connection: Connection,
    new: NewTournament,
    listed: Sequence[Entrant],
    plan: Sequence[PlannedMatch] | NewBatch | OpenPlan,
) -> TournamentRecord:
    """Insert a tournament with its new bots, its entrants, its plan and a free lease."""
    record = reserve(connection, new)
    return begin(connection, record.id, new.config, listed, plan)


def reserve(connection: Connection, new: NewTournament) -> TournamentRecord:
    """Insert a tournament that is being prepared; it has no entrants yet.

    It replaces a tournament of that name that never began, because it was refused or its preparation was
    killed: the row stays, so that its viewers see the new attempt, and gets a uid of its own.

    Raises:
        TakenError: another tournament has this name.
    """
    values = {name: value for name, value in asdict(new).items() if name != "pool"}
    values |= {
        "pool_id": pool_id(connection, new.game, new.pool),
        # Until the id is known, a name that no other tournament has.
        "name": new.name or uuid4().hex,
        "state": "preparing",
        "created_at": now(),
        "num_planned": 0,
        "num_done": 0,
        "uid": uuid4().hex,
        "num_total": None,
        "num_dropped": 0,
        "is_planned": 0,
        "decision": "",
    }
    # Under the write lock, so two commands cannot both find the name free.
    known = find_tournament(connection, new.name) if new.name else None
    if known is None:
        tournament = next_tournament(connection)
        connection.execute(insert(tournaments).values(values | {"id": tournament}))
        add_lease(connection, tournament)
    else:
        _check_gives_way(connection, known)
        tournament = known.id
        connection.execute(update(tournaments).where(tournaments.c.id == tournament).values(values))
    # The id is part of a generated name, and it is known only now.
    if not new.name:
        name = free_name(connection, f"{_PREFIXES.get(new.type, new.type)}-{tournament}")
        connection.execute(update(tournaments).where(tournaments.c.id == tournament).values(name=name))
    seals.seal_tournament(connection, tournament)
    return _one_tournament(connection, tournament)


def begin(
    connection: Connection,
    tournament: int,
    config: str,
    listed: Sequence[Entrant],
    plan: Sequence[PlannedMatch] | NewBatch | OpenPlan,
) -> TournamentRecord:
    """Enter the bots of a prepared tournament and add its plan; its state becomes `running`.

    Raises:
        RefusedError: it is not being prepared.
        DamagedError: its stored content contradicts its seal.
    """
    record = _one_tournament(connection, tournament)
    if record.state != "preparing":
        raise RefusedError(f"{record.name} is {record.state}, and not being prepared")
    num_total = plan.num_total if isinstance(plan, OpenPlan) else 0
    # State, entrants and plan in one transaction: a killed command leaves a tournament that never began.
    seals.change(connection, tournament, config=config, num_total=num_total, state="running")
    with seals.amending(connection, tournament):
        for entrant in listed:
            add_entrant(connection, tournament, entrant, seat=entrant.seat)
    if isinstance(plan, NewBatch):
        plan_rows.add_batch(connection, tournament, plan)
    elif not isinstance(plan, OpenPlan):
        plan_rows.append(connection, tournament, plan)
    return _one_tournament(connection, tournament)


def refuse(connection: Connection, tournament: int, reason: str) -> None:
    """Store why a tournament that was being prepared is refused.

    Raises:
        RefusedError: it is not being prepared.
        DamagedError: its stored content contradicts its seal.
    """
    record = _one_tournament(connection, tournament)
    if record.state != "preparing":
        raise RefusedError(f"{record.name} is {record.state}, and not being prepared")
    seals.change(connection, tournament, state="refused", decision=reason)


def _check_gives_way(connection: Connection, known: TournamentRecord) -> None:
    """Check that the tournament with the wanted name never began and is not being prepared.

    Raises:
        TakenError: it began, is being prepared, or was archived.
    """
    lease = coordination.find(connection, known.id)
    is_held = lease is not None and lease.is_alive
    if known.has_begun or is_held or known.archived_at is not None:
        raise TakenError(
            f'there is a tournament "{known.name}"; give this one another --name, or resume that one'
        )


def add_lease(connection: Connection, tournament: int) -> None:
    """Insert the lease of a tournament, held by nobody."""
    lease = {"tournament_id": tournament, "uuid": "", "host": "", "boot_id": "", "pid": 0, "pid_start": 0}
    connection.execute(insert(leases).values(lease | _NEW_LEASE))


def set_config(connection: Connection, tournament: int, config: str) -> None:
    """Replace the configuration of a tournament.

    Raises:
        DamagedError: its stored content contradicts its seal.
    """
    seals.change(connection, tournament, config=config)


def find_tournament(connection: Connection, key: int | str) -> TournamentRecord | None:
    """Return the tournament with this id or name; None if there is none."""
    column = tournaments.c.id if isinstance(key, int) else tournaments.c.name
    row = connection.execute(_select_tournaments().where(column == key)).first()
    return None if row is None else _tournament_record(row)


def last_tournament(connection: Connection, *, unfinished: bool) -> TournamentRecord | None:
    """Return the newest tournament, or the newest unfinished one, that is not archived.

    Unfinished ones exclude plays, which need a person, and copies of tournaments of other stores.
    """
    query = _select_tournaments().order_by(tournaments.c.id.desc()).limit(1)
    query = query.where(tournaments.c.archived_at.is_(None))
    if unfinished:
        is_copy = tournaments.c.id.in_(select(origins.c.tournament_id))
        query = query.where(tournaments.c.state.not_in(("finished", "refused")), ~is_copy)
        query = query.where(tournaments.c.type != "play")
    row = connection.execute(query).first()
    return None if row is None else _tournament_record(row)


def list_tournaments(
    connection: Connection, before: int | None, limit: int, *, archived: bool
) -> list[TournamentRecord]:
    """Return a page of tournaments, newest first; archived ones only if wanted."""
    query = _select_tournaments().order_by(tournaments.c.id.desc()).limit(limit)
    if not archived:
        query = query.where(tournaments.c.archived_at.is_(None))
    if before is not None:
        query = query.where(tournaments.c.id < before)
    return [_tournament_record(row) for row in connection.execute(query)]


def set_state(connection: Connection, tournament: int, state: str) -> None:
    """Set the state of a tournament.

    Raises:
        RefusedError: there is no such tournament.
    """
    if not connection.execute(
        update(tournaments).where(tournaments.c.id == tournament).values(state=state)
    ).rowcount:
        raise RefusedError(f"there is no tournament with id {tournament}")


def list_entrants(connection: Connection, tournament: int) -> list[Entrant]:
    """Return the entrants of a tournament by seat."""
    query = (
        select(*(entrants.c[name] for name in _ENTERED), bots)
        .join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
        .where(entrants.c.tournament_id == tournament)
        .order_by(entrants.c.seat)
    )
    return [
        Entrant(
            seat=row.seat,
            label=row.label,
            bot=_bot_record(row),
            limit=row.time_limit,
            state=row.state,
            anchor=row.anchor,
            joined=row.joined_change or 0,
            left=row.left_change or 0,
        )
        for row in connection.execute(query)
    ]


def list_bots(connection: Connection) -> dict[str, BotRecord]:
    """Return all bots by identity."""
    return {row.identity: _bot_record(row) for row in connection.execute(select(bots).order_by(bots.c.id))}


def has_entrant(connection: Connection, name: str) -> bool:
    """Return whether any entrant has this name, spec or label; see `filters.is_named`."""
    found = select(entrants.c.label).join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
    return connection.scalar(found.where(is_named(name)).limit(1)) is not None


def list_entries(connection: Connection, name: str) -> list[Entered]:
    """Return the entrants with this name, spec or label; see `filters.is_named`."""
    found = (
        select(entrants.c.tournament_id, entrants.c.seat, entrants.c.label, bots.c.identity)
        .join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
        .where(is_named(name))
        .order_by(entrants.c.tournament_id, entrants.c.seat)
    )
    return [Entered._make(row) for row in connection.execute(found)]


def list_entrant_labels(connection: Connection) -> list[str]:
    """Return the labels of all entrants, each once, sorted."""
    return list(connection.scalars(select(entrants.c.label).distinct().order_by(entrants.c.label)))


def list_labels(connection: Connection) -> dict[str, str]:
    """Return the label of each bot in the newest tournament it was entered in, by identity."""
    query = (
        select(bots.c.identity, entrants.c.label)
        .join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
        .join(tournaments, tournaments.c.id == entrants.c.tournament_id)
        # Ordered by time: an id only says when a tournament came into this store. If a bot has two seats in
        # one tournament, the first has the label without an ordinal.
        .order_by(tournaments.c.created_at, tournaments.c.uid, entrants.c.seat.desc())
    )
    return {row.identity: row.label for row in connection.execute(query)}


def _one_tournament(connection: Connection, tournament: int) -> TournamentRecord:
    record = find_tournament(connection, tournament)
    if record is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    return record


def _tournament_record(row: Row[*tuple[Any, ...]]) -> TournamentRecord:
    names = (field.name for field in fields(TournamentRecord) if field.name != "pool")
    values: dict[str, Any] = {name: getattr(row, name) for name in names}
    values["is_planned"] = bool(row.is_planned)
    return TournamentRecord(**values, pool=pool_record(row))


def _select_tournaments() -> Select[*tuple[Any, ...]]:
    # A pool has the same game as its tournament, so that column is left out.
    pool = [column for column in pools.c if column.name not in {"id", "game", "name"}]
    return select(tournaments, *pool).join_from(tournaments, pools, pools.c.id == tournaments.c.pool_id)


def pool_record(row: Any) -> PoolRecord:  # noqa: ANN401 - a row with the columns of a pool
    """Return the pool stored in a row."""
    values: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(PoolRecord)}
    values.update(moves=row.moves or None, nodes=row.nodes or None)
    return PoolRecord(**values)


def pool_id(connection: Connection, game: str, pool: PoolRecord) -> int:
    """Return the id of a pool; insert it if it is not stored yet."""
    own = (pools.c.game == game) & (pools.c.name == pool.name)
    found = connection.execute(select(pools.c.id).where(own)).scalar()
    if found is not None:
        return found
    # No other process can insert it meanwhile: a new tournament excludes all other writers.
    values = asdict(pool) | {"moves": pool.moves or 0, "nodes": pool.nodes or 0}
    new = insert(pools).values(values | {"game": game, "name": pool.name})
    return connection.execute(new.returning(pools.c.id)).scalar_one()


def _bot_record(row: Row[*tuple[Any, ...]]) -> BotRecord:
    values = {field.name: getattr(row, field.name) for field in fields(BotRecord)}
    return BotRecord(**(values | {"content": row.content or ""}))


def free_name(connection: Connection, wanted: str) -> str:
    """Return the wanted name if it is free, otherwise with the first free number appended."""
    # The caller holds the write lock, so no other process takes the name meanwhile.
    name, suffix = wanted, 1
    while find_tournament(connection, name) is not None:
        suffix += 1
        name = f"{wanted}-{suffix}"
    return name


def add_entrant(
    connection: Connection, tournament: int, entrant: Entrant, *, seat: int, joined_change: int | None = None
) -> None:
    """Insert an entrant at a seat, and its bot if that is new."""
    bot = entrant.bot
    known = select(bots.c.id).where(bots.c.identity == bot.identity)
    bot_id = connection.scalar(known)
    if bot_id is None:
        values = asdict(bot) | {"content": bot.content or None}
        # Another tournament may be inserting the same bot at this moment.
        connection.execute(upsert(bots, connection.dialect.name).values(values).on_conflict_do_nothing())
        bot_id = connection.scalars(known).one()
    row = {
        "tournament_id": tournament,
        "seat": seat,
        "label": entrant.label,
        "bot_id": bot_id,
        "time_limit": entrant.limit,
        "anchor": entrant.anchor,
        "joined_change": joined_change,
    }
    connection.execute(insert(entrants).values(row))
