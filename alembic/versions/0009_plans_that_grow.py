"""Stores plans that grow by batches: adds totals, decisions and dropped matches.

Plans of older stores are complete, and each becomes one batch.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EIGHT_BYTES: sa.Double[float] = sa.Double()
DOUBLE = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")
STRICT = {"sqlite_strict": True}
ROWLESS = {"sqlite_strict": True, "sqlite_with_rowid": False}
TYPES = ("round-robin", "gauntlet", "match", "play")
NEW_TYPES = ("ladder", "swiss", "knockout")
STATES = ("running", "stopped", "finished")
NEW_STATES = ("preparing", "refused")
PLANNED = ("planned", "done")
COLUMNS = {
    "uid": sa.Text(),
    "plan_version": sa.Integer(),
    "num_total": sa.Integer(),
    "num_dropped": sa.Integer(),
    "is_planned": sa.Integer(),
    "decision": sa.Text(),
    "archived_at": DOUBLE,
}
OPTIONAL = ("num_total", "archived_at")
"""Columns that may be NULL."""
CHECKS = {
    "uid_length": "length(uid) BETWEEN 32 AND 32",
    "plan_version_least": "plan_version >= 1",
    "num_total_least": "num_total >= 0",
    "num_dropped_range": "num_dropped BETWEEN 0 AND num_planned - num_done",
    "is_planned_flag": "is_planned IN (0, 1)",
    "decision_length": "length(decision) BETWEEN 0 AND 4096",
}


def upgrade() -> None:
    for name, type_ in COLUMNS.items():
        op.add_column("tournaments", sa.Column(name, type_, nullable=True))
    op.execute(
        "UPDATE tournaments SET uid = lower(hex(randomblob(16))), plan_version = 1, num_total = num_planned, "
        "num_dropped = 0, is_planned = 1, decision = ''"
    )
    with op.batch_alter_table("tournaments", table_kwargs=STRICT) as batch:
        for name, type_ in COLUMNS.items():
            if name not in OPTIONAL:
                batch.alter_column(name, existing_type=type_, nullable=False)
        batch.create_unique_constraint(op.f("uq_tournaments_uid"), ["uid"])
        for name, text in CHECKS.items():
            batch.create_check_constraint(op.f(f"ck_tournaments_{name}"), text)
    _allow("tournaments", "type", (*TYPES, *NEW_TYPES), STRICT)
    _allow("tournaments", "state", (*STATES, *NEW_STATES), STRICT)
    _allow("planned", "state", (*PLANNED, "dropped"), ROWLESS)
    _create_batches()
    op.execute(
        "INSERT INTO batches "
        "(tournament_id, number, first_number, last_number, basis_match, basis_change, note) "
        "SELECT tournament_id, 1, min(number), max(number), 0, 0, '' FROM planned GROUP BY tournament_id"
    )


def downgrade() -> None:
    op.drop_table("batches")
    # Dropped matches are removed, because an older version would play them, except those to which void
    # attempts refer.
    op.execute(
        "DELETE FROM live_events WHERE EXISTS (SELECT 1 FROM planned WHERE planned.state = 'dropped' "
        "AND planned.tournament_id = live_events.tournament_id AND planned.number = live_events.number)"
    )
    op.execute(
        "DELETE FROM planned WHERE state = 'dropped' AND NOT EXISTS (SELECT 1 FROM matches "
        "WHERE matches.tournament_id = planned.tournament_id AND matches.number = planned.number)"
    )
    op.execute("UPDATE planned SET state = 'planned' WHERE state = 'dropped'")
    op.execute(
        "UPDATE tournaments SET num_dropped = 0, num_planned = "
        "(SELECT count(*) FROM planned WHERE planned.tournament_id = tournaments.id)"
    )
    op.execute("UPDATE tournaments SET type = 'round-robin' WHERE type IN ('ladder', 'swiss', 'knockout')")
    op.execute("UPDATE tournaments SET state = 'stopped' WHERE state IN ('preparing', 'refused')")
    _allow("planned", "state", PLANNED, ROWLESS)
    _allow("tournaments", "state", STATES, STRICT)
    _allow("tournaments", "type", TYPES, STRICT)
    with op.batch_alter_table("tournaments", table_kwargs=STRICT) as batch:
        for name in CHECKS:
            batch.drop_constraint(op.f(f"ck_tournaments_{name}"), type_="check")
        batch.drop_constraint(op.f("uq_tournaments_uid"), type_="unique")
        for name in COLUMNS:
            batch.drop_column(name)


def _create_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("first_number", sa.Integer(), nullable=False),
        sa.Column("last_number", sa.Integer(), nullable=False),
        sa.Column("basis_match", BIG, nullable=False),
        sa.Column("basis_change", BIG, nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.CheckConstraint("number >= 1", name=op.f("ck_batches_number_least")),
        sa.CheckConstraint("first_number >= 1", name=op.f("ck_batches_first_number_least")),
        sa.CheckConstraint("last_number >= first_number", name=op.f("ck_batches_numbers_range")),
        sa.CheckConstraint("basis_match >= 0", name=op.f("ck_batches_basis_match_least")),
        sa.CheckConstraint("basis_change >= 0", name=op.f("ck_batches_basis_change_least")),
        sa.CheckConstraint("length(note) BETWEEN 0 AND 4096", name=op.f("ck_batches_note_length")),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_batches_tournament_id")),
        sa.PrimaryKeyConstraint("tournament_id", "number", name=op.f("pk_batches")),
        **ROWLESS,
    )


def _allow(table: str, column: str, values: tuple[str, ...], kwargs: dict[str, bool]) -> None:
    """Restrict a column to these values."""
    name = op.f(f"ck_{table}_{column}_known")
    known = " OR ".join(f"{column} = '{value}'" for value in values)
    with op.batch_alter_table(table, table_kwargs=kwargs) as batch:
        batch.drop_constraint(name, type_="check")
        batch.create_check_constraint(name, known)
