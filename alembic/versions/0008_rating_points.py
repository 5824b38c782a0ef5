"""Adds ratings over time; tournaments of older stores have none, so readers compute theirs."""

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EIGHT_BYTES: sa.Double[float] = sa.Double()
DOUBLE = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "rating_points",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("num_matches", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seat", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("elo", DOUBLE, nullable=False),
        sa.Column("error", DOUBLE, nullable=False),
        sa.Column("rests_on_prior", sa.Integer(), nullable=False),
        sa.CheckConstraint("num_matches >= 1", name=op.f("ck_rating_points_num_matches_least")),
        sa.CheckConstraint("error >= 0", name=op.f("ck_rating_points_error_least")),
        sa.CheckConstraint("rests_on_prior IN (0, 1)", name=op.f("ck_rating_points_rests_on_prior_flag")),
        sa.ForeignKeyConstraint(
            ["tournament_id"], ["tournaments.id"], name=op.f("fk_rating_points_tournament_id")
        ),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"], name=op.f("fk_rating_points_match_id")),
        sa.ForeignKeyConstraint(
            ["tournament_id", "seat"],
            ["entrants.tournament_id", "entrants.seat"],
            name=op.f("fk_rating_points_tournament_id_seat"),
        ),
        sa.PrimaryKeyConstraint("tournament_id", "num_matches", "seat", name=op.f("pk_rating_points")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("rating_points")
