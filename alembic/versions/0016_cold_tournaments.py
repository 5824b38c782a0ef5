"""Adds tournaments whose matches are in files, and keeps ratings over time without the rows of matches."""

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EIGHT_BYTES: sa.Double[float] = sa.Double()
SECONDS = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")
BYTEWISE = sa.Text(collation="C")
WORDS = BYTEWISE.with_variant(sa.Text(), "sqlite")
NO_ROWID = {"sqlite_strict": True, "sqlite_with_rowid": False}
NAMING_MATCHES = {"rating_points": NO_ROWID, "replays": {"sqlite_strict": True}, "voids": NO_ROWID}


def upgrade() -> None:
    op.create_table(
        "cold_tournaments",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("folder", WORDS, nullable=False),
        sa.Column("manifest_hash", sa.LargeBinary(), nullable=False),
        sa.Column("num_matches", sa.Integer(), nullable=False),
        sa.Column("first_match", BIG, nullable=False),
        sa.Column("last_match", BIG, nullable=False),
        sa.Column("frozen_at", SECONDS, nullable=False),
        sa.CheckConstraint(
            "length(folder) BETWEEN 1 AND 4096", name=op.f("ck_cold_tournaments_folder_length")
        ),
        sa.CheckConstraint(
            "length(manifest_hash) BETWEEN 32 AND 32", name=op.f("ck_cold_tournaments_manifest_hash_length")
        ),
        sa.CheckConstraint("num_matches >= 0", name=op.f("ck_cold_tournaments_num_matches_least")),
        sa.CheckConstraint("last_match >= 0", name=op.f("ck_cold_tournaments_last_match_least")),
        _of_tournament("cold_tournaments"),
        sa.PrimaryKeyConstraint("tournament_id", name=op.f("pk_cold_tournaments")),
        sqlite_strict=True,
    )
    op.create_table(
        "cold_ends",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("match_id", BIG, autoincrement=False, nullable=False),
        sa.Column("ended_at", SECONDS, nullable=False),
        _of_tournament("cold_ends"),
        sa.PrimaryKeyConstraint("tournament_id", "match_id", name=op.f("pk_cold_ends")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "pruned_tournaments",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("pruned_at", SECONDS, nullable=False),
        _of_tournament("pruned_tournaments"),
        sa.PrimaryKeyConstraint("tournament_id", name=op.f("pk_pruned_tournaments")),
        sqlite_strict=True,
    )
    for table, kept in NAMING_MATCHES.items():
        with op.batch_alter_table(table, table_kwargs=kept) as batch:
            batch.drop_constraint(op.f(f"fk_{table}_match_id"), type_="foreignkey")


def downgrade() -> None:
    connection = op.get_bind()
    for table in ("cold_tournaments", "pruned_tournaments"):
        if connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar():  # noqa: S608 - our own names
            raise RuntimeError(f"{table} has rows: an older version would take their matches for lost")
    for table, kept in NAMING_MATCHES.items():
        with op.batch_alter_table(table, table_kwargs=kept) as batch:
            batch.create_foreign_key(op.f(f"fk_{table}_match_id"), "matches", ["match_id"], ["id"])
    for table in ("pruned_tournaments", "cold_ends", "cold_tournaments"):
        op.drop_table(table)


def _of_tournament(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tournament_id"], ["tournaments.id"], name=op.f(f"fk_{table}_tournament_id")
    )
