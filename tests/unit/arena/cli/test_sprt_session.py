"""`arena test` and `arena match --sprt`: their output, the exit status, and the kept bots."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from arena.shelf.kept import kept_bots

if TYPE_CHECKING:
    from command_line import CommandLine

FAST = ("--isolation", "none", "--require-tier", "T0", "--executor", "inline", "--srand", 3)
WIDE = ("--sprt", "elo0=0,elo1=300,alpha=0.1,beta=0.1")
EXPECTED = "about 380 pairs if equal, 150 if 60 nElo stronger; at most 972"


def test_a_test_says_what_to_expect_and_ends_with_one_sentence(arena: CommandLine) -> None:
    lines = arena.lines(
        "test", "minimax:depth=2", "random", *FAST, *WIDE, "--then-rate", 1, "--name", "better"
    )
    assert lines[0] == "about 8 pairs if equal, 4 if 600 nElo stronger; at most 972"
    assert re.fullmatch(r"Started game 1 of 1946 \(minimax:depth=2 vs random\)", lines[1])
    sentence = r"minimax:depth=2 is stronger: \+\d+ Elo \(95 %: -?\d+ to \d+\) after (\d+) pairs"
    found = re.fullmatch(sentence, lines[-1])
    assert found
    # The decision is printed when it is made, before the rated pairs begin, and at the end.
    assert lines.count(lines[-1]) == 2
    assert "now 1 rated pairs follow" in lines
    llr, ptnml, cost, _ = lines[-4:]
    assert re.fullmatch(r"SPRT: llr [\d.]+ \(1\d\d\.\d%\), lbound -2\.20, ubound 2\.20", llr)
    assert ptnml.endswith(f", {found[1]} pairs")
    assert re.fullmatch(
        r"\d+ matches of the test took \d+ s of play; none of them is rated; 2 after it are",
        cost,
    )
    # A finished test only prints its result.
    again = arena("resume", "better")
    assert again.stdout.splitlines() == [llr, ptnml, cost, lines[-1]]
    assert again.stderr.splitlines()[0] == "better is finished"
    shown = arena.lines("show", "better")
    assert lines[-1] in shown
    assert llr in shown
    assert any("matches of sequential tests are not rated" in line for line in shown)
    listed = arena.lines("games", "--tournament", "better", "--unrated", "--format", "ndjson")
    assert len(listed) >= 2 * int(found[1]) + 2


def test_what_is_not_shown_and_what_stays_undecided(arena: CommandLine) -> None:
    lines = arena.lines("match", "random", "minimax:depth=2", *FAST, *WIDE, "--quiet", status=10)
    assert re.fullmatch(r"not shown: -\d+ Elo \(95 %: -\d+ to -?\d+\) after \d+ pairs", lines[-1])
    assert len(lines) == 4
    bots = ("minimax:depth=1", "minimax:depth=1,name=copy")
    lines = arena.lines("test", *bots, *FAST, "--pairs", 4, "--then-rate", 0, status=11)
    assert lines[0] == "about 4 pairs if equal, 4 if 60 nElo stronger; at most 4"
    assert re.fullmatch(r"undecided: all 4 openings are played; [+-]?\d+ Elo \(95 %: .*\)", lines[-1])


def test_objects_for_programs(arena: CommandLine) -> None:
    longer = ("--sprt", "elo0=0,elo1=60", "--then-rate", 1, "--rating-interval", 2, "--name", "x")
    objects = arena.objects("test", "minimax:depth=2", "random", *FAST, *longer)
    kinds = [str(each["type"]) for each in objects]
    assert kinds[0] == "expectation"
    assert kinds.count("decided") == 1
    assert kinds.index("decided") < len(kinds) - 4
    last = next(each for each in reversed(objects) if each["type"] == "sprt")
    decided = next(each for each in objects if each["type"] == "decided")
    for key in ("decision", "llr", "pairs", "ptnml", "elo", "elo_low", "elo_high", "verdict", "tournament"):
        assert last[key] == decided[key]
    assert (last["decision"], last["num_rated"], decided["num_rated"]) == ("H1", 2, 0)
    assert "encounter" not in kinds
    going = next(each for each in objects if each["type"] == "sprt")
    assert (going["decision"], going["verdict"], going["elo"]) == (None, None, None)
    (shown,) = arena.objects("show", "x")
    test = shown["test"]
    assert isinstance(test, dict)
    assert test["verdict"] == last["verdict"]


def test_with_rated_the_rows_are_marked(arena: CommandLine) -> None:
    arena("match", "minimax:depth=2", "random", *FAST, *WIDE, "--rated", "--quiet", "--name", "counted")
    board = arena.lines("leaderboard")
    assert any(re.search(r"minimax:depth=2 +\d+\??\*", line) for line in board)
    assert any(line.startswith("*: rests on matches of sequential tests") for line in board)
    assert all(row["tested"] == row["games"] for row in arena.objects("leaderboard"))


def test_a_dry_run_plays_nothing(arena: CommandLine) -> None:
    assert arena.lines("test", "minimax", "random", "--dry-run") == [EXPECTED]
    assert arena.lines("match", "minimax", "random", "--dry-run", "--sprt") == [EXPECTED]
    for words, then_rate in ((("test",), 32), (("test", "--rated"), 0), (("match", "--sprt", "gain"), 0)):
        (told,) = arena.objects(*words, "minimax", "random", "--dry-run")
        assert told == {
            "schema": "arena/1",
            "type": "expectation",
            "sprt": "elo0=0,elo1=30,alpha=0.05,beta=0.05,model=normalized",
            "max_pairs": 972,
            "then_rate": then_rate,
            "text": EXPECTED,
        }
    assert not arena.db.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("test", "minimax"), "arena bots keep minimax before the next change"),
        (("test", "minimax", "random", "--sprt", "elo0=5,elo1=5"), "elo0=5 must be below elo1=5"),
        (("test", "minimax", "random", "--pairs", "0"), "--pairs 0 is too small; give 1 or more"),
        (("test", "minimax", "random", "--then-rate", "-1"), "--then-rate -1 is too small"),
        (("test", "minimax", "random", "--game", "tic-tac-toe"), "needs 200 different openings"),
        (("test", "minimax", "random", "mcts"), "3 given: arena test NEW OLD"),
        (("test", "minimax", "random", "--rounds", "3"), "--rounds"),
        (("test",), "0 given: arena test NEW OLD"),
        (("match", "minimax", "random", "--sprt", "gain", "--rounds", "3"), "--pairs N bounds it"),
        (("match", "minimax", "random", "--sprt", "gian"), 'did you mean "gain"'),
        (("match", "--sprt", "minimax", "random"), "write gain, non-regression or"),
        (("match", "minimax", "random", "--then-rate", "3"), "add --sprt gain"),
    ],
)
def test_what_cannot_be_tested_is_refused(arena: CommandLine, words: tuple[str, ...], said: str) -> None:
    result = arena(*words, status=2)
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not arena.db.exists()


def test_bots_of_a_test_are_kept(arena: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_HOME", str(arena.folder / "home"))
    kept = arena.lines("bots", "keep", "minimax:depth=1")
    address = kept_bots()[0].address
    assert kept == [f"kept minimax:depth=1 {kept_bots()[0].record.version} as {address}"]
    options = (
        *WIDE,
        "--require-tier",
        "T0",
        "--executor",
        "inline",
        "--srand",
        3,
        "--then-rate",
        0,
        "--quiet",
    )
    lines = arena.lines("test", "minimax:depth=3", *options, "--name", "next")
    assert re.match(r"minimax@.*:depth=3 is stronger: ", lines[-1])
    assert [each.record.spec for each in kept_bots()] == ["minimax:depth=3", "minimax:depth=1"]
    rows = arena.objects("bots", "list")
    assert [row["status"] for row in rows if row["place"] == "kept"] == [
        f"enter it as {each.address}" for each in kept_bots()
    ]
    # A kept bot survives pruning, and is removed by its address.
    arena("bots", "prune", "--days", 0)
    arena("match", address, "random", "--game", "tic-tac-toe", "--rounds", 1, "--require-tier", "T0")
    assert arena.lines("bots", "remove", address) == [f"{address} is no longer kept"]
    assert [each.record.spec for each in kept_bots()] == ["minimax:depth=3"]
