"""Adds seals: hashes of the unchanging data of a tournament. Data of older stores are sealed as they are."""

import json
import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LINK = 1024
ROW = struct.Struct("<5qI")
FIELDS = """
SELECT t.uid, t.name, t.type, t.game, t.num_actions, t.seed, t.config, t.event, t.site, t.created_at,
    t.plan_version, t.num_total, t.is_planned, t.decision,
    p.game, p.mode, p.move_ms, p.base_ms, p.inc_ms, p.moves, p.nodes, p.process, p.label, p.name
FROM tournaments t JOIN pools p ON p.id = t.pool_id WHERE t.id = ?"""
ENTRANTS = """
SELECT e.seat, e.label, e.time_limit, e.state, e.name, e.anchor, e.joined_change, e.left_change,
    b.identity, b.name, b.spec, b.distribution, b.version, b.files, b.content
FROM entrants e JOIN bots b ON b.id = e.bot_id WHERE e.tournament_id = ? ORDER BY e.seat"""
CHANGES = (
    """
SELECT id, tournament_id, kind, subject, reason, who, made_at
FROM changes WHERE tournament_id = ? ORDER BY id""",
    """
SELECT v.match_id, v.change_id, v.undone_change FROM voids v JOIN changes c ON c.id = v.change_id
WHERE c.tournament_id = ? ORDER BY v.match_id, v.change_id""",
    "SELECT tournament_id, source, merged_at FROM origins WHERE tournament_id = ?",
)
PLAN = """
SELECT number, encounter, match_no, first_seat, second_seat, opening
FROM planned WHERE tournament_id = ? AND number > ? ORDER BY number LIMIT ?"""
BATCHES = """
SELECT number, first_number, last_number, basis_match, basis_change, note
FROM batches WHERE tournament_id = ? ORDER BY number"""
POINTS = "SELECT DISTINCT num_matches FROM rating_points WHERE tournament_id = ?"
POINT = """
SELECT num_matches, seat, elo, error, rests_on_prior
FROM rating_points WHERE tournament_id = ? AND num_matches = ? ORDER BY seat"""
SEAL = "INSERT INTO seals (tournament_id, part, number, content_hash) VALUES (?, ?, ?, ?)"


def upgrade() -> None:
    op.create_table(
        "seals",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("length(part) BETWEEN 1 AND 16", name=op.f("ck_seals_part_length")),
        sa.CheckConstraint("number >= 0", name=op.f("ck_seals_number_least")),
        sa.CheckConstraint(
            "length(content_hash) BETWEEN 32 AND 32", name=op.f("ck_seals_content_hash_length")
        ),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_seals_tournament_id")),
        sa.PrimaryKeyConstraint("tournament_id", "part", "number", name=op.f("pk_seals")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    for tournament in connection.exec_driver_sql("SELECT id FROM tournaments").scalars().all():
        seal(connection, tournament)


def seal(connection: sa.Connection, tournament: int) -> None:
    found: list[tuple[int, str, int, bytes]] = []
    for part, queries in (("fields", [FIELDS]), ("entrants", [ENTRANTS]), ("changes", CHANGES)):
        rows = [row for query in queries for row in connection.exec_driver_sql(query, (tournament,)).all()]
        found.append((tournament, part, 0, rows_hash(rows)))
    last, before = 0, b""
    while rows := connection.exec_driver_sql(PLAN, (tournament, last, LINK)).all():
        before = sha256(
            before + b"".join(ROW.pack(*row[:5], len(row.opening)) + row.opening for row in rows)
        ).digest()
        last = rows[-1].number
        found.append((tournament, "plan", last, before))
    before = b""
    for row in connection.exec_driver_sql(BATCHES, (tournament,)).all():
        before = sha256(before + rows_hash([row])).digest()
        found.append((tournament, "batches", row.number, before))
    for num_matches in connection.exec_driver_sql(POINTS, (tournament,)).scalars().all():
        rows = connection.exec_driver_sql(POINT, (tournament, num_matches)).all()
        found.append((tournament, "points", num_matches, rows_hash(rows)))
    connection.exec_driver_sql(SEAL, found)


def rows_hash(rows: Sequence[sa.Row[*tuple[Any, ...]]]) -> bytes:
    return sha256(json.dumps([list(row) for row in rows]).encode()).digest()


def downgrade() -> None:
    op.drop_table("seals")
