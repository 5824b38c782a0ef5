"""A kill at any step of moving matches to files loses nothing, and damage to the files is found."""

from __future__ import annotations

import shutil
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from arena_db import freezing
from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine
from arena_db.checking import find_faults
from arena_db.cold import archive, parquet
from arena_db.cold_tables import cold_ends, cold_tournaments, pruned_tournaments
from arena_db.errors import DamagedError, RefusedError
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.store import Store
from cold_cups import WHO, cup_of, seen, tables
from stores import tamper

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Killed(BaseException):
    """Ends a call as a kill would."""


STEPS: tuple[tuple[object, str, int], ...] = (
    (archive, "write_rows", 1),
    (archive, "write_rows", 3),
    (freezing, "_compare", 1),
    (archive, "check_files", 1),
    (freezing, "sync_folder", 1),
    (archive, "read_manifest", 2),
    (freezing, "_require_ended", 2),
    (freezing, "_refer", 1),
    (freezing, "add_change", 1),
    (freezing, "_remove", 1),
    (freezing, "Frozen", 1),
)
"""Functions that are called in this order, and the number of the call before which the process is killed."""


def _leave(*_: object, **__: object) -> None:
    """Remove nothing."""


@pytest.mark.sqlite("the store is a file that others merge or open")
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]}-{step[2]}")
def test_killed_at_each_step(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[object, str, int]
) -> None:
    module, name, nth = step
    cup = cup_of(store, "round-robin", 4)
    before, folder = seen(store, cup), path.with_name("cold")
    called: list[str] = []
    real: Callable[..., Any] = getattr(module, name)

    def killed(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - any call
        called.append(name)
        if len(called) == nth:
            raise Killed
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, killed)
        # A killed process leaves its files.
        patch.setattr(shutil, "rmtree", _leave)
        with pytest.raises(Killed):
            store.cold.freeze(cup.record.id, folder, who=WHO)
    with Store.open(path) as again:
        assert (seen(again, cup), again.integrity.check()) == (before, [])
        assert bool(again.cold.tournaments()) == (name == "Frozen")
        again.cold.freeze(cup.record.id, folder, who=WHO)
        assert (len(again.cold.tournaments()), seen(again, cup), again.integrity.check()) == (1, before, [])
        # The folder of the killed call was completed, not written a second time.
        assert len([file for file in folder.iterdir() if not file.name.startswith(".")]) == 1


@pytest.mark.parametrize("step", ["insert_rows", "add_change"])
def test_killed_while_matches_come_back(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    cup = cup_of(store, "round-robin", 4)
    before = seen(store, cup)
    store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(freezing, step, killed)
        with pytest.raises(Killed):
            store.cold.thaw(cup.record.id, who=WHO)
    assert (len(store.cold.tournaments()), seen(store, cup), store.integrity.check()) == (1, before, [])


@pytest.mark.sqlite("the store is a file that others merge or open")
def test_damaged_and_missing_files(store: Store, path: Path) -> None:
    cup, other = cup_of(store, "round-robin"), cup_of(store, "swiss")
    table, others = tables(store, cup), seen(store, other)
    found = store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO)
    assert found is not None
    files = sorted(found.folder.iterdir())
    assert len(files) == 5
    for file in files:
        content = file.read_bytes()
        for damaged in (None, content[: len(content) // 2] + b"!" + content[len(content) // 2 + 1 :]):
            file.unlink(missing_ok=True)
            if damaged is not None:
                file.write_bytes(damaged)
            with Store.open(path, read_only=True) as viewer:
                (fault,) = viewer.integrity.check()
                assert cup.record.name in fault
                assert str(file) in fault
                with suppress(DamagedError):
                    # Only some queries need this file, and an answer, if there is one, is right.
                    assert len(list(viewer.matches.of_tournament(cup.record.id))) == 9
                assert tables(viewer, cup) == table
            with pytest.raises(DamagedError, match=r"put back a copy of the folder .*cold"):
                store.cold.thaw(cup.record.id, who=WHO)
        file.write_bytes(content)
    assert store.integrity.check() == []
    shutil.rmtree(found.folder)
    assert seen(store, other) == others
    with pytest.raises(DamagedError, match=f"archived matches of {cup.record.name} .*is missing"):
        Store.open(path).matches.find_attempt(cup.record.id, 1)


def test_a_tournament_that_has_not_ended_stays(store: Store, tmp_path: Path) -> None:
    cup = cup_of(store, "round-robin", 4)
    store.tournaments.set_state(cup.record.id, "stopped")
    before = seen(store, cup)
    with pytest.raises(RefusedError, match="is stopped, and only matches of finished tournaments"):
        store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    assert seen(store, cup) == before
    assert not (tmp_path / "cold").exists()


def test_files_that_lack_a_row_replace_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files agree with their manifest, so only a comparison with the store finds the missing row."""
    cup = cup_of(store, "round-robin", 4)
    before, write = seen(store, cup), archive.write

    def write_less(part: Path, rows_of: Any, told: Any) -> None:  # noqa: ANN401 - passed on
        write(part, lambda table: islice(rows_of(table), 1, None), told)

    monkeypatch.setattr(archive, "write", write_less)
    with pytest.raises(DamagedError, match=r"differs from the store; nothing was removed"):
        store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    assert seen(store, cup) == before
    assert list((tmp_path / "cold").iterdir()) == []


def test_a_row_that_was_forged_is_found_by_its_hash(store: Store, tmp_path: Path) -> None:
    cup = cup_of(store, "round-robin", 4)
    found = store.cold.freeze(cup.record.id, tmp_path / "cold", who=WHO)
    assert found is not None
    file = archive.file_of(found.folder, archive.TABLES[1])
    changed = [(*row[:7], row[6], *row[8:]) for row in parquet.read_rows(file, archive.TABLES[1])]
    parquet.write_rows(file, archive.TABLES[1], changed)
    assert "is not as it was written" in store.integrity.check()[0]
    with pytest.raises(DamagedError, match="does not hold the rows that were written"):
        store.matches.find_attempt(cup.record.id, 1)


@pytest.mark.sqlite("the store is a file that others merge or open")
def test_a_tournament_that_changes_meanwhile_stays(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup = cup_of(store, "round-robin", 4)
    real: Callable[..., Path] = getattr(freezing, "_written")  # noqa: B009 - private

    def late(*arguments: Any) -> Path:  # noqa: ANN401 - passed on
        found = real(*arguments)
        with Store.open(path) as other:
            plies = (JudgedPly(),) * 4
            other.analyses.add(
                JudgedMatch(match=store.matches.last_id(1), name="n", plies=plies, made_at=1.0)
            )
        return found

    with monkeypatch.context() as patch:
        patch.setattr(freezing, "_written", late)
        with pytest.raises(RefusedError, match="changed while"):
            store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO)
    assert store.cold.tournaments() == []
    assert store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO) is not None
    assert store.integrity.check() == []


@pytest.mark.sqlite("rows of the file are edited")
def test_a_damaged_match_is_not_moved(store: Store, path: Path) -> None:
    cup = cup_of(store, "round-robin", 4)
    tamper(store.place, "UPDATE matches SET reason = 'another' WHERE number = 3")
    with pytest.raises(DamagedError, match="is not as it was stored"):
        store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO)
    assert list(path.with_name("cold").iterdir()) == []


EDITS = {
    "cold_tournaments.folder": "folder || 'x'",
    "cold_tournaments.manifest_hash": "zeroblob(32)",
    "cold_ends.ended_at": "ended_at + 0.5",
    "cold_tournaments.frozen_at": "frozen_at + 1",
    "pruned_tournaments.pruned_at": "pruned_at + 1",
}
"""New values of some columns; any other column gets the next number."""
HARMLESS = {"cold_tournaments.frozen_at", "pruned_tournaments.pruned_at"}
"""Times on which nothing depends."""


@pytest.mark.sqlite("rows of the file are edited")
def test_edits_of_the_tables_about_files(store: Store, path: Path) -> None:
    cup = cup_of(store, "round-robin", 4)
    cup_of(store, "round-robin", 4)
    store.cold.freeze(cup.record.id, path.with_name("cold"), who=WHO)
    store.close()
    silent: set[str] = set()
    with make_migration_engine(FileSettings(place=path)).connect() as connection:
        assert find_faults(connection, quick=False) == []
        connection.rollback()
        for table in (cold_tournaments, cold_ends, pruned_tournaments):
            for column in table.c:
                name = f"{table.name}.{column.name}"
                value = EDITS.get(name, f"{column.name} + 1")
                connection.exec_driver_sql(f"UPDATE {table.name} SET {column.name} = {value}")  # noqa: S608
                if not find_faults(connection, quick=False):
                    silent.add(name)
                connection.rollback()
            connection.exec_driver_sql(f"DELETE FROM {table.name}")  # noqa: S608
            assert find_faults(connection, quick=False) != []
            connection.rollback()
    assert silent == HARMLESS
