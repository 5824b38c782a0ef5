"""The migrations create the tables of the models, and upgrade older stores without losing a row."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from arena_db import migrate, models
from arena_db.backend import postgres, revisions
from arena_db.backend.sqlite import opening
from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine, open_raw, writing
from arena_db.errors import DamagedError, OlderError, UnsupportedError
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_plugins.contract import Outcome, Termination
from source_tree import ROOT
from stores import add_cup, rows

if TYPE_CHECKING:
    from collections.abc import Callable

REVISIONS = migrate.known_revisions()
NEXT = '''
"""A change that a later version could make."""
import sqlalchemy as sa
from alembic import op
revision = "next"
down_revision = {head!r}
def upgrade():
    with op.batch_alter_table("tournaments") as batch:
        batch.add_column(sa.Column("note", sa.Text(), nullable=False, server_default=""))
    {more}
'''


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that adds a revision, as a later version would."""

    def add(more: str = "") -> None:
        folder = tmp_path / "100% migrations"
        shutil.copytree(migrate.script_location(), folder)
        (folder / "versions" / "next.py").write_text(NEXT.format(head=models.REVISION, more=more))
        monkeypatch.setattr(migrate, "script_location", lambda: folder)
        for module in (opening, postgres, revisions):
            monkeypatch.setattr(module, "REVISION", "next")

    return add


def statements(path: Path) -> dict[str, list[str]]:
    """Return the statement that made each table and index of a store, with its columns in order."""
    with closing(open_raw(FileSettings(place=path))) as raw:
        found = raw.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        columns = {name: raw.execute(f"PRAGMA table_info({name})").fetchall() for name, _ in found}
    return {
        # A table that a migration changed has a quoted name, and a column added later is on no line of its
        # own.
        name: [
            *map(str, columns[name]),
            *sorted(part.strip().replace('"', "") for part in re.split(r"[,\n]", sql) if part.strip()),
        ]
        for name, sql in found
    }


@pytest.mark.sqlite("the text of its schema is compared")
def test_migrations_make_the_tables_of_the_models(store: Store, path: Path) -> None:
    settings = FileSettings(place=path.with_name("migrated.db"))
    with writing(make_migration_engine(settings), settings) as connection:
        migrate.upgrade(connection)
    assert statements(settings.place) == statements(store.path)


@pytest.mark.filterwarnings("ignore:.*expression-based index")
def test_nothing_is_left_to_migrate(store: Store) -> None:
    def is_comparable(_: object, name: str | None, *others: object) -> bool:
        # Alembic cannot compare indexes on expressions, which each database writes differently.
        del others
        return name != "ix_matches_duration_class"

    with store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - to look at it
        context = MigrationContext.configure(connection, opts={"include_object": is_comparable})
        assert compare_metadata(context, models.metadata) == []


def test_the_head_is_the_revision_of_the_models() -> None:
    assert REVISIONS[-1] == models.REVISION
    assert ScriptDirectory(str(migrate.script_location())).get_heads() == [models.REVISION]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.sqlite("revisions before 0015 exist only in files")
def test_from_every_revision(of_revision: dict[str, Path], path: Path, revision: str) -> None:
    shutil.copy(of_revision[revision], path)
    with Store.open(path) as store:
        cup = add_cup(store)
        assert store.matches.save([cup.match(1), cup.match(2)]) == 2
        assert store.integrity.check() == []


@pytest.mark.sqlite("revisions before 0015 exist only in files")
def test_down_and_up_again(path: Path) -> None:
    Store.open(path).close()
    before = statements(path)
    config = Config()
    config.set_main_option("script_location", str(migrate.script_location()))
    settings = FileSettings(place=path)
    with writing(make_migration_engine(settings), settings) as connection:
        config.attributes["connection"] = connection
        from alembic import command

        command.downgrade(config, "base")
    assert list(statements(path)) == ["alembic_version"]
    with writing(make_migration_engine(settings), settings) as connection:
        migrate.upgrade(connection)
    assert statements(path) == before


def test_an_older_store_is_upgraded(store: Store, next_version: Callable[[], None]) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2)])
    store.close()
    next_version()
    with pytest.raises(OlderError, match="arena db upgrade"):
        Store.open(store.place, read_only=True)
    with Store.open(store.place) as upgraded:
        assert [match.number for match in upgraded.matches.newest(MatchFilter())] == [2, 1]
        assert upgraded.tournaments.entrants(1) == cup.entrants
    assert rows(store.place, "SELECT note FROM tournaments") == [("",)]
    with Store.open(store.place) as again:
        assert len(again.matches.newest(MatchFilter())) == 2
    if isinstance(store.place, Path):
        (backup,) = store.path.parent.glob("arena.db.*.bak")
        assert "note" not in str(statements(backup)["tournaments"])


@pytest.mark.parametrize(
    "more", ['op.execute("DELETE FROM matches")', 'op.execute("UPDATE planned SET tournament_id = 9")']
)
def test_an_upgrade_that_would_lose_rows(
    store: Store, next_version: Callable[[str], None], more: str
) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    store.close()
    next_version(more)
    with pytest.raises(DamagedError, match="stays as it was"):
        Store.open(store.place)
    assert rows(store.place, "SELECT version_num FROM alembic_version") == [(models.REVISION,)]
    assert rows(store.place, "SELECT id FROM matches") == [(1,)]
    assert len(rows(store.place, "SELECT number FROM planned WHERE tournament_id = 1")) == 12


@pytest.mark.sqlite("the bytes of a file")
def test_another_process_was_faster(path: Path) -> None:
    Store.open(path).close()
    before = path.read_bytes()
    opening._make_tables(FileSettings(place=path))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] — after the look of the other
    assert path.read_bytes() == before


def test_where_migrations_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert migrate.script_location() == ROOT / "alembic"
    package = tmp_path / "site-packages" / "arena_db"
    (package / "migrations").mkdir(parents=True)
    monkeypatch.setattr(migrate, "__file__", str(package / "migrate.py"))
    with pytest.raises(UnsupportedError, match="install bot-arena again"):
        migrate.script_location()
    (package / "migrations" / "env.py").touch()
    assert migrate.script_location() == package / "migrations"


@pytest.mark.sqlite("developers try migrations on files")
def test_developers_run_alembic_itself(path: Path) -> None:
    command = [sys.executable, "-m", "alembic", "-x", f"db={path}"]
    for arguments in (["upgrade", "head"], ["check"]):
        done = subprocess.run(  # noqa: S603 — alembic
            [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
    assert "No new upgrade operations detected" in done.stdout


def test_names_are_those_of_the_contract() -> None:
    assert set(models.OUTCOMES) == set(Outcome)
    assert set(models.TERMINATIONS) == set(Termination)
    assert len(models.TERMINATIONS) == len(Termination)


def test_tables_fit_postgresql() -> None:
    dialect = postgresql.dialect()
    for table in models.metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            made = str(CreateIndex(index).compile(dialect=dialect))
            assert "INDEX" in made
            assert ("WHERE" in made) == (index.dialect_options["sqlite"]["where"] is not None)


def test_every_check_has_a_name_that_fits_everywhere() -> None:
    engine = create_engine("sqlite://")
    for table in models.metadata.sorted_tables:
        for constraint in table.constraints:
            name = engine.dialect.identifier_preparer.format_constraint(constraint)
            assert name is not None
            assert len(name) <= 63, "the longest name PostgreSQL keeps"
