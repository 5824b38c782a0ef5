"""`arena export` and `--pgnout` through the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.export.dataset import Dataset
from arena.export.pgn import parse_pgn
from arena_db.plan_keeping import StoredTournaments
from arena_db.store import Store
from command_line import FAST
from exports import fill
from stores import tamper

if TYPE_CHECKING:
    from command_line import CommandLine

SPRING = ("--tournament", "spring")


def test_positions_go_into_a_folder(played: CommandLine) -> None:
    done = played("export", "out", "--format", "npz", *SPRING, "--split", "0.5", "--dedup", "--disjoint")
    data = Dataset.open(played.folder / "out")
    assert data.manifest.query == {"tournament": "spring"}
    num = sum(part.num_positions for part in data.manifest.splits.values())
    rows = ", ".join(f"{split} {data.num_rows(split)}" for split in data.splits)
    assert done.stdout.startswith(f"out: 12 matches, {num} positions ({rows}), ")
    assert done.stdout.endswith(" MB\n")
    assert done.stderr == f"exported 12/12 matches (100%)  {num} positions\n"
    assert played("export", "again", *SPRING, "--quiet").stderr == ""


@pytest.mark.parametrize("form", ["pgn", "sgf"])
def test_matches_go_into_a_file(played: CommandLine, form: str) -> None:
    done = played("export", "out", "--format", form, "--limit", 3, "--unrated")
    assert done.stdout == "out: 3 matches, 0.0 MB\n"
    assert (played.folder / "out").read_text(encoding="utf-8").count(
        "MatchId" if form == "pgn" else "GN["
    ) == 3


def test_a_dry_run_counts_what_would_be_written(played: CommandLine) -> None:
    said = played("export", "out", "--dry-run", "--bot", "random", *SPRING).stdout
    assert said.startswith("8 matches of tic-tac-toe, ")
    assert not (played.folder / "out").exists()
    assert played("export", "out", "--dry-run", "--termination", "crash").stdout == "0 matches, 0 positions\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--format", "pgn", "--split", "0.5"),
            "--split, --salt, --dedup and --disjoint are not for --format pgn",
        ),
        (("--split", "1"), "--split 1 is not a share between 0 and 1"),
        (("--disjoint",), "--disjoint needs --split"),
        (("--bot", "randon"), 'no stored match of a bot "randon"; did you mean "random"?'),
        (("--termination", "crash"), "no stored match fits"),
        (("--limit", "0"), "0 is not in the range"),
        (("--format", "xls"), "'xls' is not one of"),
    ],
)
def test_what_cannot_be_exported_is_a_wrong_use(
    played: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    assert message in played("export", "out", *arguments, status=2).stderr
    assert not (played.folder / "out").exists()


def test_what_is_there_is_not_overwritten(played: CommandLine) -> None:
    (played.folder / "out").write_text("mine")
    for form in ("npz", "pgn"):
        assert "out exists" in played("export", "out", "--format", form, status=2).stderr
    assert (played.folder / "out").read_text() == "mine"
    assert "there is no folder" in played("export", "no/out", status=2).stderr


def test_several_games_need_a_choice(played: CommandLine) -> None:
    fill(played.db, "connect-four", 2)
    assert "choose one with --game" in played("export", "out", status=2).stderr
    played("export", "out", "--game", "connect-four")
    assert Dataset.open(played.folder / "out").game == "connect-four"


def test_a_store_that_is_not_there_is_told(arena: CommandLine) -> None:
    assert "arena.db" in arena("export", "out", status=2).stderr


def test_a_tournament_leaves_its_pgn(arena: CommandLine) -> None:
    cup = ("tournament", "random", "minimax:depth=1", *FAST, "--quiet", "--name", "cup")
    arena(*cup, "--rounds", 1, "--pgnout", "cup.pgn")
    path = arena.folder / "cup.pgn"
    assert [match.round for match in parse_pgn(path.read_text(encoding="utf-8"))] == ["1", "2"]
    arena("resume", "cup", "--rounds", 2, "--quiet", "--pgnout", "cup.pgn")
    assert [match.round for match in parse_pgn(path.read_text(encoding="utf-8"))] == ["1", "2", "3", "4"]


def test_a_place_for_the_pgn_is_looked_for_before_play(arena: CommandLine) -> None:
    cup = ("tournament", "random", "minimax:depth=1", *FAST)
    assert "make it first" in arena(*cup, "--pgnout", "no/cup.pgn", status=2).stderr
    assert not arena.db.exists()


def test_a_tournament_that_is_not_found_is_damage(
    played: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = played.folder / "spoiled.db"
    with Store.open(played.db, read_only=True) as store:
        store.backup(path)
    tamper(path, "UPDATE tournaments SET num_done = num_done + 1")

    def find(_: StoredTournaments, tournament: int) -> None:
        """Find no tournament, as in an index with swapped pages."""

    monkeypatch.setattr(StoredTournaments, "find", find)
    done = played("export", "out", "--db", path, "--game", "tic-tac-toe", "--quiet", status=6)
    assert f"{path} is damaged: " in done.stderr
    assert not (played.folder / "out").exists()
