"""The tables of plans: planned matches, and the batches in which they were planned."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Integer, Table, UniqueConstraint

from arena_db import columns
from arena_db.naming import metadata

planned = Table(
    "planned",
    metadata,
    columns.tournament_key(),
    Column("number", Integer, primary_key=True),
    columns.integer("encounter"),
    columns.integer("match_no"),
    columns.integer("first_seat"),
    columns.integer("second_seat"),
    columns.blob("opening"),
    columns.text("state"),
    columns.integer("attempt"),
    UniqueConstraint("tournament_id", "encounter", "match_no"),
    *columns.two_seats(),
    columns.at_least("number", 1),
    columns.at_least("encounter", 0),
    columns.at_least("match_no", 0),
    columns.length("opening", 0, 1 << 16),
    columns.one_of("state", ("planned", "done", "dropped")),
    columns.at_least("attempt", 0),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)

# A plan grows by batches. Each is stored before any of its matches is played, together with the results and
# changes known when it was planned.
batches = Table(
    "batches",
    metadata,
    columns.tournament_key(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    columns.integer("first_number"),
    columns.integer("last_number"),
    # Highest ids of matches and of changes known when the batch was planned; 0 for none.
    Column("basis_match", columns.big(), nullable=False),
    Column("basis_change", columns.big(), nullable=False),
    columns.text("note"),
    columns.at_least("number", 1),
    columns.at_least("first_number", 1),
    CheckConstraint("last_number >= first_number", name="numbers_range"),
    columns.at_least("basis_match", 0),
    columns.at_least("basis_change", 0),
    columns.length("note", 0, 4096),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
