"""Adds the remarks of bots, the analyses of judges, and tournaments in which a person plays."""

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DOUBLE: sa.Double[float] = sa.Double()
SECONDS = DOUBLE.with_variant(sa.REAL(), "sqlite")
TYPES = ("round-robin", "gauntlet", "match")
KINDS = ("pause", "resume", "stop", "abort", "move", "undo", "hint", "resign")


def upgrade() -> None:
    _allow("tournaments", "type", (*TYPES, "play"))
    _allow("commands", "kind", (*KINDS, "new"))
    op.create_table(
        "remarks",
        sa.Column("tournament_id", BIG, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("length(content) BETWEEN 1 AND 8388608", name=op.f("ck_remarks_content_length")),
        sa.CheckConstraint(
            "length(content_hash) BETWEEN 32 AND 32", name=op.f("ck_remarks_content_hash_length")
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "number"],
            ["planned.tournament_id", "planned.number"],
            name=op.f("fk_remarks_tournament_id_number"),
        ),
        sa.PrimaryKeyConstraint("tournament_id", "number", "attempt", name=op.f("pk_remarks")),
        sqlite_strict=True,
    )
    op.create_table(
        "analyses",
        sa.Column("match_id", BIG, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", SECONDS, nullable=False),
        sa.CheckConstraint("length(content) BETWEEN 1 AND 8388608", name=op.f("ck_analyses_content_length")),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 256", name=op.f("ck_analyses_name_length")),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"], name=op.f("fk_analyses_match_id")),
        sa.PrimaryKeyConstraint("match_id", "name", name=op.f("pk_analyses")),
        sqlite_strict=True,
    )


def downgrade() -> None:
    for table in ("analyses", "remarks"):
        op.drop_table(table)
    # The older version has no plays; a match of two entrants is the closest type.
    op.execute("UPDATE tournaments SET type = 'match' WHERE type = 'play'")
    op.execute("DELETE FROM commands WHERE kind = 'new'")
    _allow("commands", "kind", KINDS)
    _allow("tournaments", "type", TYPES)


def _allow(table: str, column: str, values: tuple[str, ...]) -> None:
    """Restrict a column to these values."""
    name = op.f(f"ck_{table}_{column}_known")
    known = " OR ".join(f"{column} = '{value}'" for value in values)
    with op.batch_alter_table(table, table_kwargs={"sqlite_strict": True}) as batch:
        batch.drop_constraint(name, type_="check")
        batch.create_check_constraint(name, known)
