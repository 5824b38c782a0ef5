"""Adds replayed ratings of tournaments that were paired by their own results, and live events of changes."""

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EIGHT_BYTES: sa.Double[float] = sa.Double()
KINDS = ("started", "move", "info", "finished", "fault", "state")
NEW_KINDS = (*KINDS, "voided", "entrant")
DOUBLE = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "replays",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("num_matches", sa.Integer(), nullable=False),
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("slope", DOUBLE, nullable=False),
        sa.Column("weight", DOUBLE, nullable=False),
        sa.Column("strength", sa.LargeBinary(), nullable=False),
        sa.Column("away", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("num_matches >= 1", name=op.f("ck_replays_num_matches_least")),
        sa.CheckConstraint("slope > 0", name=op.f("ck_replays_slope_positive")),
        sa.CheckConstraint("weight > 0 AND weight <= 1", name=op.f("ck_replays_weight_share")),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_replays_tournament_id")),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"], name=op.f("fk_replays_match_id")),
        sa.PrimaryKeyConstraint("tournament_id", name=op.f("pk_replays")),
        sqlite_strict=True,
    )
    know_kinds(NEW_KINDS)


def know_kinds(kinds: tuple[str, ...]) -> None:
    """Change the kinds of live events; numbering continues, because viewers ask for events after a number."""
    connection = op.get_bind()
    newest = "SELECT seq FROM sqlite_sequence WHERE name = 'live_events'"
    last = connection.exec_driver_sql(newest).scalar()
    table_args = {"sqlite_strict": True, "sqlite_autoincrement": True}
    with op.batch_alter_table("live_events", table_kwargs=table_args) as batch:
        batch.drop_constraint(op.f("ck_live_events_kind_known"), type_="check")
        batch.create_check_constraint(
            op.f("ck_live_events_kind_known"), " OR ".join(f"kind = '{kind}'" for kind in kinds)
        )
    if last is not None:
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = 'live_events'")
        connection.exec_driver_sql("INSERT INTO sqlite_sequence VALUES ('live_events', ?)", (last,))


def downgrade() -> None:
    op.execute("DELETE FROM live_events WHERE kind IN ('voided', 'entrant')")
    know_kinds(KINDS)
    op.drop_table("replays")
