"""A store with a foreign schema is refused by name, and nothing of that schema is executed or restored."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from alembic.config import Config
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_db import migrate
from arena_db.backend.sqlite import schema
from arena_db.backend.sqlite.engine import FileSettings, find_driver, make_migration_engine, open_raw, writing
from arena_db.errors import AlteredError, DamagedError
from arena_db.models import REVISION
from arena_db.store import Store
from stores import add_cup, tamper

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sqlite("the schema of a file is text, which SQLite runs")

REVISIONS = migrate.known_revisions()
FIRST = Path(__file__).with_name("store-0001.sql")
"""A store as the first version wrote it."""

CODE = {
    "trigger": (
        "CREATE TRIGGER evil AFTER INSERT ON matches BEGIN DELETE FROM tallies; END",
        "the trigger evil",
    ),
    "view": ("CREATE VIEW evil AS SELECT 1", "the view evil"),
    "virtual table": ("CREATE VIRTUAL TABLE evil USING fts5(a)", "the table evil"),
    "generated column": ("CREATE TABLE evil (a, b AS (abs(a)) VIRTUAL)", "the table evil"),
}
OTHERS = {
    "table": ("CREATE TABLE notes (a TEXT)", "the table notes is not one of arena's"),
    "temporary name": ("CREATE TABLE sqlitx_stat1 (a)", "the table sqlitx_stat1 is not one of arena's"),
    "index": ("CREATE INDEX fast ON matches (reason)", "the index fast is not one of arena's"),
    "no index": ("DROP INDEX uq_matches_final", "the index uq_matches_final is missing"),
    "no table": ("DROP TABLE analyses", "the table analyses is missing"),
    "column": (
        "ALTER TABLE bots ADD COLUMN note TEXT",
        "the table bots differs from arena's: it has note",
    ),
}
REWRITTEN = {
    "other CHECK": (
        "'resign'",
        "abs(1)",
        "the table matches differs from arena's: it has CONSTRAINT ck_matches",
    ),
    "no CHECK": ("CHECK (rated IN (0, 1))", "CHECK (1)", "ck_matches_rated_flag"),
    "other type": ("reason TEXT NOT NULL", "reason TEXT", "it has reason TEXT"),
    "default": ("reason TEXT NOT NULL", "reason TEXT NOT NULL DEFAULT (random())", "it has reason TEXT"),
    "order": ("tier TEXT NOT NULL, \n\tfault TEXT", "fault TEXT NOT NULL, \n\ttier TEXT", "another order"),
    "comment": ("reason TEXT NOT NULL", "reason TEXT NOT NULL /* hidden */", "it has reason TEXT"),
    "not strict": (")\n STRICT", ")", "it lacks STRICT"),
    "name as text": ("termination = 'rules'", 'termination = "rules"', "ck_matches_termination_known"),
}


@pytest.fixture(scope="module")
def filled_once(module_place: str) -> Path:
    """Return the path of a closed store with two matches, which no test changes."""
    with Store.open(module_place, fast=True) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1), cup.match(2)])
    return store.path


@pytest.fixture
def filled(filled_once: Path, path: Path) -> Path:
    """Return the path of a closed store with two matches."""
    shutil.copy(filled_once, path)
    return path


def rewrite(path: Path, before: str, after: str) -> None:
    """Change the SQL text of the table of matches, as a file editor could."""
    with closing(find_driver().module.connect(path)) as raw:
        raw.execute("PRAGMA writable_schema=1")
        update = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'matches'"
        (sql,) = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'matches'").fetchone()
        assert before in sql
        raw.execute(update, (before, after))
        raw.commit()


def at_revision(path: Path, revision: str, move: Callable[[Config, str], None] | None = None) -> None:
    """Migrate a store to a revision, up unless `move` is given."""
    where = FileSettings(place=path)
    with writing(make_migration_engine(where), where) as connection:
        if move is None:
            migrate.upgrade(connection, revision)
        else:
            config = Config()
            config.set_main_option("script_location", str(migrate.script_location()))
            config.attributes["connection"] = connection
            move(config, revision)


def differences(path: Path, revision: str) -> list[str]:
    with closing(open_raw(FileSettings(place=path, read_only=True))) as raw:
        return schema.find_differences(raw, revision)


def nothing_is_restored(backup: Path, folder: Path, text: str) -> None:
    target = folder / "place" / "arena.db"
    target.parent.mkdir()
    with Store.open(target) as store:
        add_cup(store)
    before = {file.name: file.read_bytes() for file in target.parent.iterdir()}
    with pytest.raises(AlteredError, match=re.escape(text)) as caught:
        Store.restore(backup, target)
    assert str(backup) in str(caught.value)
    assert {file.name: file.read_bytes() for file in target.parent.iterdir()} == before


@pytest.mark.parametrize(("statement", "text"), CODE.values(), ids=CODE)
def test_every_open_refuses_code(filled: Path, tmp_path: Path, statement: str, text: str) -> None:
    tamper(filled, statement)
    for read_only in (True, False):
        with pytest.raises(AlteredError, match=text):
            Store.open(filled, read_only=read_only)
    nothing_is_restored(filled, tmp_path, text)


def test_a_view_in_the_place_of_a_table_is_not_read(filled: Path) -> None:
    loop = (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT max(n) AS version_num FROM x"
    )
    tamper(filled, "DROP TABLE alembic_version", f"CREATE VIEW alembic_version AS {loop}")
    with pytest.raises(AlteredError, match="the view alembic_version"):
        Store.open(filled, read_only=True)


@pytest.mark.parametrize("hide", ["type = 'table'", "sql = 'create  trigger' || substr(sql, 15)"])
def test_code_under_a_false_type(filled: Path, hide: str) -> None:
    tamper(filled, CODE["trigger"][0])
    with closing(find_driver().module.connect(filled)) as raw:
        raw.execute("PRAGMA writable_schema=1")
        raw.execute(f"UPDATE sqlite_master SET {hide} WHERE name = 'evil'")  # noqa: S608 - no input
        raw.commit()
    # Newer versions of SQLite refuse such a schema by themselves.
    with pytest.raises((AlteredError, DamagedError), match="evil"):
        Store.open(filled, read_only=True)


@pytest.mark.parametrize(("statement", "text"), OTHERS.values(), ids=OTHERS)
def test_other_objects(filled: Path, tmp_path: Path, statement: str, text: str) -> None:
    tamper(filled, statement)
    with Store.open(filled, read_only=True) as store:
        for quick in (True, False):
            assert any(text in fault for fault in store.integrity.check(quick=quick))
    nothing_is_restored(filled, tmp_path, text)


@pytest.mark.parametrize(("before", "after", "text"), REWRITTEN.values(), ids=REWRITTEN)
def test_other_rules(filled: Path, tmp_path: Path, before: str, after: str, text: str) -> None:
    rewrite(filled, before, after)
    with Store.open(filled, read_only=True) as store:
        (fault,) = store.integrity.check()
        assert text in fault
        assert store.integrity.check(quick=True) == [fault]
    nothing_is_restored(filled, tmp_path, text)


def test_a_store_that_code_was_put_into_stays_in_its_place(filled: Path, tmp_path: Path) -> None:
    backup = tmp_path / "kept.db"
    with Store.open(filled) as store:
        store.backup(backup)
    tamper(filled, CODE["trigger"][0])
    before = filled.read_bytes()
    with pytest.raises(AlteredError, match="move it away first"):
        Store.restore(backup, filled)
    assert filled.read_bytes() == before
    assert list(filled.parent.glob("*.old")) == []


def test_what_sqlite_makes_by_itself_is_no_fault(filled: Path) -> None:
    tamper(filled, "ANALYZE")
    assert differences(filled, REVISION) == []
    with Store.open(filled, read_only=True) as store:
        assert store.integrity.check() == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_revision_is_known(of_revision: dict[str, Path], revision: str) -> None:
    """That each revision is upgraded to the newest schema is tested by `test_from_every_revision`."""
    path = of_revision[revision]
    assert differences(path, revision) == []
    other = REVISIONS[REVISIONS.index(revision) - 1]
    assert other == revision or differences(path, other) != []


def test_a_store_of_the_first_version(path: Path, tmp_path: Path) -> None:
    with closing(find_driver().module.connect(path)) as raw:
        raw.executescript(FIRST.read_text(encoding="utf-8"))
    assert differences(path, "0001") == []
    assert Store.restore(path, tmp_path / "restored.db") is None
    for revision in REVISIONS[1:]:
        at_revision(path, revision)
        assert differences(path, revision) == []
    for revision in REVISIONS[-2::-1]:
        at_revision(path, revision, command.downgrade)
        assert differences(path, revision) == []


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_an_older_backup_with_another_rule(
    of_revision: dict[str, Path], path: Path, tmp_path: Path, revision: str
) -> None:
    shutil.copy(of_revision[revision], path)
    rewrite(path, "CHECK (rated IN (0, 1))", "CHECK (rated IN (0, 2))")
    nothing_is_restored(path, tmp_path, "ck_matches_rated_flag")


def test_a_huge_schema_is_read_in_part(filled: Path) -> None:
    with closing(find_driver().module.connect(filled)) as raw:
        for number in range(1100):
            raw.execute(f"CREATE TABLE t{number} (a)")
        raw.execute(f"CREATE TABLE {'n' * 200_000} (a)")
        raw.commit()
    found = differences(filled, REVISION)
    assert 900 < len(found) <= 1000
    assert max(map(len, found)) < 400


NAMES = st.sampled_from(["a", "b", "rated", "'x, (y'", '"q,("', "CHECK", "(", ")", ","])


@settings(derandomize=True, deadline=None)
@given(st.lists(NAMES, max_size=12), st.sampled_from(["\n", "  ", "\t\n "]))
def test_blanks_alone_make_no_difference(words: list[str], blank: str) -> None:
    assert shape(" ".join(words)) == shape(blank.join(words))


def shape(body: str) -> Any:  # noqa: ANN401 - compared alone
    return schema._shape("t", f"CREATE TABLE t ({body}) STRICT", "table")  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its texts are compared


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("a INTEGER, b TEXT, CHECK (a > 1)", 'a INTEGER, "b" TEXT, CHECK ( a>1 )', True),
        ("a INTEGER, UNIQUE (a), CHECK (a > 1)", "a INTEGER, CHECK (a > 1), UNIQUE (a)", True),
        ("a, b", "b, a", False),
        ("a, CHECK (a IN ('x', 'y'))", "a, CHECK (a IN ('y', 'x'))", False),
        ("a, CHECK (a = 'x y')", "a, CHECK (a = 'x  y')", False),
        ("a, CHECK (a = 'x')", 'a, CHECK (a = "x")', False),
        ("a INTEGER NOT NULL", 'a INTEGER "NOT" NULL', False),
        ("a INTEGER", "a INTEGER -- b", False),
        ("a, CHECK (a) ,CHECK (a)", "a, CHECK (a)", False),
    ],
)
def test_what_means_the_same(one: str, other: str, *, is_same: bool) -> None:
    assert (shape(one) == shape(other)) == is_same
