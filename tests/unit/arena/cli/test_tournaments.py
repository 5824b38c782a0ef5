"""`arena tournaments`, `archive`, `unarchive` and `remove`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from arena_db.owner import current_owner
from arena_db.store import Store
from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def arena(two_cups: Path, tmp_path: Path) -> CommandLine:
    """Return a command line whose store has the tournaments spring and autumn."""
    arena = CommandLine(tmp_path)
    with Store.open(two_cups, read_only=True) as store:
        store.backup(arena.db)
    return arena


@pytest.fixture(scope="module")
def two_cups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arena = CommandLine(tmp_path_factory.mktemp("cups"))
    for name, *bots in (("spring", "random", "minimax:depth=1"), ("autumn", "random", "mcts:playouts=20")):
        arena("tournament", *bots, *FAST, "--rounds", 2, "--name", name, "--srand", 3)
    return arena.db


def names(arena: CommandLine, *more: str) -> list[object]:
    return [row["name"] for row in arena.objects("tournaments", *more)]


def test_tournaments_are_listed(arena: CommandLine) -> None:
    autumn, spring = arena.objects("tournaments")
    told = (
        "name",
        "pairing",
        "game",
        "state",
        "num_done",
        "num_planned",
        "held_by",
        "archived_at",
        "num_bots",
    )
    wanted = ("round-robin", "tic-tac-toe", "finished", 4, 4, None, None, 2)
    assert [autumn[key] for key in told] == ["autumn", *wanted]
    assert [spring[key] for key in told] == ["spring", *wanted]
    first, _, line, _ = arena.lines("tournaments")
    assert first.split() == ["Tournament", "Type", "Game", "State", "Matches", "Begun", "Run", "by"]
    assert line.split()[:5] == ["autumn", "round-robin", "tic-tac-toe", "finished", "4/4"]


def test_who_runs_a_tournament_is_told(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        record = store.tournaments.find("autumn")
        assert record is not None
        store.tournaments.set_state(record.id, "running")
        assert arena.objects("tournaments")[0]["state"] == "left"
        owner = current_owner()
        assert store.claim(record.id, owner)
        autumn, spring = arena.objects("tournaments")
        assert autumn["state"] == "running"
        assert str(autumn["held_by"]).startswith(f"pid {owner.pid} on ")
        assert spring["held_by"] is None
        refused = arena("archive", "autumn", status=1).stderr
        assert "autumn is being run; arena stop autumn stops it" in refused


def test_an_archived_tournament_is_hidden_but_counts(arena: CommandLine) -> None:
    before = arena.objects("leaderboard"), arena.objects("leaderboard", "--tournament", "autumn")
    assert "is archived; arena tournaments --all lists it" in arena("archive", "autumn").stdout
    assert arena("archive", "autumn").stderr == "autumn is archived already\n"
    assert names(arena) == ["spring"]
    assert names(arena, "--all") == ["autumn", "spring"]
    listed = arena("tournaments")
    assert "autumn" not in listed.stdout
    assert listed.stderr == "1 archived: arena tournaments --all lists them, too\n"
    assert "finished, archived" in arena("tournaments", "--all").stdout
    assert (arena.objects("leaderboard"), arena.objects("leaderboard", "--tournament", "autumn")) == before
    assert arena.objects("show", "last")[0]["name"] == "spring"
    assert ": archive\n" in arena("show", "autumn").stdout
    assert arena("unarchive", "autumn").stdout == "autumn is listed again\n"
    assert arena("unarchive", "autumn").stderr == "autumn is not archived\n"
    assert names(arena) == ["autumn", "spring"]
    assert arena.lines("db", "check")[0].endswith("is in order")


def test_matches_in_files_are_read_as_before(arena: CommandLine) -> None:
    told: tuple[tuple[str, ...], ...] = (
        ("leaderboard",),
        ("leaderboard", "--tournament", "autumn"),
        ("matches", "--tournament", "autumn", "--min-tier", "T0"),
        ("show", "autumn/2"),
        ("replay", "autumn/2", "--plain"),
        ("verify", "autumn/2"),
    )

    def exported(name: str) -> bytes:
        arena("export", arena.folder / name, "--format", "pgn", "--tournament", "autumn", "--quiet")
        return (arena.folder / name).read_bytes()

    before, pgn = [arena(*arguments).stdout for arguments in told], exported("warm.pgn")
    assert "give both" in arena("archive", "autumn", "--to", "cold", status=2).stderr
    folder = arena.folder / "cold"
    said = arena("archive", "--cold", "autumn", "--to", folder).stdout
    assert said.startswith(f"4 matches of autumn moved to {folder / 'autumn-'}")
    assert said.endswith("arena unarchive autumn takes them back\n")
    assert ([arena(*arguments).stdout for arguments in told], exported("cold.pgn")) == (before, pgn)
    assert "in files already" in arena("archive", "--cold", "autumn").stderr
    assert names(arena) == ["spring"]
    assert arena.lines("db", "check")[0].endswith("is in order")
    copied = arena("db", "backup", arena.folder / "copy.db").stdout
    assert copied.endswith(f"archived matches are not in it: copy {folder}, too\n")
    for refused in (
        ("void", "autumn/2", "--reason", "r"),
        ("resume", "autumn", "--rounds", 3),
        ("grade", "autumn/2"),
    ):
        assert "arena unarchive autumn brings them back" in arena(*refused, status=1).stderr
    shutil.move(folder, arena.folder / "away")
    assert "put back a copy of the folder" in arena("show", "autumn/2", status=6).stderr
    checked = arena("db", "check", status=6)
    assert f"{arena.db} is damaged; put back a copy of the folder named above" in checked.stderr
    assert [arena(*arguments).stdout for arguments in told[:2]] == before[:2]
    shutil.move(arena.folder / "away", folder)
    assert "autumn is listed again, and its 4 matches are stored again" in arena("unarchive", "autumn").stdout
    assert [arena(*arguments).stdout for arguments in told] == before


def test_results_by_opening_are_pruned(arena: CommandLine) -> None:
    before = arena("leaderboard").stdout
    assert "of 2 tournaments would be removed" in arena("db", "prune", "--dry-run").stdout
    assert "of 1 tournament are removed" in arena("db", "prune", "spring").stdout
    assert "of 1 tournament are removed" in arena("db", "prune").stdout
    assert "nothing to prune" in arena("db", "prune").stdout
    assert arena("leaderboard").stdout == before
    assert arena.lines("db", "check")[0].endswith("is in order")
    assert "Finished game 6" in arena("resume", "spring", "--rounds", 3, "--executor", "inline").stdout
    assert arena.lines("db", "check")[0].endswith("is in order")


def test_a_store_without_tournaments(arena: CommandLine, tmp_path: Path) -> None:
    empty = CommandLine(tmp_path, tmp_path / "empty.db")
    Store.open(empty.db).close()
    assert empty.objects("tournaments") == []
    header = empty("tournaments", "--format", "csv").stdout
    assert header.startswith("type,schema,name,pairing,")
    assert header.splitlines() == arena.lines("tournaments", "--format", "csv")[:1]


def test_a_removed_tournament_is_in_a_file_that_merge_takes_back(arena: CommandLine, tmp_path: Path) -> None:
    before = [arena.objects("leaderboard"), arena.objects("leaderboard", "--tournament", "spring")]
    assert (
        "There is no terminal to answer in; --yes confirms it" in arena("remove", "spring", status=2).stderr
    )
    assert names(arena) == ["autumn", "spring"]
    file = tmp_path / "spring.removed.db"
    said = arena("remove", "spring", "--yes").stdout
    assert said == f"spring is in {file}; arena db merge {file} takes it back\n"
    assert names(arena) == ["autumn"]
    assert sum(int(str(row["games"])) for row in arena.objects("leaderboard")) == 2 * 4
    missing = arena("show", "spring", status=2).stderr
    assert f"moved it to {file}; arena db merge {file} takes it back" in missing
    assert "exists" in arena("remove", "autumn", "--to", file, "--yes", status=2).stderr
    assert arena("db", "merge", file).stdout == "spring: 4 new matches\n"
    assert arena("db", "merge", file).stdout == f"all of {file} is in {arena.db} already\n"
    assert [arena.objects("leaderboard"), arena.objects("leaderboard", "--tournament", "spring")] == before
    assert f"a read-only copy, merged from {file} on " in arena("show", "spring").stdout
    refused = arena("resume", "spring", "--rounds", 3, status=2).stderr
    assert f"spring is a copy, merged from {file}: it can only be read here; " in refused
    assert f"arena resume spring --db {file} continues it there" in refused
    resumed = arena("resume", "spring", "--rounds", 3, "--db", file, "--quiet")
    assert resumed.exit_code == 0
    assert arena("db", "merge", file).stdout == "spring: 2 new matches\n"
    assert arena.lines("db", "check")[0].endswith("is in order")


def test_nothing_is_removed_while_it_is_run(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        assert store.claim(1, current_owner())
        assert "arena stop spring stops it" in arena("remove", "spring", "--yes", status=1).stderr
    assert names(arena) == ["autumn", "spring"]


def test_a_merge_names_what_is_called_otherwise(arena: CommandLine, tmp_path: Path) -> None:
    other = CommandLine(tmp_path / "other")
    other.folder.mkdir()
    other("match", "random", "minimax:depth=1", *FAST, "--rounds", 1, "--name", "spring")
    assert arena("db", "merge", other.db).stdout == "spring-2 (there spring): 2 new matches\n"
    assert "is this store itself" in arena("db", "merge", arena.db, status=2).stderr
    assert "no store at" in arena("db", "merge", tmp_path / "nothing.db", status=2).stderr
