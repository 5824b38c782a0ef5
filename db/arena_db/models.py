"""The tables of the store; a test proves that the migrations create the same ones."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from arena_db import columns

# Tables of this module, too; the aliases mark these names as re-exported.
from arena_db.account_tables import accounts as accounts  # noqa: PLC0414
from arena_db.account_tables import tokens as tokens  # noqa: PLC0414
from arena_db.cold_tables import cold_tournaments as cold_tournaments  # noqa: PLC0414
from arena_db.corrections import changes
from arena_db.durations import DURATION_CLASS
from arena_db.kept import pools, summing
from arena_db.naming import metadata
from arena_db.plan_tables import batches as batches  # noqa: PLC0414
from arena_db.plan_tables import planned as planned  # noqa: PLC0414

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect

REVISION: Final = "0018"
"""The Alembic revision that creates these tables."""

APPLICATION_ID: Final = 0x61726E61
"""Marks a SQLite file as a store: the ASCII bytes of `arna`."""

TOURNAMENT_TYPES: Final = ("round-robin", "gauntlet", "match", "play", "ladder", "swiss", "knockout")
TOURNAMENT_STATES: Final = ("running", "stopped", "finished", "preparing", "refused")
ENTRANT_STATES: Final = ("playing", "left", "out")
OUTCOMES: Final = ("first", "second", "draw", "void")
TERMINATIONS: Final = (
    "rules",
    "adjudicated",
    "resign",
    "illegal_move",
    "malformed",
    "oversize_line",
    "output_flood",
    "protocol_order",
    "time_move",
    "time_game",
    "crash",
    "oom",
    "pondering",
    "bot_error",
    "no_common_protocol",
    "init_timeout",
    "init_crash",
    "disconnect",
    "walkover",
    "arena_stall",
    "arena_error",
    "aborted",
)
TIERS: Final = ("T0", "T1", "T2", "T3", "T4")
LIMITS: Final = ("kernel", "polled")
EVENT_KINDS: Final = ("started", "move", "info", "finished", "fault", "state", "voided", "entrant")
COMMAND_KINDS: Final = ("pause", "resume", "stop", "abort", "move", "undo", "hint", "resign", "new")

bots = Table(
    "bots",
    metadata,
    Column("id", columns.big(), primary_key=True),
    columns.text("identity"),
    columns.text("name"),
    columns.text("spec"),
    columns.text("distribution"),
    columns.text("version"),
    columns.text("files"),
    Column("content", columns.words()),
    UniqueConstraint("identity"),
    columns.length("identity", 64, 64),
    columns.length("name", 1, 64),
    columns.length("spec", 1, 4096),
    columns.length("distribution", 0, 256),
    columns.length("version", 0, 256),
    columns.length("files", 0, 1 << 20),
    columns.length("content", 64, 64),
    sqlite_strict=True,
)

tournaments = Table(
    "tournaments",
    metadata,
    Column("id", columns.big(), primary_key=True),
    columns.text("name"),
    columns.text("type"),
    columns.text("game"),
    columns.integer("num_actions"),
    Column("seed", columns.big(), nullable=False),
    columns.text("config"),
    columns.text("event"),
    columns.text("site"),
    columns.text("state"),
    Column("created_at", columns.seconds(), nullable=False),
    columns.integer("num_planned"),
    columns.integer("num_done"),
    Column("pool_id", columns.big(), ForeignKey(pools.c.id), nullable=False),
    columns.text("uid"),
    columns.integer("plan_version"),
    # NULL while the total number of matches cannot be known.
    Column("num_total", Integer),
    columns.integer("num_dropped"),
    columns.integer("is_planned"),
    columns.text("decision"),
    Column("archived_at", columns.seconds()),
    UniqueConstraint("name"),
    UniqueConstraint("uid"),
    columns.length("name", 1, 256),
    columns.one_of("type", TOURNAMENT_TYPES),
    columns.length("game", 1, 4096),
    CheckConstraint("num_actions BETWEEN 1 AND 65536", name="num_actions_range"),
    columns.at_least("seed", 0),
    columns.length("config", 0, 1 << 24),
    columns.length("event", 0, 4096),
    columns.length("site", 0, 4096),
    columns.one_of("state", TOURNAMENT_STATES),
    CheckConstraint("num_done BETWEEN 0 AND num_planned", name="num_done_range"),
    columns.length("uid", 32, 32),
    columns.at_least("plan_version", 1),
    columns.at_least("num_total", 0),
    CheckConstraint("num_dropped BETWEEN 0 AND num_planned - num_done", name="num_dropped_range"),
    columns.flag("is_planned"),
    columns.length("decision", 0, 4096),
    sqlite_strict=True,
)

entrants = Table(
    "entrants",
    metadata,
    columns.tournament_key(),
    Column("seat", Integer, primary_key=True),
    columns.text("label"),
    Column("bot_id", columns.big(), ForeignKey("bots.id"), nullable=False),
    columns.text("time_limit"),
    Column("state", columns.words(), nullable=False, server_default=text("'playing'")),
    # NULL: `name`: shown by its label; `anchor`: no fixed Elo; `joined_change`: from the beginning;
    # `left_change`: has not left.
    Column("name", columns.words()),
    Column("anchor", columns.seconds()),
    Column("joined_change", columns.big(), ForeignKey(changes.c.id)),
    Column("left_change", columns.big(), ForeignKey(changes.c.id)),
    UniqueConstraint("tournament_id", "label"),
    Index(None, "bot_id"),
    columns.at_least("seat", 0),
    columns.length("label", 1, 256),
    columns.length("time_limit", 0, 256),
    columns.one_of("state", ENTRANT_STATES),
    columns.length("name", 1, 256),
    sqlite_strict=True,
)

versions = Table(
    "versions",
    metadata,
    Column("id", columns.big(), primary_key=True),
    columns.text("content"),
    UniqueConstraint("content"),
    columns.length("content", 0, 4096),
    sqlite_strict=True,
)

FAILED: Final = literal_column("termination").op("<>", is_comparison=True)(literal_column("'rules'"))
"""Condition of the index of terminations: the few matches that did not end by the rules of the game."""
_FINAL: Final = text("is_final = 1")

matches = Table(
    "matches",
    metadata,
    Column("id", columns.big(), primary_key=True),
    Column("tournament_id", columns.big(), nullable=False),
    columns.integer("number"),
    columns.integer("attempt"),
    # Copies of columns of the plan, needed by the indexes; a full check compares them.
    columns.integer("first_seat"),
    columns.integer("second_seat"),
    Column("first_bot", columns.big(), nullable=False),
    Column("second_bot", columns.big(), nullable=False),
    columns.text("outcome"),
    columns.text("termination"),
    columns.text("reason"),
    columns.integer("rated"),
    columns.integer("is_final"),
    columns.blob("actions"),
    columns.integer("num_opening"),
    columns.blob("times"),
    columns.blob("claims"),
    columns.blob("match_hash"),
    Column("seed_first", columns.big(), nullable=False),
    Column("seed_second", columns.big(), nullable=False),
    Column("started_at", columns.seconds(), nullable=False),
    Column("duration_ms", columns.big(), nullable=False),
    columns.text("tier"),
    columns.text("fault"),
    Column("versions_id", columns.big(), ForeignKey("versions.id"), nullable=False),
    columns.blob("record_hash"),
    # NULL if nothing was measured or reported, as in every match of an older version.
    Column("idle_cpu_first_ms", columns.seconds()),
    Column("idle_cpu_second_ms", columns.seconds()),
    Column("limits", columns.words()),
    Column("runtime_first", columns.words()),
    Column("runtime_second", columns.words()),
    # Derived from the actions; the defaults mark a match that an upgrade has not read yet.
    Column("num_plies", Integer, nullable=False, server_default=text("0")),
    Column("opening_hash", columns.big(), nullable=False, server_default=text("0")),
    UniqueConstraint("tournament_id", "number", "attempt"),
    ForeignKeyConstraint(["tournament_id", "number"], ["planned.tournament_id", "planned.number"]),
    columns.apart(),
    columns.at_least("attempt", 0),
    columns.one_of("outcome", OUTCOMES),
    columns.one_of("termination", TERMINATIONS),
    columns.length("reason", 0, 4096),
    columns.flag("rated"),
    columns.flag("is_final"),
    columns.length("actions", 0, 1 << 20),
    CheckConstraint("num_opening BETWEEN 0 AND length(actions)", name="num_opening_range"),
    columns.length("times", 0, 1 << 23),
    columns.length("claims", 0, 1 << 23),
    columns.length("match_hash", 32, 32),
    columns.at_least("seed_first", 0),
    columns.at_least("seed_second", 0),
    columns.at_least("duration_ms", 0),
    columns.one_of("tier", TIERS),
    columns.length("fault", 0, 1 << 18),
    columns.length("record_hash", 32, 32),
    columns.at_least("idle_cpu_first_ms", 0),
    columns.at_least("idle_cpu_second_ms", 0),
    columns.one_of("limits", LIMITS),
    columns.length("runtime_first", 1, 256),
    columns.length("runtime_second", 1, 256),
    sqlite_strict=True,
)
columns.partial_index(
    "uq_matches_final", matches.c.tournament_id, matches.c.number, unique=True, where=_FINAL
)
for _column in ("tournament_id", "first_bot", "second_bot", "started_at", "num_plies"):
    Index(f"ix_matches_{_column}_id", matches.c[_column], matches.c.id)
# SQLAlchemy does not reflect indexes on expressions: a migration that rebuilds the table creates it again.
Index("ix_matches_duration_class", DURATION_CLASS, matches.c.id, matches.c.duration_ms)
columns.partial_index("ix_matches_termination_id", matches.c.termination, matches.c.id, where=FAILED)

# A table of its own, so that lists of matches do not read remarks; most matches have none.
remarks = Table(
    "remarks",
    metadata,
    Column("tournament_id", columns.big(), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    columns.blob("content"),
    columns.blob("content_hash"),
    ForeignKeyConstraint(["tournament_id", "number"], ["planned.tournament_id", "planned.number"]),
    columns.length("content", 1, 1 << 23),
    columns.length("content_hash", 32, 32),
    sqlite_strict=True,
)

analyses = Table(
    "analyses",
    metadata,
    Column("match_id", columns.big(), ForeignKey("matches.id"), primary_key=True, autoincrement=False),
    Column("name", columns.words(), primary_key=True),
    columns.blob("content"),
    Column("made_at", columns.seconds(), nullable=False),
    columns.length("name", 1, 256),
    columns.length("content", 1, 1 << 23),
    sqlite_strict=True,
)

tallies = Table(
    "tallies",
    metadata,
    columns.tournament_key(),
    Column("first_seat", Integer, primary_key=True),
    Column("second_seat", Integer, primary_key=True),
    Column("outcome", columns.words(), primary_key=True),
    Column("termination", columns.words(), primary_key=True),
    Column("rated", Integer, primary_key=True),
    columns.integer("num_matches"),
    *columns.two_seats(),
    columns.one_of("outcome", OUTCOMES),
    columns.one_of("termination", TERMINATIONS),
    columns.flag("rated"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)

leases = Table(
    "leases",
    metadata,
    columns.tournament_key(),
    columns.text("uuid"),
    columns.text("host"),
    columns.text("boot_id"),
    columns.integer("pid"),
    Column("pid_start", columns.big(), nullable=False),
    Column("expires_at", columns.seconds(), nullable=False),
    # Incremented by each claim; distinguishes a writer of an earlier claim from the current one.
    columns.integer("epoch"),
    Column("beat_at", columns.seconds(), nullable=False),
    # Numbers of the newest live event ever published, and of the newest one removed. A publisher holds this
    # row until its commit, so events are committed in the order of their numbers.
    Column("last_seq", columns.big(), nullable=False),
    Column("pruned_seq", columns.big(), nullable=False),
    CheckConstraint("pruned_seq BETWEEN 0 AND last_seq", name="pruned_seq_range"),
    columns.length("uuid", 0, 64),
    columns.length("host", 0, 256),
    columns.length("boot_id", 0, 64),
    columns.at_least("epoch", 0),
    sqlite_strict=True,
)

commands = Table(
    "commands",
    metadata,
    Column("id", columns.big(), primary_key=True),
    Column("tournament_id", columns.big(), ForeignKey("tournaments.id"), nullable=False),
    columns.text("kind"),
    columns.text("payload"),
    Column("asked_at", columns.seconds(), nullable=False),
    Column("taken_at", columns.seconds()),
    Column("answered_at", columns.seconds()),
    columns.text("answer"),
    Index(None, "tournament_id", "id"),
    columns.one_of("kind", COMMAND_KINDS),
    columns.length("payload", 0, 4096),
    columns.length("answer", 0, 4096),
    sqlite_strict=True,
)

live_events = Table(
    "live_events",
    metadata,
    Column("seq", columns.big(), primary_key=True, autoincrement=False),
    columns.tournament_key(),
    Column("number", Integer),
    columns.integer("attempt"),
    columns.integer("ply"),
    columns.text("kind"),
    columns.text("payload"),
    Column("t", columns.seconds(), nullable=False),
    ForeignKeyConstraint(["tournament_id", "number"], ["planned.tournament_id", "planned.number"]),
    columns.at_least("attempt", 0),
    columns.at_least("ply", 0),
    columns.one_of("kind", EVENT_KINDS),
    columns.length("payload", 0, 4096),
    PrimaryKeyConstraint("tournament_id", "seq"),
    sqlite_strict=True,
)


_revisions = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Created as Alembic creates it, in metadata of its own: Alembic would report it as missing otherwise."""


def create(connection: Connection) -> None:
    """Create the tables of the current revision in an empty store.

    The migrations have the same result, but importing Alembic takes longer than creating all tables.
    """
    for statement in _statements(connection.dialect):
        connection.exec_driver_sql(statement)
    connection.execute(_revisions.insert().values(version_num=REVISION))
    connection.execute(summing.insert().values(id=1, next_match=1, upgrading=0))
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")


@lru_cache(maxsize=1)
def _statements(dialect: Dialect) -> tuple[str, ...]:
    """Compile what creates the tables and their indexes: it takes as long as creating them."""
    tables = (*metadata.sorted_tables, _revisions)
    steps = (made for table in tables for made in (CreateTable(table), *map(CreateIndex, table.indexes)))
    return tuple(str(step.compile(dialect=dialect)) for step in steps)
