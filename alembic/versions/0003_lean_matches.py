"""Stores matches in less space: version texts once in a table, and repeated matches as fingerprints."""

import json
import struct
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
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
INDEXES = ("first_bot", "second_bot", "started_at", "termination", "tournament_id")
PAGE = 1000
"""Maximum number of matches in memory at once."""
OLD = (
    *("id", "tournament_id", "number", "attempt", "first_seat", "second_seat", "first_bot", "second_bot"),
    *("outcome", "termination", "reason", "rated", "is_final", "actions", "num_opening", "times", "claims"),
    *("match_hash", "seed_first", "seed_second", "started_at", "duration_ms", "tier", "fault", "versions"),
    "record_hash",
)
NEW = tuple("versions_id" if name == "versions" else name for name in OLD)
READ = "SELECT m.*, f.identity AS first, s.identity AS second{more} FROM before AS m {joins} "
JOINS = "JOIN bots AS f ON f.id = m.first_bot JOIN bots AS s ON s.id = m.second_bot"


def upgrade() -> None:
    op.create_table(
        "versions",
        sa.Column("id", BIG, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.CheckConstraint("length(content) BETWEEN 0 AND 4096", name=op.f("ck_versions_content_length")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_versions")),
        sa.UniqueConstraint("content", name=op.f("uq_versions_content")),
        sqlite_strict=True,
    )
    op.create_table(
        "fingerprints",
        sa.Column("key", BIG, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_fingerprints")),
        sqlite_strict=True,
    )
    for name in (*(f"ix_matches_{name}_id" for name in INDEXES), "ix_matches_repeats", "uq_matches_final"):
        op.drop_index(name, "matches")
    op.rename_table("matches", "before")
    _create_matches(leanly=True)
    op.execute("INSERT INTO versions (content) SELECT DISTINCT versions FROM before ORDER BY id")
    more, joins = ", v.id AS versions_id", f"{JOINS} JOIN versions AS v ON v.content = m.versions"
    _copy(READ.format(more=more, joins=joins), NEW, old_hash, new_hash)
    _store_fingerprints()
    op.drop_table("before")
    _index_matches(leanly=True)


def downgrade() -> None:
    for name in (*(f"ix_matches_{name}_id" for name in INDEXES), "uq_matches_final"):
        op.drop_index(name, "matches")
    op.rename_table("matches", "before")
    _create_matches(leanly=False)
    joins = f"{JOINS} JOIN versions AS v ON v.id = m.versions_id"
    _copy(READ.format(more=", v.content AS versions", joins=joins), OLD, new_hash, old_hash)
    for table in ("before", "versions", "fingerprints"):
        op.drop_table(table)
    _index_matches(leanly=False)


def old_hash(row: Any) -> bytes:  # noqa: ANN401 — a row of a query
    """Return the hash of a match as revision 0001 computes it."""
    names = (
        *("tournament_id", "number", "attempt", "first", "second", "outcome", "termination", "reason"),
        *("rated", "is_final", "num_opening", "seed_first", "seed_second", "started_at", "duration_ms"),
        *("tier", "fault", "versions"),
    )
    blobs = (row.actions, row.times, row.claims, row.match_hash)
    head = json.dumps([*(getattr(row, name) for name in names), *map(len, blobs)], separators=(",", ":"))
    return sha256(b"".join((head.encode(), *blobs))).digest()


def new_hash(row: Any) -> bytes:  # noqa: ANN401 — see above
    """Return the hash of a match as this revision computes it."""
    texts = (row.first, row.second, row.outcome, row.termination, row.tier, row.versions)
    numbers = (row.tournament_id, row.first_seat, row.second_seat, row.rated, row.is_final)
    same = struct.pack("<5q6I", *numbers, *map(len, texts)) + "".join(texts).encode()
    blobs = (row.actions, row.times, row.claims, row.match_hash)
    numbers = (row.number, row.attempt, row.num_opening, row.seed_first, row.seed_second, row.duration_ms)
    sizes = (len(row.reason), len(row.fault), *map(len, blobs))
    own = struct.pack("<7qd6I", *numbers, len(same), row.started_at, *sizes)
    return sha256(b"".join((same, own, (row.reason + row.fault).encode(), *blobs))).digest()


def fingerprint(row: Any) -> int:  # noqa: ANN401 — see above
    """Return a number that is equal for matches with the same seats, result and moves, up to symmetry."""
    same = (row.tournament_id, row.first_seat, row.second_seat, row.outcome, row.rated)
    salt = int.from_bytes(sha256("/".join(map(str, same)).encode()).digest()[:8]) >> 1
    return salt ^ (int.from_bytes(row.match_hash[:8]) >> 1)


def _copy(
    read: str, names: tuple[str, ...], before: Callable[[Any], bytes], after: Callable[[Any], bytes]
) -> None:
    """Copy all matches; a match that contradicted its hash still does afterwards."""
    marks = ",".join("?" * len(names))
    write = f"INSERT INTO matches ({','.join(names)}) VALUES ({marks})"  # noqa: S608 — names of our own columns
    for page in _pages(read):
        rows: list[tuple[Any, ...]] = []
        for row in page:
            kept = after(row) if before(row) == row.record_hash else row.record_hash
            rows.append((*(getattr(row, name) for name in names[:-1]), kept))
        op.get_bind().exec_driver_sql(write, rows)


def _store_fingerprints() -> None:
    for page in _pages(READ.format(more="", joins=JOINS)):
        keys = [(fingerprint(row),) for row in page]
        op.get_bind().exec_driver_sql("INSERT INTO fingerprints VALUES (?) ON CONFLICT DO NOTHING", keys)


def _pages(read: str) -> Iterator[list[Any]]:
    last = 0
    where = "WHERE m.id > ? ORDER BY m.id LIMIT ?"
    while page := list(op.get_bind().exec_driver_sql(f"{read}{where}", (last, PAGE))):
        yield page
        last = page[-1].id


def _create_matches(*, leanly: bool) -> None:
    columns = [*_shared_columns(), sa.Column("fault", sa.Text(), nullable=False)]
    checks = _checks()
    if leanly:
        columns += [sa.Column("versions_id", BIG, nullable=False)]
    else:
        columns += [sa.Column("versions", sa.Text(), nullable=False)]
        length = "length(versions) BETWEEN 0 AND 4096"
        checks += [sa.CheckConstraint(length, name=op.f("ck_matches_versions_length"))]
    columns += [sa.Column("record_hash", sa.LargeBinary(), nullable=False)]
    op.create_table("matches", *columns, *checks, *_keys(leanly=leanly), sqlite_strict=True)


def _shared_columns() -> list[sa.Column[Any]]:
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
    ]


def _checks() -> list[sa.Constraint]:
    conditions = {
        "outcome_known": "outcome = 'first' OR outcome = 'second' OR outcome = 'draw' OR outcome = 'void'",
        "termination_known": TERMINATION_KNOWN,
        "tier_known": "tier = 'T0' OR tier = 'T1' OR tier = 'T2' OR tier = 'T3' OR tier = 'T4'",
        "attempt_least": "attempt >= 0",
        "duration_ms_least": "duration_ms >= 0",
        "two_seats": "first_seat <> second_seat",
        "is_final_flag": "is_final IN (0, 1)",
        "actions_length": "length(actions) BETWEEN 0 AND 1048576",
        "claims_length": "length(claims) BETWEEN 0 AND 8388608",
        "fault_length": "length(fault) BETWEEN 0 AND 262144",
        "match_hash_length": "length(match_hash) BETWEEN 32 AND 32",
        "reason_length": "length(reason) BETWEEN 0 AND 4096",
        "record_hash_length": "length(record_hash) BETWEEN 32 AND 32",
        "times_length": "length(times) BETWEEN 0 AND 8388608",
        "num_opening_range": "num_opening BETWEEN 0 AND length(actions)",
        "rated_flag": "rated IN (0, 1)",
        "seed_first_least": "seed_first >= 0",
        "seed_second_least": "seed_second >= 0",
    }
    return [sa.CheckConstraint(text, name=op.f(f"ck_matches_{name}")) for name, text in conditions.items()]


def _keys(*, leanly: bool) -> list[sa.Constraint]:
    keys: list[sa.Constraint] = [
        sa.ForeignKeyConstraint(
            ["tournament_id", "number"],
            ["planned.tournament_id", "planned.number"],
            name=op.f("fk_matches_tournament_id_number"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_matches")),
        sa.UniqueConstraint(
            "tournament_id", "number", "attempt", name=op.f("uq_matches_tournament_id_number_attempt")
        ),
    ]
    if leanly:
        versions = op.f("fk_matches_versions_id")
        return [*keys, sa.ForeignKeyConstraint(["versions_id"], ["versions.id"], name=versions)]
    return [
        *keys,
        sa.ForeignKeyConstraint(["first_bot"], ["bots.id"], name=op.f("fk_matches_first_bot")),
        sa.ForeignKeyConstraint(["second_bot"], ["bots.id"], name=op.f("fk_matches_second_bot")),
        *(
            sa.ForeignKeyConstraint(
                ["tournament_id", seat],
                ["entrants.tournament_id", "entrants.seat"],
                name=op.f(f"fk_matches_tournament_id_{seat}"),
            )
            for seat in ("first_seat", "second_seat")
        ),
    ]


def _index_matches(*, leanly: bool) -> None:
    failed = sa.text("termination <> 'rules'") if leanly else None
    for name in INDEXES:
        where = failed if name == "termination" else None
        columns = [name, "id"]
        if where is None:
            op.create_index(f"ix_matches_{name}_id", "matches", columns, unique=False)
        else:
            op.create_index(
                f"ix_matches_{name}_id",
                "matches",
                columns,
                unique=False,
                sqlite_where=where,
                postgresql_where=where,
            )
    if not leanly:
        names = ["tournament_id", "match_hash", "first_seat", "second_seat", "outcome", "rated"]
        op.create_index("ix_matches_repeats", "matches", names, unique=False)
    final = sa.text("is_final = 1")
    op.create_index(
        "uq_matches_final",
        "matches",
        ["tournament_id", "number"],
        unique=True,
        sqlite_where=final,
        postgresql_where=final,
    )
