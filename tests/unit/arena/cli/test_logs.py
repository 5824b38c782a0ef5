"""`arena logs`, and the output of a bot that fails its first position or its check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command_line import FAST

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine

BOT = """
import sys
from arena_plugins import PlayResult, hookimpl

class Bot:
    def play(self, state, limit):
        print("{name}", len(state.history) + 1)
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    {in_make}
    return Bot()
"""


def write(folder: Path, name: str, in_make: str = "pass") -> str:
    (folder / f"{name}.py").write_text(BOT.format(name=name, in_make=in_make))
    return f"python:file={folder / name}.py,name={name}"


def test_addresses_and_bots(arena: CommandLine) -> None:
    bots = write(arena.folder, "left"), write(arena.folder, "right")
    report = arena("match", *bots, *FAST, "--rounds", 1, "--openings", "none", "--name", "m", "--srand", 1)
    # Output of bots is not part of the report, and output of the arena is in no log.
    assert "left 1" not in report.stdout
    assert "Started game 2 of 2" in report.stdout
    first = [f"1 {ply}| {('left', 'right')[(ply - 1) % 2]} {ply}" for ply in range(1, 8)]
    second = [f"2 {ply}| {('right', 'left')[(ply - 1) % 2]} {ply}" for ply in range(1, 8)]
    lefts = [*first[::2], *second[1::2]]
    rights = [*first[1::2], *second[::2]]
    whole = arena("logs", "m")
    assert whole.stdout.splitlines() == [*lefts, *rights]
    assert [line.split()[1] for line in whole.stderr.splitlines()] == ["left", "right"]
    assert arena.lines("logs", "m", "--bot", "right") == rights
    stored = arena.objects("matches")
    (two,) = [match["id"] for match in stored if match["number"] == 2]
    for address in ("m/2", f"#{two}", str(two)):
        assert arena.lines("logs", address) == [*second[1::2], *second[::2]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sprin",), 'no tournament "sprin"; did you mean "spring"?'),
        (("spring/13",), "no match 13 in spring; its matches are spring/1 to spring/12"),
        (("spring/0",), "no match 0 in spring"),
        (("#999",), "no match 999 in the store; arena matches lists"),
        (("spring", "--bot", "rando"), 'no bot "rando" in spring; did you mean "random"?'),
    ],
)
def test_what_is_not_there_is_named(played: CommandLine, words: tuple[str, ...], said: str) -> None:
    assert said in played("logs", *words, status=2).stderr


def test_where_nothing_is_kept_it_says_so(played: CommandLine) -> None:
    result = played("logs", "spring/3")
    assert result.stdout == ""
    assert result.stderr.startswith("nothing is kept of what bots printed in spring/3; ")


NOISE = 'sys.stderr.write("".join(f"line {n}\\x1b[2J\\n" for n in range(40))); raise ValueError("broken")'


def test_a_failed_first_position_shows_the_end_of_stderr(arena: CommandLine) -> None:
    bad = write(arena.folder, "bad", NOISE)
    options = (*FAST[4:], "--isolation", "T1", "--require-tier", "T1")
    result = arena("match", bad, "random", *options, status=5)
    head, *lines, last = result.stderr.splitlines()
    assert head.startswith("bad wrote to stderr (kept in ")
    assert last.startswith("arena: bad failed before the tournament: init_crash")
    assert len(lines) == 20
    assert lines[-1].endswith("ValueError: broken")
    assert all(line.isprintable() for line in lines)
    kept = (arena.folder / "home" / "logs" / "~trials" / "bad.log").read_text().splitlines()
    assert kept[0] == "line 0[2J"
    assert [f"  {line}" for line in kept[-20:]] == lines


def test_a_failed_check_shows_the_end_of_stderr(arena: CommandLine) -> None:
    bad = write(arena.folder, "bad", NOISE)
    result = arena("bots", "check", bad, "--game", "tic-tac-toe", status=5)
    head, *_, last, _ = result.stderr.splitlines()
    assert head.startswith("bad wrote to stderr (kept in ")
    assert last.endswith("ValueError: broken")
