"""Adds pools in typed columns, stored sums of encounters, and columns for plies and opening of a match.

This revision creates the tables and marks all matches as not counted yet (`summing`). The next process that
opens the store counts them, one batch per transaction: see `arena_db.resumming`.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
STRICT = {"sqlite_strict": True}
ROWLESS = {"sqlite_strict": True, "sqlite_with_rowid": False}
PAGE = 1000
"""Maximum number of matches in memory at once."""
WATCHDOG_MS = 60_000
DAY_MS = 86_400_000
SECONDS = r"(?:[0-9]{1,5}:)?[0-9]{1,5}(?:\.[0-9]{1,3})?"
POOL = re.compile(
    rf"(?:(?P<move>{SECONDS})/move(?: bank (?P<bank>{SECONDS}))?"
    rf"|(?:(?P<moves>[0-9]{{1,4}})/)?(?P<base>{SECONDS})(?:\+(?P<inc>{SECONDS}))?)?"
    r"(?:(?:^| )(?P<nodes>[0-9]{1,18}) nodes)? (?P<process>hosted|in-process)\Z"
)
"""The name of a pool as revisions up to 0005 stored it: the limit, and the kind of process."""
SIDES = ("first", "second")
RESULTS = [f"{side}_{result}" for side in SIDES for result in ("losses", "draws", "wins")]
SUMS = [
    *RESULTS,
    *(f"pairs_{half}" for half in range(5)),
    *(f"single_{name}" for name in RESULTS),
    "num_openings",
    *(f"paired_{name}" for name in ("num", "m", "s", "mm", "ms", "ss")),
    *("both_num", "both_s", "both_ss"),
    *(f"only_{side}_{name}" for side in SIDES for name in ("num", "s", "ss")),
    *("num_different", "replays", "alike"),
]
CLUSTER = [
    *(
        f"{side}_{name}"
        for side in SIDES
        for name in ("matches", "half_points", "moves_hash", "same", "most")
    ),
    *("num_different", "num_pairs", "pair_half_points"),
]
RECOUNT = """
SELECT tournament_id, first_seat, second_seat, outcome, termination, rated, sum(place = 1) AS num_unique
FROM (
    SELECT tournament_id, first_seat, second_seat, outcome, termination, rated, row_number() OVER (
        PARTITION BY tournament_id, first_seat, second_seat, rated, match_hash, outcome ORDER BY id
    ) AS place
    FROM matches
)
GROUP BY 1, 2, 3, 4, 5, 6
"""


def upgrade() -> None:
    _create_pools()
    _name_pools()
    with op.batch_alter_table("tournaments", table_kwargs=STRICT) as batch:
        batch.alter_column("pool_id", existing_type=BIG, nullable=False)
        batch.create_foreign_key(op.f("fk_tournaments_pool_id"), "pools", ["pool_id"], ["id"])
        batch.drop_constraint(op.f("ck_tournaments_pool_length"), type_="check")
        batch.drop_column("pool")
    # Added in place, because SQLite adds a column with a default without rewriting rows.
    zero = sa.text("0")
    op.add_column("matches", sa.Column("num_plies", sa.Integer(), server_default=zero, nullable=False))
    op.add_column("matches", sa.Column("opening_hash", BIG, server_default=zero, nullable=False))
    for name in ("num_plies", "duration_ms"):
        op.create_index(f"ix_matches_{name}_id", "matches", [name, "id"], unique=False)
    op.drop_table("fingerprints")
    with op.batch_alter_table("tallies", table_kwargs=ROWLESS) as batch:
        batch.drop_constraint(op.f("ck_tallies_num_unique_range"), type_="check")
        batch.drop_column("num_unique")
    _create_sums()
    op.execute("INSERT INTO summing (id, next_match) VALUES (1, 1)")


def downgrade() -> None:
    for table in ("summing", "strays", "clusters", "encounters"):
        op.drop_table(table)
    _count_unique()
    op.create_table(
        "fingerprints",
        sa.Column("key", BIG, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_fingerprints")),
        **STRICT,
    )
    _store_fingerprints()
    for name in ("num_plies", "duration_ms"):
        op.drop_index(f"ix_matches_{name}_id", "matches")
    op.drop_column("matches", "opening_hash")
    op.drop_column("matches", "num_plies")
    pool = sa.Column("pool", sa.Text(), server_default="?", nullable=False)
    with op.batch_alter_table("tournaments", recreate="always", table_kwargs=STRICT) as batch:
        batch.add_column(pool, insert_after="num_actions")
        batch.create_check_constraint(op.f("ck_tournaments_pool_length"), "length(pool) BETWEEN 1 AND 256")
    op.execute("UPDATE tournaments SET pool = (SELECT name FROM pools WHERE pools.id = pool_id)")
    with op.batch_alter_table("tournaments", table_kwargs=STRICT) as batch:
        batch.alter_column("pool", existing_type=sa.Text(), server_default=None)
        batch.drop_constraint(op.f("fk_tournaments_pool_id"), type_="foreignkey")
        batch.drop_column("pool_id")
    op.drop_table("pools")


def _create_pools() -> None:
    known = {
        "mode": ("move", "fischer", "bank", "none"),
        "process": ("hosted", "in-process"),
    }
    numbers = ("move_ms", "base_ms", "inc_ms", "moves", "nodes")
    op.create_table(
        "pools",
        sa.Column("id", BIG, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("game", "mode")),
        *(sa.Column(name, sa.Integer() if name == "moves" else BIG, nullable=False) for name in numbers),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("process", "label", "name")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pools")),
        sa.UniqueConstraint("game", "name", name=op.f("uq_pools_game_name")),
        sa.CheckConstraint("length(game) BETWEEN 1 AND 4096", name=op.f("ck_pools_game_length")),
        *(
            sa.CheckConstraint(
                " OR ".join(f"{name} = '{value}'" for value in values), name=op.f(f"ck_pools_{name}_known")
            )
            for name, values in known.items()
        ),
        *(sa.CheckConstraint(f"{name} >= 0", name=op.f(f"ck_pools_{name}_least")) for name in numbers),
        sa.CheckConstraint("length(label) BETWEEN 0 AND 256", name=op.f("ck_pools_label_length")),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 256", name=op.f("ck_pools_name_length")),
        **STRICT,
    )


def _name_pools() -> None:
    """Store the pools that tournaments name, and let the tournaments refer to them."""
    connection = op.get_bind()
    op.add_column("tournaments", sa.Column("pool_id", BIG, nullable=True))
    columns = ("mode", "move_ms", "base_ms", "inc_ms", "moves", "nodes", "process", "label", "game", "name")
    marks = ",".join("?" * len(columns))
    write = f"INSERT INTO pools ({','.join(columns)}) VALUES ({marks})"  # noqa: S608 - names of our own columns
    read = "SELECT game, pool FROM tournaments GROUP BY game, pool ORDER BY min(id)"
    pools = connection.exec_driver_sql(read)
    for game, name in pools.fetchall():
        connection.exec_driver_sql(write, (*typed(name), game, name))
    op.execute(
        "UPDATE tournaments SET pool_id = "
        "(SELECT pools.id FROM pools WHERE pools.game = tournaments.game AND pools.name = tournaments.pool)"
    )


def typed(name: str) -> tuple[str, int, int, int, int, int, str, str]:
    """Return mode, times in ms, moves, nodes, process and label; a name without a limit is a label."""
    found = POOL.match(name)
    limit = None if found is None else _limit(found)
    if found is None or limit is None:
        process = "in-process" if name == "training" else "hosted"
        return ("none", 0, 0, 0, 0, 0, process, name)
    row = (*limit, int(found["nodes"] or 0), found["process"], "")
    # A name that would be printed differently, such as 1:30 for 90 s, stays a label.
    return row if printed(*row[:7]) == name else ("none", 0, 0, 0, 0, 0, found["process"], name)


def _limit(found: re.Match[str]) -> tuple[str, int, int, int, int] | None:
    if found["move"] is not None and found["bank"] is not None:
        return ("bank", _ms(found["move"]), _ms(found["bank"]), 0, 0)
    if found["move"] is not None:
        return ("move", _ms(found["move"]), 0, 0, 0)
    if found["base"] is not None:
        return ("fischer", DAY_MS, _ms(found["base"]), _ms(found["inc"] or "0"), int(found["moves"] or 0))
    return None if found["nodes"] is None else ("move", WATCHDOG_MS, 0, 0, 0)


def printed(  # noqa: PLR0913, PLR0917 - the fields of a pool
    mode: str, move_ms: int, base_ms: int, inc_ms: int, moves: int, nodes: int, process: str
) -> str:
    """Return the name of a pool."""
    by_nodes = f"{nodes} nodes" if nodes else ""
    if mode == "fischer":
        time = f"{moves}/" * bool(moves) + _text(base_ms) + f"+{_text(inc_ms)}" * bool(inc_ms)
    elif mode == "bank":
        time = f"{_text(move_ms)}/move bank {_text(base_ms)}"
    else:
        time = "" if by_nodes and move_ms == WATCHDOG_MS else f"{_text(move_ms)}/move"
    return " ".join(part for part in (time, by_nodes, process) if part)


def _ms(text: str) -> int:
    minutes, _, seconds = text.rpartition(":")
    return int(minutes or 0) * 60_000 + round(float(seconds) * 1000)


def _text(time_ms: int) -> str:
    return f"{time_ms // 1000}.{time_ms % 1000:03}".rstrip("0").rstrip(".")


def _create_sums() -> None:
    op.create_table(
        "encounters",
        sa.Column("id", BIG, nullable=False),
        *(
            sa.Column(name, BIG, nullable=False)
            for name in ("pool_id", "tournament_id", "low", "high", *SUMS)
        ),
        sa.CheckConstraint("low <> high", name=op.f("ck_encounters_apart")),
        sa.ForeignKeyConstraint(["pool_id"], ["pools.id"], name=op.f("fk_encounters_pool_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_encounters")),
        sa.UniqueConstraint(
            *("pool_id", "tournament_id", "low", "high"),
            name=op.f("uq_encounters_pool_id_tournament_id_low_high"),
        ),
        **STRICT,
    )
    encounter = op.f("fk_clusters_encounter_id")
    op.create_table(
        "clusters",
        *(
            sa.Column(name, BIG, autoincrement=False, nullable=False)
            for name in ("opening_hash", "encounter_id")
        ),
        *(sa.Column(name, BIG, nullable=False) for name in CLUSTER),
        sa.ForeignKeyConstraint(["encounter_id"], ["encounters.id"], name=encounter),
        sa.PrimaryKeyConstraint("opening_hash", "encounter_id", name=op.f("pk_clusters")),
        **ROWLESS,
    )
    key = ("opening_hash", "encounter_id", "side", "moves_hash")
    op.create_table(
        "strays",
        *(
            sa.Column(name, sa.Integer() if name == "side" else BIG, autoincrement=False, nullable=False)
            for name in key
        ),
        sa.Column("times", BIG, nullable=False),
        sa.CheckConstraint("side IN (0, 1)", name=op.f("ck_strays_side_flag")),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_strays")),
        **ROWLESS,
    )
    op.create_table(
        "summing",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("next_match", BIG, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_summing_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summing")),
        **STRICT,
    )


def _count_unique() -> None:
    """Count the distinct matches of each tally, as revisions up to 0005 stored them."""
    with op.batch_alter_table("tallies", table_kwargs=ROWLESS) as batch:
        batch.add_column(sa.Column("num_unique", sa.Integer(), server_default=sa.text("0"), nullable=False))
    keys = ("first_seat", "second_seat", "outcome", "termination", "rated")
    same = " AND ".join(f"counted.{name} = tallies.{name}" for name in ("tournament_id", *keys))
    op.execute(f"UPDATE tallies SET num_unique = counted.num_unique FROM ({RECOUNT}) AS counted WHERE {same}")  # noqa: S608 - our own text
    with op.batch_alter_table("tallies", table_kwargs=ROWLESS) as batch:
        batch.alter_column("num_unique", existing_type=sa.Integer(), server_default=None)
        batch.create_check_constraint(
            op.f("ck_tallies_num_unique_range"), "num_unique BETWEEN 0 AND num_matches"
        )


def fingerprint(row: Any) -> int:  # noqa: ANN401 — a row of a query
    """Return the number by which revision 0003 recognises matches with equal seats, result and moves."""
    same = (row.tournament_id, row.first_seat, row.second_seat, row.outcome, row.rated)
    salt = int.from_bytes(sha256("/".join(map(str, same)).encode()).digest()[:8]) >> 1
    return salt ^ (int.from_bytes(row.match_hash[:8]) >> 1)


def _store_fingerprints() -> None:
    for page in _pages():
        keys = [(fingerprint(row),) for row in page]
        op.get_bind().exec_driver_sql("INSERT INTO fingerprints VALUES (?) ON CONFLICT DO NOTHING", keys)


def _pages() -> Iterator[list[Any]]:
    last = 0
    read = (
        "SELECT id, tournament_id, first_seat, second_seat, outcome, rated, match_hash FROM matches "
        "WHERE id > ? ORDER BY id LIMIT ?"
    )
    while page := list(op.get_bind().exec_driver_sql(read, (last, PAGE))):
        yield page
        last = page[-1].id
