"""The tables of pools, of stored data derived from matches, and of seals.

The sums lag behind the matches: `summing` records how far, and readers add the rest. A full check recomputes
them, a repair rebuilds them. Seals are hashes of data that is derived from nothing else in the store.
"""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    Table,
    UniqueConstraint,
)

from arena_db import columns
from arena_db.naming import metadata
from arena_db.pools import Process
from arena_db.sums import SUMS

_LIMIT_MODES: Final = ("move", "fischer", "bank", "none")
_PROCESSES: Final = get_args(Process)


def _count(name: str) -> Column[int]:
    return Column(name, columns.big(), nullable=False)


# A missing number is 0 rather than NULL, so that UNIQUE refuses a second row of the same pool.
pools = Table(
    "pools",
    metadata,
    Column("id", columns.big(), primary_key=True),
    columns.text("game"),
    columns.text("mode"),
    Column("move_ms", columns.big(), nullable=False),
    Column("base_ms", columns.big(), nullable=False),
    Column("inc_ms", columns.big(), nullable=False),
    columns.integer("moves"),
    Column("nodes", columns.big(), nullable=False),
    columns.text("process"),
    columns.text("label"),
    # Built from the other columns when the pool is stored, for searches; never parsed.
    columns.text("name"),
    UniqueConstraint("game", "name"),
    columns.length("game", 1, 4096),
    columns.one_of("mode", _LIMIT_MODES),
    *(columns.at_least(name, 0) for name in ("move_ms", "base_ms", "inc_ms", "moves", "nodes")),
    columns.one_of("process", _PROCESSES),
    columns.length("label", 0, 256),
    columns.length("name", 1, 256),
    sqlite_strict=True,
)

# One row per two bots in a pool (tournament 0, with ids of bots) and one per two seats in a tournament. `low`
# is the side with the lower id of a bot.
encounters = Table(
    "encounters",
    metadata,
    Column("id", columns.big(), primary_key=True),
    Column("pool_id", columns.big(), ForeignKey("pools.id"), nullable=False),
    _count("tournament_id"),
    _count("low"),
    _count("high"),
    *(_count(name) for name in SUMS),
    UniqueConstraint("pool_id", "tournament_id", "low", "high"),
    CheckConstraint("low <> high", name="apart"),
    sqlite_strict=True,
)

# The results of an encounter from one opening. The sums over openings are not linear in matches, so a new
# match subtracts the share of its cluster from them and adds the new share. The opening comes first in the
# key: a round plays one opening, so rows that are written together lie together.
clusters = Table(
    "clusters",
    metadata,
    Column("opening_hash", columns.big(), primary_key=True, autoincrement=False),
    Column("encounter_id", columns.big(), ForeignKey("encounters.id"), primary_key=True, autoincrement=False),
    *(
        _count(f"{side}_{name}")
        for side in ("first", "second")
        for name in ("matches", "half_points", "moves_hash", "same", "most")
    ),
    _count("num_different"),
    _count("num_pairs"),
    _count("pair_half_points"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)

# Most clusters have one move sequence per side, which is in their row; further ones are stored here.
strays = Table(
    "strays",
    metadata,
    Column("opening_hash", columns.big(), primary_key=True, autoincrement=False),
    Column("encounter_id", columns.big(), primary_key=True, autoincrement=False),
    Column("side", Integer, primary_key=True, autoincrement=False),
    Column("moves_hash", columns.big(), primary_key=True, autoincrement=False),
    _count("times"),
    CheckConstraint("side IN (0, 1)", name="side_flag"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)

# One row: matches with ids below this number are in the sums, others are not yet. During an upgrade the
# others also lack the columns derived from their actions.
summing = Table(
    "summing",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _count("next_match"),
    columns.integer("upgrading"),
    CheckConstraint("id = 1", name="one_row"),
    columns.at_least("next_match", 1),
    columns.flag("upgrading"),
    sqlite_strict=True,
)

# Ratings of a tournament after its first N rated matches, in the order of storing. Ids of matches only grow,
# so a row stays valid whatever is played later; voiding one of its matches removes it.
rating_points = Table(
    "rating_points",
    metadata,
    columns.tournament_key(),
    Column("num_matches", Integer, primary_key=True, autoincrement=False),
    Column("seat", Integer, primary_key=True, autoincrement=False),
    # The last of these matches: it dates the point, and a check counts the matches up to it. No reference:
    # the matches of a cold tournament are in files.
    Column("match_id", columns.big(), nullable=False),
    Column("elo", columns.seconds(), nullable=False),
    Column("error", columns.seconds(), nullable=False),
    columns.integer("rests_on_prior"),
    ForeignKeyConstraint(["tournament_id", "seat"], ["entrants.tournament_id", "entrants.seat"]),
    columns.at_least("num_matches", 1),
    columns.at_least("error", 0),
    columns.flag("rests_on_prior"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)

# Ratings of a tournament that was paired by its own results, corrected by replays of it after its end. They
# are derived from matches and seed, but by many fits. They are removed when a match becomes void or a bot
# joins or leaves.
replays = Table(
    "replays",
    metadata,
    columns.tournament_key(),
    # Number of rated matches they are computed from, and the last of them.
    Column("num_matches", Integer, nullable=False),
    Column("match_id", columns.big(), nullable=False),
    Column("slope", columns.seconds(), nullable=False),
    Column("weight", columns.seconds(), nullable=False),
    # Little-endian eight-byte floats: a rating per seat, and its error in each replay.
    columns.blob("strength"),
    columns.blob("away"),
    columns.at_least("num_matches", 1),
    CheckConstraint("slope > 0", name="slope_positive"),
    CheckConstraint("weight > 0 AND weight <= 1", name="weight_share"),
    sqlite_strict=True,
)

# SHA-256 over the unchanging data of a tournament; `arena_db.seals` defines the columns.
seals = Table(
    "seals",
    metadata,
    columns.tournament_key(),
    Column("part", columns.words(), primary_key=True),
    # The last match of a link for the plan, the number of matches for ratings over time, otherwise 0.
    Column("number", Integer, primary_key=True, autoincrement=False),
    columns.blob("content_hash"),
    columns.length("part", 1, 16),
    columns.at_least("number", 0),
    columns.length("content_hash", 32, 32),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
