"""Sums of older stores: an upgrade counts all matches, wherever it is interrupted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena_db import migrate, resumming
from arena_db.backend.sqlite import opening
from arena_db.backend.sqlite.engine import FileSettings, find_driver, open_raw
from arena_db.backend.sqlite.schema import find_differences
from arena_db.errors import DamagedError, OlderError
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, digest, downgrade, pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sqlalchemy import Connection

    from arena_db.sums import EncounterSums

pytestmark = pytest.mark.sqlite("revisions before 0015 exist only in files")

ALL = MatchFilter(rated_only=False)
REVISIONS = migrate.known_revisions()
KILLED = """
import os, sys
from arena_db import resumming
from arena_db.store import Store
left = int(sys.argv[2])
resumming.BATCH = 3
update = resumming.update
def counted(*arguments):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
    return update(*arguments)
resumming.update = counted
Store.open(sys.argv[1])
"""


def fill(store: Store) -> None:
    """Store three tournaments in two pools, with a replay, lone matches, void and unrated ones."""
    for name in ("5/move hosted", "5/move hosted", "blitz"):
        cup = add_cup(store, "a", "b", "c", num=30, pool=pool(name))
        store.matches.save(
            [cup.void(4), cup.match(5, rated=False), cup.match(6, outcome="draw", actions=(3,) * 4)]
        )
        store.matches.save(
            [
                cup.match(number, outcome=("first", "second")[number % 2], attempt=int(number == 4))
                for number in range(1, 24)
                if number not in {5, 6, 9}
            ]
        )
    twins = add_cup(store, "a", "a/a_2", num=8, num_actions=300, game="gomoku")
    store.matches.save([twins.match(number, match_hash=digest(str(number))) for number in range(1, 8)])


def told(path: Path) -> tuple[Sequence[object], ...]:
    """Return everything that an upgrade must not change; the check verifies the rest."""
    with Store.open(path) as store:
        assert store.integrity.check() == []
        kept: list[list[EncounterSums]] = [store.sums.of_pools()]
        kept += [store.sums.of_tournament(record.id) for record in store.tournaments.newest()]
        # Columns that revisions before 0009 lack get a random value, or that of the first plans.
        tournaments = [replace(record, uid="", plan_version=1) for record in store.tournaments.newest()]
        return store.matches.newest(ALL), store.sums.tallies(ALL), kept, tournaments


@dataclass(frozen=True)
class Season:
    """A filled store per revision, each made from the next one by its migration; and the newest content."""

    folder: Path
    told: tuple[Sequence[object], ...]

    def at(self, revision: str) -> Path:
        """Return the store of a revision, which tests must not change."""
        path = self.folder / f"{revision}.db"
        if not path.exists():
            made = path.with_suffix(".making")
            shutil.copy(self.at(REVISIONS[REVISIONS.index(revision) + 1]), made)
            downgrade(made, revision)
            made.rename(path)
        return path

    def begun(self, path: Path) -> Path:
        """Copy a store of revision 0005 with current tables and no counted match, and its backup."""
        begun = self.folder / "begun" / path.name
        if not begun.exists():
            begun.parent.mkdir()
            shutil.copy(self.at("0005"), begun)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(opening, "step", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    Store.open(begun)
        shutil.copytree(begun.parent, path.parent, dirs_exist_ok=True)
        return path


def interrupt(_: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Season:
    """Fill a store once for all tests of this file, which take copies of it."""
    path = tmp_path_factory.mktemp("season") / f"{REVISIONS[-1]}.db"
    with Store.open(path, fast=True) as store:
        fill(store)
    return Season(path.parent, told(path))


@pytest.fixture
def filled(path: Path, season: Season) -> Path:
    """Return a filled store of the current revision."""
    shutil.copy(season.at(REVISIONS[-1]), path)
    return path


@pytest.fixture
def old(path: Path, season: Season) -> Path:
    """Return the same store as revision 0005 wrote it, before there were sums of clusters."""
    shutil.copy(season.at("0005"), path)
    return path


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_every_earlier_revision_comes_to_the_same(season: Season, path: Path, revision: str) -> None:
    shutil.copy(season.at(revision), path)
    assert told(path) == season.told


def test_a_downgraded_store_is_as_the_older_version_wrote_it(old: Path) -> None:
    with closing(open_raw(FileSettings(place=old))) as raw:
        assert find_differences(raw, "0005") == []
        pools = [row[0] for row in raw.execute("SELECT pool FROM tournaments ORDER BY id")]
        (keys,) = raw.execute("SELECT count(*) FROM fingerprints").fetchone()
        (unique,) = raw.execute("SELECT sum(num_unique) FROM tallies").fetchone()
        distinct = raw.execute(
            "SELECT DISTINCT tournament_id, first_seat, second_seat, rated, match_hash, outcome FROM matches"
        ).fetchall()
    assert pools == ["5/move hosted", "5/move hosted", "blitz", "5/move hosted"]
    assert keys == unique == len(distinct)


@pytest.mark.parametrize("point", range(20))
def test_an_interrupted_upgrade_goes_on(
    old: Path, season: Season, point: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Upgrading the tables took three quarters of each case. The first two cases and the last one are
    # interrupted during the upgrade of the tables; the others start after it.
    if point not in {0, 1, 19}:
        season.begun(old)
    left = point
    with monkeypatch.context() as patched:
        patched.setattr(resumming, "BATCH", 4)
        for name in ("_derive", "count"):
            work = getattr(resumming, name)

            def after(*arguments: object, work: object = work) -> None:
                nonlocal left
                work(*arguments)  # type: ignore[operator]
                left -= 1
                if left < 0:
                    raise KeyboardInterrupt

            patched.setattr(resumming, name, after)
        with pytest.raises(KeyboardInterrupt):
            Store.open(old)
    with pytest.raises(OlderError, match="was interrupted; `arena db upgrade` finishes it"):
        Store.open(old, read_only=True)
    with closing(open_raw(FileSettings(place=old))) as raw:
        (next_match,) = raw.execute("SELECT next_match FROM summing").fetchone()
    assert next_match == 1 + 4 * (point // 2), "what was done is kept"
    assert told(old) == season.told
    assert len(list(old.parent.glob("*.bak"))) == 1


@pytest.mark.parametrize("point", [0, 1, 7, 20])
def test_a_killed_upgrade_goes_on(old: Path, season: Season, point: int) -> None:
    if point not in {0, 20}:
        season.begun(old)
    killed = subprocess.run(  # noqa: S603 - Python
        [sys.executable, "-c", KILLED, old, str(point)], check=False, timeout=60
    )
    assert killed.returncode == -9
    assert told(old) == season.told


def test_two_processes_take_turns(old: Path, season: Season, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumming, "BATCH", 7)
    step = resumming.step
    taken: list[bool] = []

    def turns(connection: Connection) -> bool:
        # Another process finishes a batch while this one waits for the lock; here one call does both.
        taken.append(step(connection) or step(connection))
        return taken[-1]

    monkeypatch.setattr(opening, "step", turns)
    assert told(old) == season.told
    assert taken.count(False) > 2


def nothing(*_: object) -> None:
    """Count no match."""


def test_an_upgrade_that_would_lose_a_match(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(resumming, "count", nothing)
        with pytest.raises(DamagedError, match="do not hold as many matches as are stored"):
            Store.open(old)
    # The mark is still there, so these sums are not used.
    with pytest.raises(DamagedError, match="puts the backup made before the upgrade"):
        Store.open(old)


POOLS: dict[str, tuple[object, ...]] = {
    "5/move hosted": ("move", 5000, 0, 0, 0, 0, "hosted", ""),
    "0.05/move in-process": ("move", 50, 0, 0, 0, 0, "in-process", ""),
    "60+0.6 hosted": ("fischer", 86_400_000, 60_000, 600, 0, 0, "hosted", ""),
    "40/60+0.5 hosted": ("fischer", 86_400_000, 60_000, 500, 40, 0, "hosted", ""),
    "2/move bank 60 hosted": ("bank", 2000, 60_000, 0, 0, 0, "hosted", ""),
    "1000 nodes in-process": ("move", 60_000, 0, 0, 0, 1000, "in-process", ""),
    "5/move 1000 nodes hosted": ("move", 5000, 0, 0, 0, 1000, "hosted", ""),
    "10 50 nodes hosted": ("fischer", 86_400_000, 10_000, 0, 0, 50, "hosted", ""),
    "training": ("none", 0, 0, 0, 0, 0, "in-process", "training"),
    "blitz": ("none", 0, 0, 0, 0, 0, "hosted", "blitz"),
    " hosted": ("none", 0, 0, 0, 0, 0, "hosted", " hosted"),
    "1:30 hosted": ("none", 0, 0, 0, 0, 0, "hosted", "1:30 hosted"),
}
"""Columns of a pool by the name that revision 0005 stores instead of them."""


def add_tournament(raw: Any, number: int, pool: str) -> None:  # noqa: ANN401 - a connection of one of two libraries
    """Copy tournament 1 of a store of revision 0001 with all its matches, into another pool."""
    for table in ("tournaments", "entrants", "leases", "planned", "tallies", "matches"):
        names = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
        owner = "id" if table == "tournaments" else "tournament_id"
        changed: dict[str, object] = {owner: number}
        if table == "matches":
            changed["id"] = None  # the next one
        if table == "tournaments":
            changed |= {"name": f"cup {number}", "pool": pool}
        chosen = ", ".join("?" if name in changed else name for name in names)
        given = [changed[name] for name in names if name in changed]
        raw.execute(f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE {owner} = 1", given)  # noqa: S608


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """Upgrade a store of revision 0001 with a tournament per pool; return its path and their ids by pool."""
    path = tmp_path_factory.mktemp("pools") / "arena.db"
    numbers = {name: number for number, name in enumerate(POOLS, 11)}
    with closing(find_driver().module.connect(path)) as raw:
        raw.executescript(Path(__file__).with_name("store-0001.sql").read_text(encoding="utf-8"))
        for name, number in numbers.items():
            add_tournament(raw, number, name)
        raw.commit()
    with Store.open(path) as store:
        # The hash of a match includes its tournament. Nothing else of the copies is wrong.
        said = {fault.partition(" is ")[2] or fault for fault in store.integrity.check()}
        assert said == {"not as it was stored", "more of the same kind"}
    return path, numbers


@pytest.mark.parametrize(("name", "columns"), POOLS.items())
def test_names_of_pools_become_columns(
    pooled: tuple[Path, dict[str, int]], name: str, columns: tuple[object, ...]
) -> None:
    path, numbers = pooled
    with Store.open(path, read_only=True) as store:
        record = store.tournaments.find(numbers[name])
        assert record is not None
        stored = record.pool
        assert stored.name == name
        limit = (stored.mode, stored.move_ms, stored.base_ms, stored.inc_ms, stored.moves or 0)
        assert (*limit, stored.nodes or 0, stored.process, stored.label) == columns
        found = store.matches.newest(MatchFilter(pool=name, rated_only=False))
        assert len([match for match in found if match.tournament == record.id]) == 8


def test_columns_of_pools_become_names(path: Path, pooled: tuple[Path, dict[str, int]]) -> None:
    shutil.copy(pooled[0], path)
    downgrade(path, "0005")
    with closing(open_raw(FileSettings(place=path))) as raw:
        named = dict(raw.execute("SELECT pool, id FROM tournaments WHERE id > 2"))
    assert named == pooled[1]


def test_a_cluster_in_another_encounter_is_missed_in_one_and_too_much_in_the_other(filled: Path) -> None:
    with closing(open_raw(FileSettings(place=filled))) as raw:
        raw.execute("PRAGMA foreign_keys=0")
        (opening, was, now) = raw.execute(
            "SELECT own.opening_hash, own.encounter_id, other.id "
            "FROM clusters AS own JOIN encounters AS other "
            "WHERE other.id <> own.encounter_id AND NOT EXISTS (SELECT 1 FROM clusters AS twin "
            "WHERE twin.opening_hash = own.opening_hash AND twin.encounter_id = other.id) LIMIT 1"
        ).fetchone()
        raw.execute(
            "UPDATE clusters SET encounter_id = ? WHERE opening_hash = ? AND encounter_id = ?",
            (now, opening, was),
        )
    with Store.open(filled, read_only=True) as store:
        assert sum("the clusters of" in fault for fault in store.integrity.check()) == 2
