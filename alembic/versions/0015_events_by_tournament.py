"""Numbers live events by tournament, with the counter in its lease: numbers follow the order of commits.

Databases on a server begin with this revision or a later one, so it only ever runs on files. Assigned numbers
stay, and each tournament continues from the highest one, because viewers ask for events after a number.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EIGHT_BYTES: sa.Double[float] = sa.Double()
SECONDS = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")
KINDS = ("started", "move", "info", "finished", "fault", "state", "voided", "entrant")
KIND_KNOWN = " OR ".join(f"kind = '{kind}'" for kind in KINDS)
STRICT = {"sqlite_strict": True}
GIVEN = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'live_events'), 0)"
PRUNED = "coalesce((SELECT max(seq) FROM live_pruned), 0)"


def upgrade() -> None:
    with op.batch_alter_table("leases", table_kwargs=STRICT) as batch:
        batch.add_column(sa.Column("last_seq", BIG, nullable=False, server_default="0"))
        batch.add_column(sa.Column("pruned_seq", BIG, nullable=False, server_default="0"))
    op.execute(f"UPDATE leases SET last_seq = max({GIVEN}, {PRUNED}), pruned_seq = {PRUNED}")  # noqa: S608 - our own names
    with op.batch_alter_table("leases", table_kwargs=STRICT) as batch:
        batch.alter_column("last_seq", server_default=None)
        batch.alter_column("pruned_seq", server_default=None)
        batch.create_check_constraint(op.f("ck_leases_pruned_seq_range"), "pruned_seq BETWEEN 0 AND last_seq")
    op.drop_table("live_pruned")
    _key_events("tournament_id", "seq")


def downgrade() -> None:
    # Several events have the same number, which the older version does not permit.
    op.execute("DELETE FROM live_events")
    _key_events("seq", autoincrement=True)
    op.create_table(
        "live_pruned",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_live_pruned_one_row")),
        sa.CheckConstraint("seq >= 0", name=op.f("ck_live_pruned_seq_least")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_live_pruned")),
        sqlite_strict=True,
    )
    last = op.get_bind().exec_driver_sql("SELECT max(last_seq) FROM leases").scalar()
    if last:
        op.get_bind().exec_driver_sql("INSERT INTO live_pruned VALUES (1, ?)", (last,))
        op.get_bind().exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = 'live_events'")
        op.get_bind().exec_driver_sql("INSERT INTO sqlite_sequence VALUES ('live_events', ?)", (last,))
    with op.batch_alter_table("leases", table_kwargs=STRICT) as batch:
        batch.drop_constraint(op.f("ck_leases_pruned_seq_range"), type_="check")
        batch.drop_column("pruned_seq")
        batch.drop_column("last_seq")


def _key_events(*key: str, autoincrement: bool = False) -> None:
    """Create the table again with this key; a key of one column has no name by which it could be dropped."""
    op.create_table(
        "live_events_keyed",
        sa.Column("seq", BIG, autoincrement=autoincrement, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("ply", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("t", SECONDS, nullable=False),
        sa.CheckConstraint(KIND_KNOWN, name=op.f("ck_live_events_kind_known")),
        sa.CheckConstraint("attempt >= 0", name=op.f("ck_live_events_attempt_least")),
        sa.CheckConstraint("length(payload) BETWEEN 0 AND 4096", name=op.f("ck_live_events_payload_length")),
        sa.CheckConstraint("ply >= 0", name=op.f("ck_live_events_ply_least")),
        sa.ForeignKeyConstraint(
            ["tournament_id", "number"],
            ["planned.tournament_id", "planned.number"],
            name=op.f("fk_live_events_tournament_id_number"),
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id"], ["tournaments.id"], name=op.f("fk_live_events_tournament_id")
        ),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_live_events")),
        sqlite_strict=True,
        sqlite_autoincrement=autoincrement,
    )
    names = "seq, tournament_id, number, attempt, ply, kind, payload, t"
    op.execute(f"INSERT INTO live_events_keyed ({names}) SELECT {names} FROM live_events")  # noqa: S608 - see above
    op.drop_table("live_events")
    op.rename_table("live_events_keyed", "live_events")
