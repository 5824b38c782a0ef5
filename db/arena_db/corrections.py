"""The tables of changes to a tournament: bots that join or leave, matches that become void.

`changes` is append-only: a change, its author and its reason stay readable after it is undone.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, ForeignKey, Index, Table, text

from arena_db import columns
from arena_db.naming import metadata

CHANGE_KINDS: Final = ("void", "unvoid", "join", "leave", "disqualify", "archive", "unarchive")
MOST_REASON: Final = 4096
"""Maximum characters of a reason: lists read all changes of a tournament at once."""

changes = Table(
    "changes",
    metadata,
    Column("id", columns.big(), primary_key=True),
    Column("tournament_id", columns.big(), ForeignKey("tournaments.id"), nullable=False),
    columns.text("kind"),
    # Text: which matches or which bot; rows about them refer to this one.
    columns.text("subject"),
    columns.text("reason"),
    columns.text("who"),
    Column("made_at", columns.seconds(), nullable=False),
    Index(None, "tournament_id", "id"),
    columns.one_of("kind", CHANGE_KINDS),
    columns.length("subject", 0, 4096),
    columns.length("reason", 0, MOST_REASON),
    columns.length("who", 1, 512),
    sqlite_strict=True,
    # An id is never reused, even after tournaments were removed: batches record how many changes they saw.
    sqlite_autoincrement=True,
)

# A match is void while one of its rows has no `undone_change`. Rows are kept when it is set, so it is known
# for every earlier moment which matches were void.
voids = Table(
    "voids",
    metadata,
    # No foreign key: the matches of a cold tournament are in files.
    Column("match_id", columns.big(), primary_key=True, autoincrement=False),
    Column("change_id", columns.big(), ForeignKey("changes.id"), primary_key=True, autoincrement=False),
    Column("undone_change", columns.big(), ForeignKey("changes.id")),
    Index(None, "change_id"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
columns.partial_index("uq_voids_present", voids.c.match_id, unique=True, where=text("undone_change IS NULL"))

# Tournaments merged from another store, in which they are played.
origins = Table(
    "origins",
    metadata,
    columns.tournament_key(),
    Column("source", columns.words(), nullable=False),
    Column("merged_at", columns.seconds(), nullable=False),
    columns.length("source", 1, 4096),
    sqlite_strict=True,
)

# Tournaments that were moved to a file of their own.
removals = Table(
    "removals",
    metadata,
    Column("id", columns.big(), primary_key=True),
    columns.text("uid"),
    columns.text("name"),
    columns.text("file"),
    # The id it had, and the highest id of a match assigned until then. No id is ever reused, because open
    # stores and viewers remember ids.
    Column("tournament_id", columns.big(), nullable=False),
    Column("last_match", columns.big(), nullable=False),
    columns.text("who"),
    Column("removed_at", columns.seconds(), nullable=False),
    columns.length("uid", 0, 64),
    columns.length("name", 1, 256),
    columns.length("file", 1, 4096),
    columns.length("who", 1, 512),
    columns.at_least("last_match", 0),
    sqlite_strict=True,
)
