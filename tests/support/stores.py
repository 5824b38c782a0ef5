"""Small stores for tests: bots, a tournament with a plan, records of its matches."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import NullPool, create_engine

from arena_db import seals
from arena_db.backend.places import find_place
from arena_db.pools import PoolRecord
from arena_db.records import BotRecord, Entrant, MatchRecord, NewTournament, PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Generator

    from sqlalchemy import Connection

    from arena_db.backend.places import Place
    from arena_db.pools import Process
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

START = 1_750_000_000.0


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hex."""
    return sha256(text.encode()).hexdigest()


def bot(name: str, **changes: str) -> BotRecord:
    """Return a bot, identified by its spec."""
    spec = changes.get("spec", f"{name}:playouts=100")
    return replace(
        BotRecord(
            identity=digest(spec), name=name, spec=spec, distribution="bot-arena", version="0.1.0", files="{}"
        ),
        **changes,
    )


def entrants(*names: str) -> list[Entrant]:
    """Return entrants by seat, labelled as they are named; `a/b` is bot a under the label b."""
    parts = [name.partition("/") for name in names]
    return [
        Entrant(seat=seat, label=label or name, bot=bot(name), limit="")
        for seat, (name, _, label) in enumerate(parts)
    ]


def pool(name: str) -> PoolRecord:
    """Return the pool of a name: `5/move hosted` is 5 s a move, hosted; any other text is a label."""
    limit, _, process = name.rpartition("/move ")
    if process not in {"hosted", "in-process"}:
        return PoolRecord(label=name)
    return PoolRecord(mode="move", move_ms=round(1000 * float(limit)), process=cast("Process", process))


def new_tournament(**changes: object) -> NewTournament:
    """Return a tournament of Connect Four, not stored yet."""
    plain = NewTournament(
        name="",
        type="round-robin",
        game="connect-four",
        num_actions=7,
        pool=pool("5/move hosted"),
        seed=42,
        config='type = "round-robin"\n',
        event="",
        site="",
    )
    return replace(plain, **cast("dict[str, Any]", changes))


def plan(num_seats: int, num: int, start: int = 0) -> list[PlannedMatch]:
    """Return `num` planned matches between neighbouring seats, sides swapped in turn."""
    found: list[PlannedMatch] = []
    for index in range(start, start + num):
        match_no, encounter = divmod(index, num_seats if num_seats > 2 else 1)
        seats = (encounter, (encounter + 1) % num_seats)
        first, second = seats if match_no % 2 == 0 else seats[::-1]
        found.append(
            PlannedMatch(
                number=index + 1,
                encounter=encounter,
                match_no=match_no,
                first=first,
                second=second,
                opening=(3, 2),
            )
        )
    return found


@dataclass(frozen=True)
class Cup:
    """A stored tournament and the parts from which it was made."""

    record: TournamentRecord
    entrants: list[Entrant]
    plan: list[PlannedMatch]

    def match(self, number: int, **changes: object) -> MatchRecord:
        """Return the record of a planned match, won by the first bot unless changed."""
        planned = self.plan[number - 1]
        plain = MatchRecord(
            tournament=self.record.id,
            number=number,
            attempt=0,
            first=self.entrants[planned.first].bot.identity,
            second=self.entrants[planned.second].bot.identity,
            outcome="first",
            termination="rules",
            reason="X wins by four in a row",
            rated=True,
            is_final=True,
            actions=(3, 2, 3, number % 7),
            num_opening=2,
            times_ms=(0, 0, 12, 70_000),
            values=(None, None, 0.5, None),
            match_hash=digest(f"3 2 3 {number % 7}"),
            seed_first=2 * number,
            seed_second=2 * number + 1,
            started_at=START + number,
            duration_ms=70_012,
            tier="T2",
            fault="",
            versions='{"arena": "0.1.0"}',
        )
        return replace(plain, **cast("dict[str, Any]", changes))

    def void(self, number: int, attempt: int = 0) -> MatchRecord:
        """Return a void attempt at a planned match, to be played again."""
        return self.match(
            number, attempt=attempt, outcome="void", termination="aborted", rated=False, is_final=False
        )


def add_cup(store: Store, *names: str, num: int = 12, **changes: object) -> Cup:
    """Store a tournament of these bots (`a`, `b`, `c` by default) with `num` planned matches."""
    seats = entrants(*(names or ("a", "b", "c")))
    matches = plan(len(seats), num)
    return Cup(store.tournaments.add(new_tournament(**changes), seats, matches), seats, matches)


def tamper(place: str | Place, *statements: str) -> None:
    """Change a store without its safeguards: in a file without checks, on a server without references.

    Args:
        place: place of the store.
        statements: for both databases; a blob is written as `x'00ff'`.
    """
    with _unguarded(place) as raw:
        for statement in statements:
            raw.execute(_translated(raw, statement))


def rows(place: str | Place, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, read without the store's own code."""
    with _unguarded(place) as raw:
        return raw.execute(_translated(raw, query)).fetchall()


@contextmanager
def locked(place: str | Place) -> Generator[Any]:
    """Hold the write lock of a store as another process does; yield the driver's connection, uncommitted."""
    with _unguarded(place) as raw:
        if _is_server(raw):
            from arena_db.backend.postgres import LOCK

            raw.execute("BEGIN")
            raw.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
        else:
            raw.execute("BEGIN IMMEDIATE")
        yield raw
        if _is_server(raw) or raw.in_transaction:
            raw.execute("ROLLBACK")


@contextmanager
def editing(place: str | Place) -> Generator[Connection]:
    """Yield a connection that does not check references, in a transaction that is rolled back."""
    from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine

    found = find_place(place)
    if isinstance(found, Path):
        engine = make_migration_engine(FileSettings(place=found))
    else:
        from arena_db.backend.postgres import connect

        engine = create_engine("postgresql+psycopg://", creator=lambda: connect(found), poolclass=NullPool)
    with engine.connect() as connection:
        if connection.dialect.name != "sqlite":
            connection.exec_driver_sql("SET session_replication_role = replica")
            connection.commit()
        yield connection
        connection.rollback()
    engine.dispose()


@contextmanager
def _unguarded(place: str | Place) -> Generator[Any]:
    """Yield a driver's connection that commits each statement and does not check what it writes."""
    found = find_place(place)
    raw: Any
    if isinstance(found, Path):
        from arena_db.backend.sqlite.engine import FileSettings, open_raw

        raw = open_raw(FileSettings(place=found), foreign_keys=False)
        raw.execute("PRAGMA ignore_check_constraints=1")
    else:
        from arena_db.backend.postgres import connect

        raw = connect(found)
        raw.autocommit = True
        raw.execute("SET session_replication_role = replica")
    with closing(raw):
        yield raw


def _is_server(raw: Any) -> bool:  # noqa: ANN401 - a connection of either driver
    return type(raw).__module__.startswith("psycopg")


def _translated(raw: Any, statement: str) -> str:  # noqa: ANN401 - see above
    return re.sub(r"\bx'([0-9a-f]*)'", r"'\\x\1'::bytea", statement) if _is_server(raw) else statement


def seal_anew(store: Store, tournament: int = 1) -> None:
    """Seal a tournament as it is now, so that a change made by `tamper` seems original."""
    with store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - nothing else does this
        seals.seal_anew(connection, tournament)


def break_index(path: Path) -> None:
    """Corrupt an index of a store with matches: its order differs from the schema's."""
    right, wrong = "tournament_id, number", "number, tournament_id"
    change = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = 'uq_matches_final'"
    # The index is rebuilt under another definition, by a connection that has read no other, and then given
    # its own back: the schema is as it should be, the pages are not.
    tamper(path, "PRAGMA writable_schema=1", change.format(right, wrong))
    tamper(path, "REINDEX uq_matches_final")
    tamper(path, "PRAGMA writable_schema=1", change.format(wrong, right))


def blank_table(path: Path, table: str) -> None:
    """Overwrite the only page of a table of a closed store with an empty one; its indexes stay whole."""
    tamper(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    with closing(sqlite3.connect(path)) as raw:
        (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    start: int = (root - 1) * size
    # A leaf of its kind without cells: https://www.sqlite.org/fileformat.html#b_tree_pages
    assert content[start] in {0x0A, 0x0D}, "the table has more than one page"
    empty = content[start : start + 1] + bytes(4) + (size % 65536).to_bytes(2, "big") + bytes(1)
    content[start : start + size] = empty + bytes(size - len(empty))
    path.write_bytes(content)


def downgrade(path: Path, revision: str) -> None:
    """Downgrade the schema of a closed store to an earlier revision."""
    from alembic import command
    from alembic.config import Config

    from arena_db import migrate
    from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine, writing

    settings = FileSettings(place=path)
    config = Config()
    config.set_main_option("script_location", str(migrate.script_location()))
    with writing(make_migration_engine(settings), settings) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
