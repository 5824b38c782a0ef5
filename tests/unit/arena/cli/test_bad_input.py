"""Every mistake ends in one line that names the cause and the remedy, with the right exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine

ENDLESS = "9" * 5000
"""More digits than Python reads as a number."""
PLAN = "tournament random minimax"
PLANS = [
    ("tournament mtcs random", 'no bot "mtcs"; did you mean "mcts"? (arena bots list shows all)'),
    ("tournament mcts: random", 'has a ":" but no option'),
    ("tournament mcts:x random", 'cannot read the options of "mcts:x"'),
    ("tournament", "at least two bots; 0 given"),
    ("tournament random", "at least two bots; 1 given"),
    ("tournament random random", "random is entered twice; only arena match A A lets a bot play itself"),
    ("match random", "at least two bots; 1 given"),
    ("match random minimax mcts", "between two bots; 3 given"),
    (f"{PLAN} --game ches", 'no game "ches" (installed: connect-four, gomoku, tic-tac-toe)'),
    (f"{PLAN} --game gomoko", 'did you mean "gomoku"?'),
    (f"{PLAN} --game gomoku:siz=3", 'gomoku has no option "siz"; did you mean "size"?'),
    (f"{PLAN} --game gomoku:size=3,k=9", "k=9 does not fit on 3 rows and 3 columns"),
    (f"{PLAN} --game gomoku:size=1000", "size=1000 is not a whole number from 2 to 26"),
    (f"{PLAN} --tc 60 --st 3", "exclude each other; give one of them"),
    (f"{PLAN} --tc 60/", 'cannot read the time control "60/"; write 60+0.6'),
    (f"{PLAN} --tc 0+0", "not from 0.001 to 86400 seconds"),
    (f"{PLAN} --st 0", "--st 0 is not a positive number of seconds"),
    (f"{PLAN} --st nan", "--st nan is not a positive number"),
    (f"{PLAN} --nodes 0", "--nodes 0 is too small; give 1 or more"),
    (f"{PLAN} --timemargin -1", "--timemargin -1 is too small"),
    ("tournament random:st=x minimax", "st is a number of seconds"),
    (f"{PLAN} --concurrency 1000", "--concurrency 1000 is more than the"),
    (f"{PLAN} --isolation T9", "'T9' is not one of 'auto', 'none', 'T1', 'T2', 'T3'."),
    (f"{PLAN} --require-limits exact", "'exact' is not one of 'kernel', 'polled'."),
    (f"{PLAN} --isolation none --require-limits kernel", "have no limits; leave out --isolation none"),
    (f"{PLAN} --stop-when often", "write error=E with E in Elo, such as error=20"),
    (f"{PLAN} --stop-when error=x", "write error=E with E in Elo"),
    (f"{PLAN} --max-time 0", "--max-time 0 is not a positive number"),
    (f"{PLAN} --srand -1", "from 0 to 2^63 - 1"),
    (f"{PLAN} --rounds 0", "--rounds 0 is too small"),
    (f"{PLAN} --rounds x", "'x' is not a valid integer. (arena tournament --help tells more)"),
    (f"{PLAN} --games 3", "'3' is not one of '1', '2'."),
    (f"{PLAN} --rond 3", "No such option '--rond'. (Did you mean"),
    (f"{PLAN} --openings file:nope", "cannot read the openings in nope"),
    (f"{PLAN} --openings sometimes", 'openings "sometimes" are not auto'),
    (f"{PLAN} --openings auto:plies=99", "too few for auto:plies=99"),
    (f"{PLAN} --type league", "'league' is not one of 'round-robin', 'gauntlet', 'swiss', 'knockout'."),
    (f"{PLAN} --type gauntlet --seeds 5", "seeds, not 5"),
    (f"{PLAN} --name last", '--name "last" is not valid'),
    (f"{PLAN} --name 42", '--name "42" is not valid'),
    (f"{PLAN} --name ../x", '--name "../x" is not valid'),
    (f"{PLAN} --config nope.toml", "cannot read nope.toml: No such file"),
    ("tornament", "No such command 'tornament'. (Did you mean one of: 'tournament', 'tournaments'?)"),
    ("sprt", "No such command 'sprt'."),
]
BOTS = [
    (
        "tournament mcts:playout=3 random --executor inline",
        'arena: mcts has no option "playout"; did you mean',
    ),
    ("tournament minimax:depth=0 random --isolation none", "arena: minimax: depth=0 is not a whole number"),
]
QUERIES = [
    ("show 999", "no match 999 in the store; arena matches lists the stored ones"),
    ("show 99999999999999999999", "no match 99999999999999999999"),
    ("show sprin", 'no tournament "sprin"; did you mean "spring"?'),
    ("show zzz", 'no tournament "zzz" (the newest is duel)'),
    ("replay 999", "no match 999"),
    ("replay x", 'no tournament "x" (the newest is duel)'),
    ("verify 999", "no match 999"),
    ("crosstable zzz", 'no tournament "zzz"'),
    ("resume zzz", 'no tournament "zzz"'),
    ("resume", "there is no unfinished tournament"),
    ("resume spring --rounds 2", "spring has 2 rounds already; give --rounds more than that"),
    ("resume spring --max-time -1", "--max-time -1 is not a positive number"),
    ("stop", "there is no unfinished tournament"),
    ("leaderboard --tournament sprung", 'no tournament "sprung"; did you mean "spring"?'),
    ("leaderboard --bot ranom", 'no bot "ranom" in tic-tac-toe, 5/move in-process; did you mean "random"?'),
    ("leaderboard --refit --vs nobody", 'no stored match of a bot "nobody"'),
    ("leaderboard --vs random", "add --refit to rate only those"),
    ("leaderboard --where result:1-0", "a table of ratings cannot be filtered by result; there are bot, vs"),
    ("leaderboard --tc 60 --st 3", "tc 60 and st 3 exclude each other; give one of them"),
    ("leaderboard --tc 1:2:3", "'--tc': tc: cannot read the time control \"1:2:3\"; write 60+0.6"),
    ("matches --where colour:red", "'--where': no filter \"colour\" (there are bot: vs: result: end: ply<"),
    ("matches --where bto:mcts", 'no filter "bto"; did you mean "bot"?'),
    ("matches --where bot", "bot has no value; write bot:VALUE"),
    ("matches --where ply:x", "ply: x is not a whole number"),
    ("matches --bot random --where bot:mcts", 'bot: "random" and "mcts" exclude each other; give one'),
    ("matches --duration soon", "soon is not a duration like 10 (seconds), 500ms, 2m or 1h"),
    ("matches --opening zz", 'no game can begin with "zz" (tic-tac-toe: '),
    ("matches --mistakes many", "'--mistakes': mistakes: many is not a whole number"),
    ("matches --where tier>T2", "tier takes : or >=, not >"),
    (f"matches --nodes {ENDLESS}", "is not a whole number from 1, of at most 18 digits"),
    (f"matches --before {1 << 63}", f"no match {1 << 63} in the store"),
    (f"show {ENDLESS}", f"no match {ENDLESS[:100]} in the store; arena matches lists the stored ones"),
    (
        f"show {ENDLESS} --grade",
        f"no match {ENDLESS[:100]} in the store; arena matches lists the stored ones",
    ),
    (f"logs #{ENDLESS}", f"no match {ENDLESS[:100]} in the store; arena matches lists the stored ones"),
    (f"logs spring/{ENDLESS}", "its matches are spring/1 to spring/12"),
    ("logs spring/13", "no match 13 in spring; its matches are spring/1 to spring/12"),
    ("logs spring/0", "no match 0 in spring; its matches are spring/1 to spring/12"),
    ("leaderboard --until 2001-01-01", "no stored match fits"),
    ("leaderboard --pool 7/move", 'no pool "7/move"; there are: 2/move in-process; 5/move in-process'),
    ("leaderboard --anchor random", "write BOT=ELO, such as random=1000"),
    ("leaderboard --anchor random=nan", "write BOT=ELO, such as random=1000"),
    ("leaderboard --anchor randon=3", '--anchor randon is not one of the bots; did you mean "random"?'),
    ("leaderboard --since yesterday", "yesterday is not a time like 2026-01-31T12:00"),
    ("matches --until 2026-13-01", "2026-13-01 is not a time"),
    ("matches --termination rulez", 'did you mean "rules"?'),
    ("matches --min-tier T9", "'--min-tier': tier: T9 is not one of T0, T1, T2, T3"),
    ("matches --game ches", 'no game "ches"'),
    ("matches --format xml", "'xml' is not one of 'table', 'json', 'ndjson', 'csv'."),
    ("matches --limit 0", "0 is not in the range"),
    ("matches --bot nobody", 'no stored match of a bot "nobody"'),
    ("tournament random minimax --name spring", "there is a tournament spring already; arena resume spring"),
    ("bots info mtcs", 'did you mean "mcts"?'),
    ("bots check mtcs", 'did you mean "mcts"?'),
    ("bots check random --game ches", 'no game "ches"'),
    ("bots check random --seconds 0", "0.0 is not in the range"),
    ("bots new a/b", '"a/b" cannot be a name'),
    ("bots new x --into taken", "taken exists; choose another folder"),
    ("db backup arena.db", "exists; give a backup a new name"),
    ("db restore nope.db", "nope.db; `arena db backup FILE` makes one"),
    ("db restore arena.db", "is the store itself; name a backup of it"),
]


def _one_line(arena: CommandLine, call: str, status: int, env: dict[str, str] | None = None) -> str:
    result = arena(*call.split(), status=status, env=env)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("arena")
    return line


@pytest.mark.parametrize(("call", "text"), PLANS + BOTS, ids=[call for call, _ in PLANS + BOTS])
def test_no_tournament_begins(arena: CommandLine, call: str, text: str) -> None:
    assert text in _one_line(arena, call, status=2)


@pytest.mark.parametrize(("call", "text"), QUERIES, ids=[call[:60] for call, _ in QUERIES])
def test_queries_name_what_is_not_there(played: CommandLine, call: str, text: str) -> None:
    (played.folder / "taken").mkdir()
    assert text in _one_line(played, call, status=2)
    assert len(played.objects("matches")) == 16


def test_a_tier_that_is_required_and_not_to_be_had_fails_closed(arena: CommandLine) -> None:
    line = _one_line(arena, f"{PLAN} --isolation none --require-tier T2", status=1)
    assert "tier T2 is required" in line
    assert "--require-tier T0 accepts that" in line
    assert not arena.db.exists()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b'bots = ["a"]\nrounds = = 3\n', "at line 2, column"),
        (b"rond = 3\n", 'unknown key "rond"; did you mean "rounds"?'),
        (b'rounds = "3"\n', "rounds"),
        (b"\xff\xfe", "is not a TOML file"),
    ],
    ids=["broken", "unknown key", "wrong type", "not text"],
)
def test_configuration_files_are_named(arena: CommandLine, content: bytes, text: str) -> None:
    (arena.folder / "cup.toml").write_bytes(content)
    line = _one_line(arena, "tournament --config cup.toml", status=2)
    assert "cup.toml" in line
    assert text in line
    line = _one_line(arena, PLAN, status=2, env={"ARENA_CONFIG": "cup.toml"})
    assert text in line


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({"ARENA_LOG": "loud"}, "ARENA_LOG=loud is not one of debug, info, warning, error"),
        ({"ARENA_CONFIG": "nope"}, "ARENA_CONFIG names nope, which is not a file"),
        ({"ARENA_DB": "mysql://a/b"}, "cannot hold a store; give a file"),
        ({"ARENA_DB": "."}, "is a folder; give a file in it"),
        ({"ARENA_DB": "nowhere/a.db"}, "create it, or name another place with --db FILE"),
    ],
)
def test_environment_variables_are_named(arena: CommandLine, env: dict[str, str], text: str) -> None:
    assert text in _one_line(arena, PLAN, status=2, env=env)


@pytest.mark.parametrize(
    "call", ["matches", "leaderboard", "crosstable", "show 1", "resume", "stop", "db check"]
)
def test_nothing_is_stored_yet(arena: CommandLine, call: str) -> None:
    assert "run a tournament first, or name a store with --db FILE" in _one_line(arena, call, status=2)
    assert not arena.db.exists()


@pytest.mark.parametrize("call", ["matches", "leaderboard", PLAN, "db upgrade"])
def test_a_file_that_is_no_store_is_left_alone(arena: CommandLine, call: str, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ada,\n" * 200)
    line = _one_line(arena, f"{call} --db {letter}", status=6)
    assert "is not a store of arena; give another file by --db FILE" in line
    assert letter.read_text() == "Dear Ada,\n" * 200
