"""Adds the hash of a bot's code; idle CPU time, limits and runtimes of a match; `pondering`."""

import struct
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | None = None
depends_on: str | None = None

DOUBLE: sa.Double[float] = sa.Double()
MILLISECONDS = DOUBLE.with_variant(sa.REAL(), "sqlite")
TERMINATIONS = (
    *("rules", "adjudicated", "resign", "illegal_move", "malformed", "oversize_line", "output_flood"),
    *("protocol_order", "time_move", "time_game", "crash", "oom", "pondering", "bot_error"),
    *("no_common_protocol", "init_timeout", "init_crash", "disconnect", "walkover"),
    *("arena_stall", "arena_error", "aborted"),
)
KNOWN = " OR ".join(f"termination = '{name}'" for name in TERMINATIONS)
KNOWN_BEFORE = " OR ".join(f"termination = '{name}'" for name in TERMINATIONS if name != "pondering")
STRICT = {"sqlite_strict": True}
CHECKS = {
    "idle_cpu_first_ms_least": "idle_cpu_first_ms >= 0",
    "idle_cpu_second_ms_least": "idle_cpu_second_ms >= 0",
    "limits_known": "limits = 'kernel' OR limits = 'polled'",
    "runtime_first_length": "length(runtime_first) BETWEEN 1 AND 256",
    "runtime_second_length": "length(runtime_second) BETWEEN 1 AND 256",
}
COLUMNS = ("idle_cpu_first_ms", "idle_cpu_second_ms", "limits", "runtime_first", "runtime_second")
PAGE = 1000
"""Maximum number of matches in memory at once."""
READ = (
    "SELECT m.*, f.identity AS first, s.identity AS second, v.content AS versions FROM matches AS m "
    "JOIN bots AS f ON f.id = m.first_bot JOIN bots AS s ON s.id = m.second_bot "
    "JOIN versions AS v ON v.id = m.versions_id "
    "WHERE m.id > ? AND (termination = 'pondering' OR coalesce("
    "idle_cpu_first_ms, idle_cpu_second_ms, limits, runtime_first, runtime_second) IS NOT NULL) "
    "ORDER BY m.id LIMIT ?"
)
RENAME_TALLIES = """
INSERT INTO tallies
SELECT tournament_id, first_seat, second_seat, outcome, 'bot_error', rated, num_matches, num_unique
FROM tallies WHERE termination = 'pondering'
ON CONFLICT DO UPDATE SET
num_matches = tallies.num_matches + excluded.num_matches,
num_unique = tallies.num_unique + excluded.num_unique
"""


def upgrade() -> None:
    with op.batch_alter_table("bots", table_kwargs=STRICT) as batch:
        batch.add_column(sa.Column("content", sa.Text()))
        batch.create_check_constraint(op.f("ck_bots_content_length"), "length(content) BETWEEN 64 AND 64")
    # One batch for all columns, because each batch copies every match.
    with op.batch_alter_table("matches", table_kwargs=STRICT) as batch:
        for name in COLUMNS:
            batch.add_column(sa.Column(name, MILLISECONDS if name.endswith("_ms") else sa.Text()))
        for name, text in CHECKS.items():
            batch.create_check_constraint(op.f(f"ck_matches_{name}"), text)
        batch.drop_constraint(op.f("ck_matches_termination_known"), type_="check")
        batch.create_check_constraint(op.f("ck_matches_termination_known"), KNOWN)
    _know_in_tallies(KNOWN)


def downgrade() -> None:
    _forget()
    _know_in_tallies(KNOWN_BEFORE)
    with op.batch_alter_table("matches", table_kwargs=STRICT) as batch:
        batch.drop_constraint(op.f("ck_matches_termination_known"), type_="check")
        batch.create_check_constraint(op.f("ck_matches_termination_known"), KNOWN_BEFORE)
        for name in CHECKS:
            batch.drop_constraint(op.f(f"ck_matches_{name}"), type_="check")
        for name in COLUMNS:
            batch.drop_column(name)
    with op.batch_alter_table("bots", table_kwargs=STRICT) as batch:
        batch.drop_constraint(op.f("ck_bots_content_length"), type_="check")
        batch.drop_column("content")


def record_hash(row: Any, termination: str, setting: bytes) -> bytes:  # noqa: ANN401 - a row of a query
    """Return the hash of a match; without a setting it is that of revision 0003."""
    texts = (row.first, row.second, row.outcome, termination, row.tier, row.versions)
    numbers = (row.tournament_id, row.first_seat, row.second_seat, row.rated, row.is_final)
    same = struct.pack("<5q6I", *numbers, *map(len, texts)) + "".join(texts).encode()
    blobs = (row.actions, row.times, row.claims, row.match_hash)
    numbers = (row.number, row.attempt, row.num_opening, row.seed_first, row.seed_second, row.duration_ms)
    sizes = (len(row.reason), len(row.fault), *map(len, blobs))
    own = struct.pack("<7qd6I", *numbers, len(same), row.started_at, *sizes)
    return sha256(b"".join((same, own, (row.reason + row.fault).encode(), *blobs, setting))).digest()


def setting_part(row: Any) -> bytes:  # noqa: ANN401 - a row of a query
    """Return the hashed bytes of the new columns; empty if all of them are NULL."""
    values = [getattr(row, name) for name in COLUMNS]
    if values == [None] * len(COLUMNS):
        return b""
    times = (float("nan") if time is None else time for time in values[:2])
    texts = [text or "" for text in values[2:]]
    return struct.pack("<2d3I", *times, *map(len, texts)) + "".join(texts).encode()


def _forget() -> None:
    """Remove what the older version does not know; a match that contradicts its hash still does then."""
    connection = op.get_bind()
    last = 0
    while page := list(connection.exec_driver_sql(READ, (last, PAGE))):
        rows: list[tuple[bytes, str, int]] = []
        for row in page:
            is_sound = record_hash(row, row.termination, setting_part(row)) == row.record_hash
            # The older version has no `pondering`; `bot_error` is the closest termination.
            termination = "bot_error" if row.termination == "pondering" else row.termination
            kept = record_hash(row, termination, b"") if is_sound else row.record_hash
            rows.append((kept, termination, row.id))
        connection.exec_driver_sql("UPDATE matches SET record_hash = ?, termination = ? WHERE id = ?", rows)
        last = page[-1].id
    connection.exec_driver_sql(RENAME_TALLIES)
    connection.exec_driver_sql("DELETE FROM tallies WHERE termination = 'pondering'")


def _know_in_tallies(known: str) -> None:
    kwargs = {"sqlite_strict": True, "sqlite_with_rowid": False}
    with op.batch_alter_table("tallies", table_kwargs=kwargs) as batch:
        batch.drop_constraint(op.f("ck_tallies_termination_known"), type_="check")
        batch.create_check_constraint(op.f("ck_tallies_termination_known"), known)
