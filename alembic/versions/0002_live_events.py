"""Adds live events of running matches; replaces requests by commands, which have answers."""

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DOUBLE: sa.Double[float] = sa.Double()
SECONDS = DOUBLE.with_variant(sa.REAL(), "sqlite")
COMMAND_KINDS = ("pause", "resume", "stop", "abort", "move", "undo", "hint", "resign")
EVENT_KINDS = ("started", "move", "info", "finished", "fault", "state")


def upgrade() -> None:
    _create_commands()
    _create_live_events()
    _create_live_pruned()
    # Stored requests count as answered: the runs that they were meant for have ended.
    op.execute(
        "INSERT INTO commands (id, tournament_id, kind, payload, asked_at, taken_at, answered_at, answer) "
        "SELECT id, tournament_id, kind, '', created_at, coalesce(done_at, created_at), "
        "coalesce(done_at, created_at), '' FROM requests WHERE kind IN ('stop', 'abort')"
    )
    op.drop_table("requests")


def downgrade() -> None:
    op.create_table(
        "requests",
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("created_at", SECONDS, nullable=False),
        sa.Column("done_at", SECONDS, nullable=True),
        sa.CheckConstraint("length(kind) BETWEEN 1 AND 64", name=op.f("ck_requests_kind_length")),
        sa.ForeignKeyConstraint(
            ["tournament_id"], ["tournaments.id"], name=op.f("fk_requests_tournament_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_requests")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_requests_tournament_id_id"), "requests", ["tournament_id", "id"], unique=False)
    op.execute(
        "INSERT INTO requests (id, tournament_id, kind, created_at, done_at) "
        "SELECT id, tournament_id, kind, asked_at, taken_at FROM commands"
    )
    for table in ("live_pruned", "live_events", "commands"):
        op.drop_table(table)


def _create_commands() -> None:
    op.create_table(
        "commands",
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("asked_at", SECONDS, nullable=False),
        sa.Column("taken_at", SECONDS, nullable=True),
        sa.Column("answered_at", SECONDS, nullable=True),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.CheckConstraint(_one_of("kind", COMMAND_KINDS), name=op.f("ck_commands_kind_known")),
        sa.CheckConstraint("length(answer) BETWEEN 0 AND 4096", name=op.f("ck_commands_answer_length")),
        sa.CheckConstraint("length(payload) BETWEEN 0 AND 4096", name=op.f("ck_commands_payload_length")),
        sa.ForeignKeyConstraint(
            ["tournament_id"], ["tournaments.id"], name=op.f("fk_commands_tournament_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commands")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_commands_tournament_id_id"), "commands", ["tournament_id", "id"], unique=False)


def _create_live_events() -> None:
    op.create_table(
        "live_events",
        sa.Column("seq", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("ply", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("t", SECONDS, nullable=False),
        sa.CheckConstraint(_one_of("kind", EVENT_KINDS), name=op.f("ck_live_events_kind_known")),
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
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_live_events")),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )


def _create_live_pruned() -> None:
    op.create_table(
        "live_pruned",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_live_pruned_one_row")),
        sa.CheckConstraint("seq >= 0", name=op.f("ck_live_pruned_seq_least")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_live_pruned")),
        sqlite_strict=True,
    )


def _one_of(name: str, values: tuple[str, ...]) -> str:
    return " OR ".join(f"{name} = '{value}'" for value in values)
