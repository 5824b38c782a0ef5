"""`arena db`: checks, copies and upgrades of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.content.store import write_entered
from arena.coordinator import audit
from arena.entrants import Competitor
from arena.home import open_store
from arena.person.session_config import person
from arena_db.records import Entrant
from stores import new_tournament, tamper

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
    assert result.stderr == f"{played.db} is damaged; arena db repair fixes this\n"
    tamper(played.db, "UPDATE matches SET reason = 'another' WHERE id = 1")
    assert "arena db restore BACKUP restores a backup" in played("db", "check", status=6).stderr


def test_repair_counts_again(played: CommandLine) -> None:
    before = played.objects("leaderboard")
    tamper(played.db, "UPDATE encounters SET num_openings = 99", "DELETE FROM tallies")
    assert "arena db repair" in played("db", "check", status=6).stderr
    said = played("db", "repair").stdout.splitlines()
    assert any("kept counts were wrong or missing" in line for line in said)
    assert any("the kept sums of 8 encounters were wrong or missing" in line for line in said)
    assert said[-2:] == [
        "indexes, counts and sums were rebuilt from plans and matches",
        f"{played.db} is in order",
    ]
    assert played("db", "repair").stdout == f"nothing to repair\n{played.db} is in order\n"
    assert played.objects("leaderboard") == before
    assert "no store at" in played("db", "repair", "--db", "nowhere.db", status=2).stderr


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["UPDATE tournaments SET num_done = 3 WHERE id = 1"], "counts 12 planned matches, 12 done"),
        (
            ["UPDATE planned SET state = 'planned', attempt = 2 WHERE number = 1"],
            "2 planned matches are marked as they were played",
        ),
        (["DELETE FROM leases"], "tournament duel has a lease again"),
        (["DELETE FROM leases"], "the events of tournament duel are numbered on from"),
        (
            ["UPDATE leases SET last_seq = 1, pruned_seq = 0"],
            "the events of tournament duel are numbered on from",
        ),
        (["DROP INDEX uq_matches_final"], "the index uq_matches_final is rebuilt"),
        (["UPDATE rating_points SET elo = elo + 1"], "wrong ratings over time are removed"),
        (["UPDATE matches SET num_plies = 1 WHERE id = 2"], "plies and openings of 1 matches"),
    ],
)
def test_repair_says_what_it_did(played: CommandLine, statements: list[str], said: str) -> None:
    before = [played.objects(*call) for call in (["leaderboard"], ["games"])]
    tamper(played.db, *statements)
    assert "arena db repair" in played("db", "check", status=6).output
    result = played("db", "repair")
    assert said in result.stdout
    assert [played.objects(*call) for call in (["leaderboard"], ["games"])] == before


def test_repair_leaves_what_it_cannot_rebuild(played: CommandLine) -> None:
    tamper(played.db, "CREATE TABLE notes (a TEXT)", "DELETE FROM tallies")
    content = played.db.read_bytes()
    result = played("db", "repair", status=6)
    assert "the table notes is not one of arena's, which cannot be repaired; nothing was" in result.stderr
    assert played.db.read_bytes() == content


FORGED = [
    ("UPDATE matches SET seed_second = 5 WHERE id = 3", "match #3 was not played with the seeds of spring"),
    ("UPDATE tournaments SET seed = 7 WHERE id = 1", "tournament spring has the seed 7, its configuration 1"),
    ("UPDATE tournaments SET num_actions = 8 WHERE id = 1", "tournament spring has 8 actions"),
    (
        "UPDATE planned SET first_seat = second_seat, second_seat = first_seat WHERE number IN (1, 2)",
        "match 1 of spring is not the one that its configuration plans",
    ),
    ("UPDATE planned SET opening = x'0001' WHERE number = 1", "begins with another opening than planned"),
    ("UPDATE planned SET opening = x'0001' WHERE number = 1", "does not have the opening of its pair"),
    ("UPDATE planned SET opening = x'00000000000000'", "planned from an opening that the rules do not allow"),
    (
        "UPDATE matches SET outcome = iif(outcome = 'first', 'second', 'first') WHERE id = 3",
        "match #3 contradicts the rules: its outcome is",
    ),
    (
        "UPDATE matches SET actions = CAST(actions || x'00' AS BLOB) WHERE id = 3",
        "match #3 contradicts the rules: action 0 at ply",
    ),
    (
        "UPDATE matches SET actions = CAST(substr(actions, 1, length(actions) - 1) AS BLOB) WHERE id = 3",
        "match #3 contradicts the rules: the game is not over after its last action",
    ),
]
"""Changes of a forger who recomputes hashes and seals, and the contradiction that rules or plan reveal."""


@pytest.mark.parametrize(("statement", "text"), FORGED)
@pytest.mark.parametrize("many", [0, 100])
def test_the_rules_are_asked(
    played: CommandLine, monkeypatch: pytest.MonkeyPatch, statement: str, text: str, many: int
) -> None:
    monkeypatch.setattr(audit, "_MANY", many)
    with open_store(str(played.db), read_only=True) as store:
        assert list(audit.audit(store)) == []
    tamper(played.db, statement)
    with open_store(str(played.db), read_only=True) as store:
        found = [each.text for each in audit.audit(store) if each.is_fault]
    assert any(text in each for each in found), found
    assert "is damaged" in played("db", "check", status=6).stderr, "hashes and seals are wrong as well"


def test_bots_are_compared_with_what_is_kept(played: CommandLine) -> None:
    with open_store(str(played.db), read_only=True) as store:
        for entrant in store.tournaments.entrants(1):
            kept = Competitor(label="x", record=entrant.bot, spec="", entry="", options={}, limit=None)
            write_entered(entrant.bot.identity, msgspec.json.encode(kept))
        assert list(audit.audit(store)) == []
    tamper(played.db, "UPDATE bots SET spec = 'random:x=1' WHERE name = 'random'")
    with open_store(str(played.db), read_only=True) as store:
        (found,) = audit.audit(store)
    assert "the bot random:x=1 has another spec than was kept of it when it was entered: random" in found.text


def test_a_bot_without_files_is_its_identity(played: CommandLine) -> None:
    with open_store(str(played.db)) as store:
        seats = [Entrant(seat=seat, label=str(seat), bot=person().record, limit="") for seat in (0, 1)]
        store.tournaments.add(new_tournament(name="new", type="play"), seats, [])
        assert list(audit.audit(store)) == []
    tamper(played.db, "UPDATE bots SET version = '2' WHERE name = 'human'")
    with open_store(str(played.db), read_only=True) as store:
        (found,) = audit.audit(store)
    assert found.text == "the bot human is not the one that its identity was made of"


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("DROP INDEX uq_matches_final", "the index uq_matches_final is missing"),
        (
            "UPDATE planned SET opening = x'0101' WHERE number = 12",
            "matches 1 to 12 of spring are not planned",
        ),
        (
            "UPDATE tournaments SET config = config || ' ' WHERE id = 1",
            "tournament spring is not as it was stored",
        ),
        ("UPDATE bots SET version = '9'", "the bots of tournament spring are not as they were entered"),
    ],
)
def test_resume_looks_first(played: CommandLine, statement: str, text: str) -> None:
    undone = (
        "UPDATE tournaments SET num_done = 11, state = 'stopped' WHERE id = 1",
        "UPDATE planned SET state = 'planned' WHERE tournament_id = 1 AND number = 12",
        "DELETE FROM matches WHERE tournament_id = 1 AND number = 12",
    )
    tamper(played.db, *undone, statement)
    error = played("resume", "spring", status=6).stderr
    assert f"{text}" in error
    assert "nothing is played; `arena db check` shows more" in error


def test_a_value_without_sense_is_damage(played: CommandLine) -> None:
    tamper(played.db, "UPDATE matches SET outcome = 'won' WHERE id = 16")
    line = played("games", status=6).stderr
    assert "is damaged: 1 rows of matches break the rule ck_matches_outcome_known" in line
    assert "run `arena db check` for details" in line


def test_an_error_of_ours_is_no_damage(played: CommandLine) -> None:
    with pytest.raises(KeyError, match="ours"), open_store(str(played.db), read_only=True):
        raise KeyError("ours")


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
