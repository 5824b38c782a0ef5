"""Adds changes to tournaments (void matches, bots that join or leave), and origins of merged tournaments."""

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EIGHT_BYTES: sa.Double[float] = sa.Double()
DOUBLE = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")
STRICT = {"sqlite_strict": True}
KINDS = ("void", "unvoid", "join", "leave", "disqualify", "archive", "unarchive")
STATES = ("playing", "left", "out")
NEW = ("state", "name", "anchor", "joined_change", "left_change")


def one_of(name: str, values: tuple[str, ...]) -> str:
    return " OR ".join(f"{name} = '{value}'" for value in values)


def upgrade() -> None:
    _create_changes()
    _create_voids()
    op.create_table(
        "origins",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("merged_at", DOUBLE, nullable=False),
        sa.CheckConstraint("length(source) BETWEEN 1 AND 4096", name=op.f("ck_origins_source_length")),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_origins_tournament_id")),
        sa.PrimaryKeyConstraint("tournament_id", name=op.f("pk_origins")),
        sqlite_strict=True,
    )
    _create_removals()
    with op.batch_alter_table("entrants", table_kwargs=STRICT) as batch:
        batch.add_column(sa.Column("state", sa.Text(), server_default=sa.text("'playing'"), nullable=False))
        batch.add_column(sa.Column("name", sa.Text()))
        batch.add_column(sa.Column("anchor", DOUBLE))
        for name in ("joined_change", "left_change"):
            batch.add_column(sa.Column(name, BIG))
            batch.create_foreign_key(op.f(f"fk_entrants_{name}"), "changes", [name], ["id"])
        batch.create_check_constraint(op.f("ck_entrants_state_known"), one_of("state", STATES))
        batch.create_check_constraint(op.f("ck_entrants_name_length"), "length(name) BETWEEN 1 AND 256")


def downgrade() -> None:
    with op.batch_alter_table("entrants", table_kwargs=STRICT) as batch:
        for name in ("joined_change", "left_change"):
            batch.drop_constraint(op.f(f"fk_entrants_{name}"), type_="foreignkey")
        for name in ("state_known", "name_length"):
            batch.drop_constraint(op.f(f"ck_entrants_{name}"), type_="check")
        for name in NEW:
            batch.drop_column(name)
    for table in ("removals", "origins", "voids", "changes"):
        op.drop_table(table)


def _create_changes() -> None:
    op.create_table(
        "changes",
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("made_at", DOUBLE, nullable=False),
        sa.CheckConstraint(one_of("kind", KINDS), name=op.f("ck_changes_kind_known")),
        sa.CheckConstraint("length(subject) BETWEEN 0 AND 4096", name=op.f("ck_changes_subject_length")),
        sa.CheckConstraint("length(reason) BETWEEN 0 AND 4096", name=op.f("ck_changes_reason_length")),
        sa.CheckConstraint("length(who) BETWEEN 1 AND 512", name=op.f("ck_changes_who_length")),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_changes_tournament_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_changes_tournament_id_id"), "changes", ["tournament_id", "id"], unique=False)


def _create_voids() -> None:
    op.create_table(
        "voids",
        sa.Column("match_id", BIG, autoincrement=False, nullable=False),
        sa.Column("change_id", BIG, autoincrement=False, nullable=False),
        sa.Column("undone_change", BIG),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"], name=op.f("fk_voids_match_id")),
        sa.ForeignKeyConstraint(["change_id"], ["changes.id"], name=op.f("fk_voids_change_id")),
        sa.ForeignKeyConstraint(["undone_change"], ["changes.id"], name=op.f("fk_voids_undone_change")),
        sa.PrimaryKeyConstraint("match_id", "change_id", name=op.f("pk_voids")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_voids_change_id"), "voids", ["change_id"], unique=False)
    op.create_index(
        "uq_voids_present",
        "voids",
        ["match_id"],
        unique=True,
        sqlite_where=sa.text("undone_change IS NULL"),
    )


def _create_removals() -> None:
    op.create_table(
        "removals",
        sa.Column("id", BIG, nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("last_match", BIG, nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("removed_at", DOUBLE, nullable=False),
        sa.CheckConstraint("length(uid) BETWEEN 0 AND 64", name=op.f("ck_removals_uid_length")),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 256", name=op.f("ck_removals_name_length")),
        sa.CheckConstraint("length(file) BETWEEN 1 AND 4096", name=op.f("ck_removals_file_length")),
        sa.CheckConstraint("length(who) BETWEEN 1 AND 512", name=op.f("ck_removals_who_length")),
        sa.CheckConstraint("last_match >= 0", name=op.f("ck_removals_last_match_least")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_removals")),
        sqlite_strict=True,
    )
