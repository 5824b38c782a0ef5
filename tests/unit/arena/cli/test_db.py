"""`arena db`: checks, copies and upgrades of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stores import tamper

if TYPE_CHECKING:
    from command_line import CommandLine


def test_check_finds_nothing(played: CommandLine) -> None:
    assert played("db", "check").stdout == f"{played.db} is in order\n"
    assert played("db", "check", "--quick").stdout == f"{played.db} is in order\n"
    assert played("db", "upgrade").stdout == f"{played.db} has the schema of this version\n"


def test_check_names_damage(played: CommandLine) -> None:
    tamper(played.db, "UPDATE tallies SET num_matches = num_matches + 1")
    result = played("db", "check", status=6)
    assert "`arena db repair` counts again" in result.stdout
    assert result.stderr == f"{played.db} is damaged; arena db repair mends that\n"
    tamper(played.db, "UPDATE matches SET reason = 'another' WHERE id = 1")
    assert "arena db restore BACKUP takes a backup back" in played("db", "check", status=6).stderr


def test_repair_counts_again(played: CommandLine) -> None:
    before = played.objects("leaderboard")
    tamper(played.db, "UPDATE encounters SET num_openings = 99", "DELETE FROM tallies")
    assert "arena db repair" in played("db", "check", status=6).stderr
    said = played("db", "repair").stdout
    assert said == f"the counts and sums of {played.db} are those of its matches\n"
    assert played("db", "check").stdout == f"{played.db} is in order\n"
    assert played.objects("leaderboard") == before
    assert "no store at" in played("db", "repair", "--db", "nowhere.db", status=2).stderr


def test_backup_copies_everything(played: CommandLine) -> None:
    copy = played.folder / "copy.db"
    played("db", "backup", copy)
    assert played.objects("matches", "--db", copy) == played.objects("matches")


def test_restore_puts_a_backup_in_place(played: CommandLine) -> None:
    copy, before = played.folder / "copy.db", played.objects("matches")
    played("db", "backup", copy)
    tamper(played.db, "DELETE FROM matches")
    lines = played("db", "restore", copy).stdout.splitlines()
    assert lines[0] == f"{played.db} is restored from {copy}"
    assert played.objects("matches") == before
    old = lines[1].removeprefix("the old store is ")
    assert played.objects("matches", "--db", old) == []
    played.db.unlink()
    assert played("db", "restore", copy).stdout == f"{lines[0]}\n"


def test_restore_without_a_backup(played: CommandLine) -> None:
    assert "no backup at" in played("db", "restore", "nowhere.db", status=2).stderr


def test_backup_into_nowhere(played: CommandLine) -> None:
    assert "nowhere" in played("db", "backup", "nowhere/a.db", status=1).stderr


@pytest.mark.parametrize("call", ["matches", "leaderboard", "db check", "db upgrade", "resume"])
def test_a_newer_store_is_left_alone(played: CommandLine, call: str) -> None:
    tamper(played.db, "UPDATE alembic_version SET version_num = '9999'")
    line = played(*call.split(), status=6).stderr
    assert "was made by a newer version of arena; upgrade arena: pip install -U bot-arena" in line


@pytest.mark.parametrize("call", ["matches", "crosstable", "show 1"])
def test_a_damaged_store_is_named(played: CommandLine, call: str) -> None:
    content = bytearray(played.db.read_bytes())
    content[4096:-1] = b"\xff" * (len(content) - 4097)
    played.db.write_bytes(content)
    line = played(*call.split(), status=6).stderr
    assert "is damaged" in line
    assert "arena db check" in line
