"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DOUBLE: sa.Double[float] = sa.Double()
SECONDS = DOUBLE.with_variant(sa.REAL(), "sqlite")
TERMINATIONS = (
    "rules",
    "adjudicated",
    "resign",
    "illegal_move",
    "malformed",
    "oversize_line",
    "output_flood",
    "protocol_order",
    "time_move",
    "time_game",
    "crash",
    "oom",
    "bot_error",
    "no_common_protocol",
    "init_timeout",
    "init_crash",
    "disconnect",
    "walkover",
    "arena_stall",
    "arena_error",
    "aborted",
)
TERMINATION_KNOWN = " OR ".join(f"termination = '{name}'" for name in TERMINATIONS)


def upgrade() -> None:
    _create_bots()
    _create_tournaments()
    _create_entrants()
    _create_leases()
    _create_requests()
    _create_planned()
    _create_tallies()
    _create_matches()


def downgrade() -> None:
    for table in ("matches", "tallies", "planned", "requests", "leases", "entrants", "tournaments", "bots"):
        op.drop_table(table)


def _create_bots() -> None:
    op.create_table(
        "bots",
        sa.Column("id", BIG, nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("distribution", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("files", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "length(distribution) BETWEEN 0 AND 256", name=op.f("ck_bots_distribution_length")
        ),
        sa.CheckConstraint("length(files) BETWEEN 0 AND 1048576", name=op.f("ck_bots_files_length")),
        sa.CheckConstraint("length(identity) BETWEEN 64 AND 64", name=op.f("ck_bots_identity_length")),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 64", name=op.f("ck_bots_name_length")),
        sa.CheckConstraint("length(spec) BETWEEN 1 AND 4096", name=op.f("ck_bots_spec_length")),
        sa.CheckConstraint("length(version) BETWEEN 0 AND 256", name=op.f("ck_bots_version_length")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bots")),
        sa.UniqueConstraint("identity", name=op.f("uq_bots_identity")),
        sqlite_strict=True,
    )


def _create_tournaments() -> None:
    op.create_table(
        "tournaments",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("game", sa.Text(), nullable=False),
        sa.Column("num_actions", sa.Integer(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", SECONDS, nullable=False),
        sa.Column("num_planned", sa.Integer(), nullable=False),
        sa.Column("num_done", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "state = 'running' OR state = 'stopped' OR state = 'finished'",
            name=op.f("ck_tournaments_state_known"),
        ),
        sa.CheckConstraint(
            "type = 'round-robin' OR type = 'gauntlet' OR type = 'match'",
            name=op.f("ck_tournaments_type_known"),
        ),
        sa.CheckConstraint(
            "length(config) BETWEEN 0 AND 16777216", name=op.f("ck_tournaments_config_length")
        ),
        sa.CheckConstraint("length(event) BETWEEN 0 AND 4096", name=op.f("ck_tournaments_event_length")),
        sa.CheckConstraint("length(game) BETWEEN 1 AND 4096", name=op.f("ck_tournaments_game_length")),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 256", name=op.f("ck_tournaments_name_length")),
        sa.CheckConstraint("length(pool) BETWEEN 1 AND 256", name=op.f("ck_tournaments_pool_length")),
        sa.CheckConstraint("length(site) BETWEEN 0 AND 4096", name=op.f("ck_tournaments_site_length")),
        sa.CheckConstraint("num_actions BETWEEN 1 AND 65536", name=op.f("ck_tournaments_num_actions_range")),
        sa.CheckConstraint("num_done BETWEEN 0 AND num_planned", name=op.f("ck_tournaments_num_done_range")),
        sa.CheckConstraint("seed >= 0", name=op.f("ck_tournaments_seed_least")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tournaments")),
        sa.UniqueConstraint("name", name=op.f("uq_tournaments_name")),
        sqlite_strict=True,
    )


def _create_entrants() -> None:
    op.create_table(
        "entrants",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("bot_id", BIG, nullable=False),
        sa.Column("time_limit", sa.Text(), nullable=False),
        sa.CheckConstraint("length(label) BETWEEN 1 AND 256", name=op.f("ck_entrants_label_length")),
        sa.CheckConstraint(
            "length(time_limit) BETWEEN 0 AND 256", name=op.f("ck_entrants_time_limit_length")
        ),
        sa.CheckConstraint("seat >= 0", name=op.f("ck_entrants_seat_least")),
        sa.ForeignKeyConstraint(["bot_id"], ["bots.id"], name=op.f("fk_entrants_bot_id")),
        sa.ForeignKeyConstraint(
            ["tournament_id"], ["tournaments.id"], name=op.f("fk_entrants_tournament_id")
        ),
        sa.PrimaryKeyConstraint("tournament_id", "seat", name=op.f("pk_entrants")),
        sa.UniqueConstraint("tournament_id", "label", name=op.f("uq_entrants_tournament_id_label")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_entrants_bot_id"), "entrants", ["bot_id"], unique=False)


def _create_leases() -> None:
    op.create_table(
        "leases",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("uuid", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("pid_start", BIG, nullable=False),
        sa.Column("expires_at", SECONDS, nullable=False),
        sa.CheckConstraint("length(boot_id) BETWEEN 0 AND 64", name=op.f("ck_leases_boot_id_length")),
        sa.CheckConstraint("length(host) BETWEEN 0 AND 256", name=op.f("ck_leases_host_length")),
        sa.CheckConstraint("length(uuid) BETWEEN 0 AND 64", name=op.f("ck_leases_uuid_length")),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_leases_tournament_id")),
        sa.PrimaryKeyConstraint("tournament_id", name=op.f("pk_leases")),
        sqlite_strict=True,
    )


def _create_requests() -> None:
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


def _create_planned() -> None:
    op.create_table(
        "planned",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("encounter", sa.Integer(), nullable=False),
        sa.Column("match_no", sa.Integer(), nullable=False),
        sa.Column("first_seat", sa.Integer(), nullable=False),
        sa.Column("second_seat", sa.Integer(), nullable=False),
        sa.Column("opening", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.CheckConstraint("state = 'planned' OR state = 'done'", name=op.f("ck_planned_state_known")),
        sa.CheckConstraint("attempt >= 0", name=op.f("ck_planned_attempt_least")),
        sa.CheckConstraint("encounter >= 0", name=op.f("ck_planned_encounter_least")),
        sa.CheckConstraint("first_seat <> second_seat", name=op.f("ck_planned_two_seats")),
        sa.CheckConstraint("length(opening) BETWEEN 0 AND 65536", name=op.f("ck_planned_opening_length")),
        sa.CheckConstraint("match_no >= 0", name=op.f("ck_planned_match_no_least")),
        sa.CheckConstraint("number >= 1", name=op.f("ck_planned_number_least")),
        sa.ForeignKeyConstraint(
            ["tournament_id", "first_seat"],
            ["entrants.tournament_id", "entrants.seat"],
            name=op.f("fk_planned_tournament_id_first_seat"),
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "second_seat"],
            ["entrants.tournament_id", "entrants.seat"],
            name=op.f("fk_planned_tournament_id_second_seat"),
        ),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_planned_tournament_id")),
        sa.PrimaryKeyConstraint("tournament_id", "number", name=op.f("pk_planned")),
        sa.UniqueConstraint(
            "tournament_id", "encounter", "match_no", name=op.f("uq_planned_tournament_id_encounter_match_no")
        ),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_tallies() -> None:
    op.create_table(
        "tallies",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("first_seat", sa.Integer(), nullable=False),
        sa.Column("second_seat", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("termination", sa.Text(), nullable=False),
        sa.Column("rated", sa.Integer(), nullable=False),
        sa.Column("num_matches", sa.Integer(), nullable=False),
        sa.Column("num_unique", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "outcome = 'first' OR outcome = 'second' OR outcome = 'draw' OR outcome = 'void'",
            name=op.f("ck_tallies_outcome_known"),
        ),
        sa.CheckConstraint(TERMINATION_KNOWN, name=op.f("ck_tallies_termination_known")),
        sa.CheckConstraint("first_seat <> second_seat", name=op.f("ck_tallies_two_seats")),
        sa.CheckConstraint("num_unique BETWEEN 0 AND num_matches", name=op.f("ck_tallies_num_unique_range")),
        sa.CheckConstraint("rated IN (0, 1)", name=op.f("ck_tallies_rated_flag")),
        sa.ForeignKeyConstraint(
            ["tournament_id", "first_seat"],
            ["entrants.tournament_id", "entrants.seat"],
            name=op.f("fk_tallies_tournament_id_first_seat"),
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "second_seat"],
            ["entrants.tournament_id", "entrants.seat"],
            name=op.f("fk_tallies_tournament_id_second_seat"),
        ),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name=op.f("fk_tallies_tournament_id")),
        sa.PrimaryKeyConstraint(
            "tournament_id",
            "first_seat",
            "second_seat",
            "outcome",
            "termination",
            "rated",
            name=op.f("pk_tallies"),
        ),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _create_matches() -> None:
    op.create_table("matches", *_match_columns(), *_match_constraints(), sqlite_strict=True)
    _index_matches()


def _match_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("first_seat", sa.Integer(), nullable=False),
        sa.Column("second_seat", sa.Integer(), nullable=False),
        sa.Column("first_bot", BIG, nullable=False),
        sa.Column("second_bot", BIG, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("termination", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("rated", sa.Integer(), nullable=False),
        sa.Column("is_final", sa.Integer(), nullable=False),
        sa.Column("actions", sa.LargeBinary(), nullable=False),
        sa.Column("num_opening", sa.Integer(), nullable=False),
        sa.Column("times", sa.LargeBinary(), nullable=False),
        sa.Column("claims", sa.LargeBinary(), nullable=False),
        sa.Column("match_hash", sa.LargeBinary(), nullable=False),
        sa.Column("seed_first", BIG, nullable=False),
        sa.Column("seed_second", BIG, nullable=False),
        sa.Column("started_at", SECONDS, nullable=False),
        sa.Column("duration_ms", BIG, nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.Column("versions", sa.Text(), nullable=False),
        sa.Column("record_hash", sa.LargeBinary(), nullable=False),
    ]


def _match_constraints() -> list[sa.Constraint]:
    return [
        sa.CheckConstraint(
            "outcome = 'first' OR outcome = 'second' OR outcome = 'draw' OR outcome = 'void'",
            name=op.f("ck_matches_outcome_known"),
        ),
        sa.CheckConstraint(TERMINATION_KNOWN, name=op.f("ck_matches_termination_known")),
        sa.CheckConstraint(
            "tier = 'T0' OR tier = 'T1' OR tier = 'T2' OR tier = 'T3' OR tier = 'T4'",
            name=op.f("ck_matches_tier_known"),
        ),
        sa.CheckConstraint("attempt >= 0", name=op.f("ck_matches_attempt_least")),
        sa.CheckConstraint("duration_ms >= 0", name=op.f("ck_matches_duration_ms_least")),
        sa.CheckConstraint("first_seat <> second_seat", name=op.f("ck_matches_two_seats")),
        sa.CheckConstraint("is_final IN (0, 1)", name=op.f("ck_matches_is_final_flag")),
        sa.CheckConstraint("length(actions) BETWEEN 0 AND 1048576", name=op.f("ck_matches_actions_length")),
        sa.CheckConstraint("length(claims) BETWEEN 0 AND 8388608", name=op.f("ck_matches_claims_length")),
        sa.CheckConstraint("length(fault) BETWEEN 0 AND 262144", name=op.f("ck_matches_fault_length")),
        sa.CheckConstraint("length(match_hash) BETWEEN 32 AND 32", name=op.f("ck_matches_match_hash_length")),
        sa.CheckConstraint("length(reason) BETWEEN 0 AND 4096", name=op.f("ck_matches_reason_length")),
        sa.CheckConstraint(
            "length(record_hash) BETWEEN 32 AND 32", name=op.f("ck_matches_record_hash_length")
        ),
        sa.CheckConstraint("length(times) BETWEEN 0 AND 8388608", name=op.f("ck_matches_times_length")),
        sa.CheckConstraint("length(versions) BETWEEN 0 AND 4096", name=op.f("ck_matches_versions_length")),
        sa.CheckConstraint(
            "num_opening BETWEEN 0 AND length(actions)", name=op.f("ck_matches_num_opening_range")
        ),
        sa.CheckConstraint("rated IN (0, 1)", name=op.f("ck_matches_rated_flag")),
        sa.CheckConstraint("seed_first >= 0", name=op.f("ck_matches_seed_first_least")),
        sa.CheckConstraint("seed_second >= 0", name=op.f("ck_matches_seed_second_least")),
        sa.ForeignKeyConstraint(["first_bot"], ["bots.id"], name=op.f("fk_matches_first_bot")),
        sa.ForeignKeyConstraint(["second_bot"], ["bots.id"], name=op.f("fk_matches_second_bot")),
        sa.ForeignKeyConstraint(
            ["tournament_id", "first_seat"],
            ["entrants.tournament_id", "entrants.seat"],
            name=op.f("fk_matches_tournament_id_first_seat"),
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "number"],
            ["planned.tournament_id", "planned.number"],
            name=op.f("fk_matches_tournament_id_number"),
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "second_seat"],
            ["entrants.tournament_id", "entrants.seat"],
            name=op.f("fk_matches_tournament_id_second_seat"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_matches")),
        sa.UniqueConstraint(
            "tournament_id", "number", "attempt", name=op.f("uq_matches_tournament_id_number_attempt")
        ),
    ]


def _index_matches() -> None:
    op.create_index("ix_matches_first_bot_id", "matches", ["first_bot", "id"], unique=False)
    op.create_index(
        "ix_matches_repeats",
        "matches",
        ["tournament_id", "match_hash", "first_seat", "second_seat", "outcome", "rated"],
        unique=False,
    )
    op.create_index("ix_matches_second_bot_id", "matches", ["second_bot", "id"], unique=False)
    op.create_index("ix_matches_started_at_id", "matches", ["started_at", "id"], unique=False)
    op.create_index("ix_matches_termination_id", "matches", ["termination", "id"], unique=False)
    op.create_index("ix_matches_tournament_id_id", "matches", ["tournament_id", "id"], unique=False)
    op.create_index(
        "uq_matches_final",
        "matches",
        ["tournament_id", "number"],
        unique=True,
        sqlite_where=sa.text("is_final = 1"),
        postgresql_where=sa.text("is_final = 1"),
    )
