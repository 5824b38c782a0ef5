"""Tournaments from the command line: lines for other programs, stored rows, and the exit status."""

from __future__ import annotations

import re
import sys
import tomllib
from typing import TYPE_CHECKING, Any, cast

import pytest

import strange_bots
from arena.cli.reporter import HeldTournament
from arena.cli.run_output import TextReporter
from arena.coordinator.config import TournamentConfig
from arena.coordinator.run_events import RunNotice
from arena.home import open_store
from arena.results.encounter import Scores
from children import arena_environment, run_child
from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from pathlib import Path

DUEL = ("match", "minimax:depth=2", "random", *FAST, "--srand", 3)
CUP = ("tournament", "random", "minimax:depth=1", "minimax:depth=2", *FAST, "--srand", 3)


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the bot `strange` discoverable."""
    strange_bots.install(monkeypatch, tmp_path / "plugins")


def test_a_match_prints_the_lines_that_programs_parse(arena: CommandLine) -> None:
    result = arena(*DUEL, "--rounds", 1, "--name", "cup-7")
    lines = result.stdout.splitlines()
    a, b = "minimax:depth=2", "random"
    assert lines[0] == f"Started game 1 of 2 ({a} vs {b})"
    assert f"Started game 2 of 2 ({b} vs {a})" in lines
    assert f"Finished game 1 ({a} vs {b}): 1-0 {{{a} wins by three in a row}}" in lines
    assert any(line.startswith(f"Finished game 2 ({b} vs {a}): ") for line in lines)
    assert f"Score of {a} vs {b}: 1 - 0 - 0  [1.000] 1" in lines
    score, elo, ptnml, evidence, verdict = lines[-5:]
    assert re.fullmatch(rf"Score of {a} vs {b}: \d - \d - \d  \[\d\.\d{{3}}\] 2", score)
    assert re.fullmatch(r"Elo difference: .+ \+/- .+, LOS: .+ %, DrawRatio: .+ %", elo)
    assert re.fullmatch(r"Ptnml\(0-2\): \[.+\], nElo: .+ \+/- .+, PairsRatio: .+, DrawnPairs: .+ %", ptnml)
    assert evidence == "Evidence: 1 of 1 pairs"
    assert verdict.startswith(f"{a} and {b} are not separated: {a} - {b} = ")
    assert result.stderr.startswith("cup-7: 2 matches of tic-tac-toe, 5/move in-process, seed 3\n")


def test_score_lines_come_at_their_interval(arena: CommandLine) -> None:
    lines = arena.lines(*DUEL, "--rounds", 3, "--score-interval", 2)
    scores = [line for line in lines if line.startswith("Score of")]
    assert [int(score.rsplit(" ", 1)[1]) for score in scores] == [2, 4, 6]


def test_a_tournament_ends_with_crosstable_and_standings(arena: CommandLine) -> None:
    result = arena(*CUP, "--rounds", 1, "--rating-interval", 4)
    lines = result.stdout.splitlines()
    assert sum(line.startswith("Rank  Name") for line in lines) == 2
    assert "Score of the row against the column, and its wins-draws-losses." in lines
    assert not any(line.startswith("Score of random") for line in lines)
    (progress,) = [line for line in result.stderr.splitlines() if "/6 matches" in line]
    assert re.fullmatch(r"4/6 matches \(66%\)  \S+/min  ETA 0:00:\d\d  faults 0", progress)


def test_quiet_prints_the_final_tables_only(arena: CommandLine) -> None:
    result = arena(*CUP, "--rounds", 1, "--rating-interval", 1, "--quiet")
    assert result.stderr == ""
    assert "game" not in result.stdout.lower().replace("games", "")
    assert result.stdout.count("Rank  Name") == 1
    sides = arena.lines(*DUEL, "--rounds", 1, "--quiet")
    assert [line.partition(":")[0] for line in (sides[0], sides[1])] == ["minimax", "minimax"]
    assert " moving first: " in sides[0]
    assert " moving second: " in sides[1]
    assert sides[2].startswith("Score of")


def test_ndjson_is_a_stream_of_objects(arena: CommandLine) -> None:
    objects = arena.objects(*DUEL, "--rounds", 2, "--name", "cup")
    kinds = [found["type"] for found in objects]
    assert kinds[0] == "begun"
    assert kinds.count("match_started") == kinds.count("match_finished") == 4
    assert kinds[-4:] == ["encounter", "rating", "rating", "ended"]
    assert {(found["schema"], found["tournament"]) for found in objects} == {("arena/1", "cup")}
    finished = next(found for found in objects if found["type"] == "match_finished")
    assert finished["ticker"] == {"first": 1508.0, "second": 1492.0, "is_approximate": True}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(finished["started_at"]))
    assert finished["fault"] is None
    assert objects[-4]["pairs_ratio"] is None
    assert objects[-1] == {
        "type": "ended",
        "schema": "arena/1",
        "tournament": "cup",
        "state": "finished",
        "reason": "",
        "num_done": 4,
        "total": 4,
        "resume": None,
    }


def test_the_ticker_is_in_no_other_place(arena: CommandLine) -> None:
    for found in arena.objects(*CUP, "--rounds", 1):
        assert ("ticker" in found) == (found["type"] == "match_finished")
    result = arena(*CUP, "--rounds", 1)
    assert "~" not in result.output


def test_a_dry_run_prints_the_plan_and_stores_nothing(arena: CommandLine) -> None:
    result = arena(*CUP, "--rounds", 1, "--dry-run")
    assert len(result.stdout.splitlines()) == 6
    assert re.fullmatch(r"1 random vs minimax:depth=1  round 1  \w\d \w\d", result.stdout.splitlines()[0])
    assert result.stderr == "6 matches, 5/move, T0, seed 3\n"
    planned = arena.objects(*CUP, "--rounds", 1, "--dry-run")
    assert [found["number"] for found in planned] == [1, 2, 3, 4, 5, 6]
    assert not arena.db.exists()


@pytest.mark.usefixtures("strange")
def test_a_bot_that_fails_its_first_position_is_named(arena: CommandLine) -> None:
    line = arena("tournament", "strange:cheat=on", "random", *FAST, status=5).stderr.splitlines()[-1]
    assert line.startswith("arena: strange:cheat=on failed before the tournament: illegal_move")
    assert line.endswith("no match was played (arena bots check strange:cheat=on shows more)")


@pytest.mark.usefixtures("strange")
def test_refused_bots_are_left_out_and_told_of_at_the_end(arena: CommandLine) -> None:
    bots = ("strange:cheat=on,name=Cheat", "random", "nobody", "strange:dept=1", "minimax:depth=1")
    call = ("tournament", *bots, "--on-preflight", "skip", *FAST, "--rounds", 1)
    result = arena(*call)
    assert "2 matches of tic-tac-toe" in result.stderr
    assert "warning: Cheat is refused: illegal_move: its action is not a legal one" in result.stderr
    header, rule, *lines = result.stdout[result.stdout.index("\nRefused") + 1 :].splitlines()
    assert (header.split(), set(rule)) == (["Refused", "Cause"], {"-"})
    assert [line.split()[0] for line in lines] == ["nobody", "Cheat", "strange:dept=1"]
    assert lines[1].endswith("illegal_move: its action is not a legal one")
    assert 'strange has no option "dept"' in lines[2]
    told = result.stdout[result.stdout.index("\nRefused") :]
    name = result.stderr.partition(":")[0]
    assert arena("show", name).stdout.endswith(told)
    (stored,) = arena.objects("show", name)
    assert [f"{found['bot']:14}  {found['cause']}" for found in cast("Any", stored["refused"])] == lines
    arena("resume", name, "--rounds", 2)
    assert arena("show", name).stdout.endswith(told)
    objects = arena.objects(*call)
    assert [found["bot"] for found in objects if found["type"] == "refused"] == [
        "nobody",
        "Cheat",
        "strange:dept=1",
    ]
    assert objects[0]["bots"] == ["random", "minimax:depth=1"]
    assert objects[-1]["type"] == "ended"
    arena(*call, "--strict", status=4)
    line = arena("tournament", *bots[:3], "--on-preflight", "skip", *FAST, status=5).stderr.splitlines()[-1]
    assert line == (
        "arena: too few bots are left for a tournament; these were refused: "
        "Cheat: illegal_move: its action is not a legal one"
    )
    line = arena("tournament", *bots[1:3], "--on-preflight", "skip", *FAST, status=2).stderr.splitlines()[-1]
    assert line.startswith("arena: too few bots are left for a tournament; these were refused: nobody: no")
    dry = arena(*call, "--dry-run")
    assert "warning: nobody is refused: no bot" in dry.stderr
    assert "stop" in arena("tournament", "--help").stdout


@pytest.mark.parametrize("isolation", ["none", "T1"])
def test_a_bot_that_cannot_be_imported_is_found_before_the_plan(
    arena: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    metadata = tmp_path / "plugins" / "ghost-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ghost\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[arena.bots]\nghost = no_such_module\n")
    monkeypatch.setattr(sys, "path", [str(metadata.parent), *sys.path])
    result = arena("match", "ghost", "random", *FAST, "--isolation", isolation, status=5)
    *wrote, last = result.stderr.splitlines()
    assert last.startswith("arena: ghost failed before the tournament: ")
    assert [line.split()[0] for line in wrote[:1]] == ["ghost"] * (isolation == "T1")
    assert "No module named 'no_such_module'" in result.stderr


@pytest.fixture
def deadly(arena: CommandLine, strange: None) -> tuple[object, ...]:
    """Return a match in which a bot dies once, at the seed of the first game."""
    del strange
    match = ("--srand", 5, "--rounds", 2, "--rating-interval", 1)
    arena("match", "strange", "random", *FAST, *match)
    first = arena.objects("matches")[-1]
    bot = f"strange:folder={arena.folder},kill-seed={first['seed_first']}"
    return ("match", bot, "random", *FAST, "--isolation", "auto", *match)


def test_strict_counts_faults(arena: CommandLine, deadly: tuple[object, ...]) -> None:
    result = arena(*deadly, "--strict", "--name", "cup", status=4)
    assert "1-0" not in result.stdout.splitlines()[1]
    assert "faults 1" in result.stderr
    arena("resume", "cup", "--strict", status=4)
    arena("resume", "cup", status=0)


def test_no_recover_stops_at_the_first_fault(arena: CommandLine, deadly: tuple[object, ...]) -> None:
    result = arena(*deadly, "--no-recover", "--name", "cup", status=3)
    assert "--no-recover is set" in result.stderr
    assert result.stdout.endswith("To resume: arena resume cup\n")


@pytest.mark.usefixtures("strange")
def test_a_bot_that_cannot_start_is_found_before_the_plan(arena: CommandLine) -> None:
    for isolation in ("none", "T1"):
        bots = ("strange:broken=on", "random")
        result = arena("match", *bots, *FAST, "--isolation", isolation, status=5)
        assert "strange:broken=on failed before the tournament" in result.stderr
        assert "broken on purpose" in result.stderr
    assert arena.objects("matches") == []


def test_max_time_stops_and_resume_goes_on(arena: CommandLine) -> None:
    result = arena(*CUP, "--rounds", 30, "--max-time", 0.000001, "--name", "cup-7", status=3)
    assert result.stdout.splitlines()[-1] == "Tournament was interrupted. To resume: arena resume cup-7"
    assert "--max-time" in result.stderr
    result = arena("resume", "cup-7", "--quiet")
    assert "Tournament was interrupted" not in result.stdout
    assert len(arena.objects("matches", "--limit", 500)) == 180


def test_a_stopped_stream_says_how_to_go_on(arena: CommandLine) -> None:
    stopped = arena.objects(*CUP, "--max-time", 0.000001, "--name", "cup", status=3)[-1]
    assert stopped["state"] == "stopped"
    assert stopped["resume"] == "arena resume cup"


def test_stop_when_ends_with_narrow_intervals(arena: CommandLine) -> None:
    result = arena(*CUP, "--rounds", 200, "--stop-when", "error=250", "--quiet", status=3)
    assert "every rating is within" in result.stderr
    assert 10 <= len(arena.objects("matches", "--limit", 2000)) < 1200


def test_resume_enlarges_and_keeps_the_stored_configuration(played: CommandLine) -> None:
    before = played("show", "spring", "--config").stdout
    played("resume", "spring", "--rounds", 3, "--concurrency", 1, "--max-time", 500, "--quiet")
    assert played("show", "spring", "--config").stdout == before.replace("rounds = 2", "rounds = 3")
    assert len(played.objects("matches", "--tournament", "spring")) == 18


def test_a_match_that_was_over_is_looked_at_again(played: CommandLine) -> None:
    with open_store(str(played.db)) as store:
        record = store.tournaments.find("duel")
        assert record is not None
    rounds = tomllib.loads(record.config)["rounds"]
    for look in (2, 3):
        rounds += 1
        said = played("resume", "duel", "--rounds", rounds, "--quiet").stdout
        assert f"\nLook {look} at results that grow is judged at " in said
    assert played("show", "duel", "--config").stdout.count("looks = 3") == 1


def test_resuming_what_is_finished_says_so(played: CommandLine) -> None:
    result = played("resume", "spring")
    assert result.stderr.startswith("spring is finished; --rounds N adds rounds to it\n")
    assert "Rank  Name" in result.stdout


def test_the_shown_configuration_gives_the_same_plan(played: CommandLine) -> None:
    for name, command in (("spring", "tournament"), ("duel", "match")):
        config = played("show", name, "--config").stdout
        path = played.folder / "again.toml"
        path.write_text(config.replace(f'name = "{name}"\n', ""))
        planned = played.objects(command, "--config", path, "--dry-run")
        with open_store(str(played.db)) as store:
            record = store.tournaments.find(name)
            assert record is not None
            stored = store.plans.planned(record.id)
        assert [(m.number, list(m.opening)) for m in stored] == [(p["number"], p["actions"]) for p in planned]


def test_a_match_by_number_leads_to_its_tournament(played: CommandLine) -> None:
    assert played("show", 1, "--config").stdout == played("show", "spring", "--config").stdout


def test_options_come_before_files_and_files_before_the_user(arena: CommandLine) -> None:
    user, cup = arena.folder / "user.toml", arena.folder / "cup.toml"
    user.write_text('bots = ["random", "minimax"]\nrounds = 7\nst = 2.0\ngame = "tic-tac-toe"\n')
    cup.write_text("rounds = 6\ngames = 1\n")

    def plan(*options: object) -> str:
        env = {"ARENA_CONFIG": str(user)}
        return arena("tournament", *options, "--srand", 1, "--dry-run", env=env).stderr

    assert plan().startswith("14 matches, 2/move")
    assert plan("--config", cup).startswith("6 matches, 2/move")
    assert plan("--config", cup, "--rounds", 5, "--games", 2).startswith("10 matches, 2/move")
    assert plan("--tc", "60+1").startswith("14 matches, 60+1")
    assert plan("--st", 3, "--bank", 9).startswith("14 matches, 3/move")
    cup.write_text('tc = "60+1"\n')
    assert plan("--config", cup).startswith("14 matches, 60+1")
    assert plan("--config", cup, "--st", 3).startswith("14 matches, 3/move")


def test_the_store_is_the_option_before_the_environment(arena: CommandLine) -> None:
    assert arena("db", "path").stdout.strip() == str(arena.db)
    assert arena("db", "path", "--db", "other.db").stdout.strip() == str(arena.folder / "other.db")
    home = arena("db", "path", env={"ARENA_DB": ""}).stdout.strip()
    assert home == str(arena.folder / "home" / "arena.db")


def test_fast_says_what_it_risks(arena: CommandLine) -> None:
    assert "a power cut may lose the last matches" in arena(*DUEL, "--rounds", 1, "--fast").stderr


def test_warnings_go_to_stderr_and_are_counted(arena: CommandLine) -> None:
    options = ("--rounds", 12, "--openings", "auto:plies=2,balance=drawn", "--strict", "--quiet")
    result = arena(*DUEL, *options, status=4)
    assert "warning: " in result.stderr
    assert "warning: " not in result.stdout


@pytest.mark.usefixtures("strange")
def test_a_match_that_repeats_itself_is_told(arena: CommandLine) -> None:
    result = arena("match", "strange", "strange", *FAST, "--openings", "none", "--rounds", 4)
    assert "warning: most matches repeat earlier ones; more openings (--openings)" in result.stderr
    evidence = "1 different pair in 4; the other 3 repeat earlier ones and count once, from 1 opening only"
    assert f"Evidence: {evidence}" in result.stdout


def test_notices_are_warnings(capsys: pytest.CaptureFixture[str], played: CommandLine) -> None:
    with open_store(str(played.db)) as store:
        record = store.tournaments.find("duel")
    assert record is not None
    held = HeldTournament(record, TournamentConfig(), [], Scores([]), list, quiet=True)
    reporter = TextReporter(held)
    reporter.tell(RunNotice("a worker died"))
    assert reporter.num_warnings == 1
    assert capsys.readouterr() == ("", "warning: a worker died\n")


def test_the_command_that_continues_has_what_is_not_stored(played: CommandLine) -> None:
    with open_store(str(played.db)) as store:
        record = store.tournaments.find("duel")
    assert record is not None
    config = TournamentConfig(keys="my lab.key")
    held = HeldTournament(record, config, [], Scores([]), list, quiet=True, db="league.db")
    assert held.resume == "arena resume duel --keys 'my lab.key' --db league.db"


def test_boxes_of_help_can_be_ascii(arena: CommandLine) -> None:
    assert not arena("--help").stdout.isascii()
    code = "from arena.cli.main import main; main(['tournament', '--help'])"
    env = {**arena_environment(arena.folder), "ARENA_ASCII": "1"}
    assert run_child([sys.executable, "-c", code], cwd=arena.folder, env=env).stdout.isascii()
