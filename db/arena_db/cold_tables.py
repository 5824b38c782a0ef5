"""The tables of cold tournaments, whose matches are in files, and of those without clusters.

A cold tournament keeps its row, bots, batches, changes, counts, sums and ratings over time. Its plan,
matches, remarks and analyses are in a folder of Parquet files.
"""

from __future__ import annotations

from sqlalchemy import Column, Table

from arena_db import columns
from arena_db.naming import metadata

cold_tournaments = Table(
    "cold_tournaments",
    metadata,
    columns.tournament_key(),
    # Relative to the folder of the store if it is there, so that both can be moved together.
    columns.text("folder"),
    columns.blob("manifest_hash"),
    columns.integer("num_matches"),
    # No id is ever reused, so new matches get ids above the last one.
    Column("first_match", columns.big(), nullable=False),
    Column("last_match", columns.big(), nullable=False),
    Column("frozen_at", columns.seconds(), nullable=False),
    columns.length("folder", 1, 4096),
    columns.length("manifest_hash", 32, 32),
    columns.at_least("num_matches", 0),
    columns.at_least("last_match", 0),
    sqlite_strict=True,
)

# End times of the cold matches that rating points end with, so that a chart needs no file.
cold_ends = Table(
    "cold_ends",
    metadata,
    columns.tournament_key(),
    Column("match_id", columns.big(), primary_key=True, autoincrement=False),
    Column("ended_at", columns.seconds(), nullable=False),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)

# Tournaments whose clusters were removed after their end; their sums were kept. Before the sums can change,
# the clusters are restored from the matches.
pruned_tournaments = Table(
    "pruned_tournaments",
    metadata,
    columns.tournament_key(),
    Column("pruned_at", columns.seconds(), nullable=False),
    sqlite_strict=True,
)
