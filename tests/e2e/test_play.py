"""`arena play`: by lines in all games, on a terminal with the mouse, and after its coordinator was killed."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from arena.home import open_store
from arena_plugins import load_game
from command_line import CommandLine
from plays import moves_to, wait_for
from source_tree import ROOT
from terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

DEADLINE_S = 120.0
RESULTS = {1.0: "1-0", 0.0: "1/2-1/2"}
FIRST_LEGAL = f'exec:cmd="sh {ROOT / "docs/examples/first-legal.sh"}"'
"""A bot that plays the first legal action."""


class Person:
    """A person who plays by lines."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.env = {**os.environ, "ARENA_HOME": str(folder / "home"), "ARENA_DB": str(folder / "arena.db")}
        self.process = subprocess.Popen(  # noqa: S603 # our own program
            [sys.executable, "-m", "arena", "play", *words, "--plain"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
        )
        self.output = ""

    def prompt(self) -> str:
        """Read up to the next prompt, or to the end; return the new output."""
        said, end = "", time.monotonic() + DEADLINE_S
        assert self.process.stdout is not None
        while not said.endswith("\n> ") and said != "> ":
            assert time.monotonic() < end, self.output + said
            if select.select([self.process.stdout], [], [], 1.0)[0]:
                new = os.read(self.process.stdout.fileno(), 65_536).decode()
                if not new:
                    break
                said += new
        self.output += said
        return said

    def say(self, line: str) -> str:
        """Write a line; return the output up to the next prompt."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        return self.prompt()

    def leave(self) -> tuple[int, str]:
        """Close the input; return the exit status and stderr."""
        _, error = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, error.decode()


@pytest.fixture
def sit(tmp_path: Path) -> Iterator[Callable[..., Person]]:
    """Yield a function that starts a play; every play is ended after the test."""
    people: list[Person] = []

    def one(*words: str) -> Person:
        people.append(Person(tmp_path, *words))
        return people[-1]

    yield one
    for person in people:
        # Ending the process closes the pipes as well.
        with person.process:
            person.process.kill()


def rows(folder: Path) -> list[dict[str, object]]:
    """Return the stored matches, oldest first."""
    return CommandLine(folder).objects("matches", "--unrated", "--db", folder / "arena.db")[::-1]


@pytest.mark.parametrize(
    ("game", "side", "returns"),
    [
        ("connect-four", "--first", (1.0, -1.0)),
        ("gomoku:k=4,size=6", "--second", (1.0, -1.0)),
        ("tic-tac-toe", "--first", (0.0, 0.0)),
    ],
)
def test_a_match_by_lines(
    tmp_path: Path, sit: Callable[..., Person], game: str, side: str, returns: Sequence[float]
) -> None:
    person = sit(FIRST_LEGAL, "--game", game, side)
    assert ("you are X, first" if side == "--first" else "you are O, second") in person.prompt()
    rules, said = load_game(game), ""
    state = rules.initial_state()
    for action in moves_to(rules, returns, 0 if side == "--first" else 1):
        if side == "--second":
            state = state.child(state.legal_actions[0])
        said = person.say(rules.move(state, action))
        state = state.child(action)
        if side == "--first" and not state.is_terminal:
            state = state.child(state.legal_actions[0])
    assert re.search(r"match play-1/1 over: .*, rules", said), person.output
    assert "the match is over" in person.say("a1" if game != "connect-four" else "4")
    person.say("quit")
    assert person.leave() == (0, "")
    (match,) = rows(tmp_path)
    assert (match["result"], match["rated"], match["tournament"]) == (RESULTS[returns[0]], False, "play-1")


def test_what_can_be_asked_by_lines(tmp_path: Path, sit: Callable[..., Person]) -> None:
    person = sit(FIRST_LEGAL, "--hint", "minimax:depth=1", "--clock", "5:00+1")
    person.prompt()
    assert "no move yet" in person.say("last")
    assert "match play-1/1 ply 2: second exec" in person.say("4")
    assert "column 4 from the bottom: X, 5 empty" in person.say("col 4")
    assert "row 1 from the left: O, 2 empty, X, 3 empty" in person.say("row 1")
    assert "there is no column 9; there are 1 2 3 4 5 6 7" in person.say("col 9")
    assert "last: O exec" in person.say("last")
    assert re.search(r"clock: first X [45]:\d\d\.\d, second O 5:0\d", person.say("clock"))
    assert "legal: 1 2 3 4 5 6 7" in person.say("legal")
    assert " 1 O . . X . . ." in person.say("board")
    assert "is what minimax:depth=1 would play" in person.say("hint")
    assert "not a move of connect-four" in person.say("99")
    assert "undo, resign, new" in person.say("help")
    assert "taken back" in (said := person.say("undo"))
    assert "match play-1/2 begins" in said
    assert "you resign" in (said := person.say("resign"))
    assert "match play-1/2 over" in said
    assert "you are O, second" in person.say("new")
    person.say("quit")
    assert person.leave() == (0, "")
    # The coordinator stores the last match after the person has left.
    wait_for(lambda: rows(tmp_path)[2:])
    found = rows(tmp_path)
    assert [(match["result"], match["termination"]) for match in found] == [
        ("*", "aborted"),
        ("0-1", "resign"),
        ("*", "aborted"),
    ]


def test_rated_play_counts_and_leaving_it_is_a_loss(tmp_path: Path, sit: Callable[..., Person]) -> None:
    person = sit("random", "--rated")
    person.prompt()
    person.say("4")
    assert "no undo: this match is rated" in person.say("undo")
    assert "no hints: this match is rated" in person.say("hint")
    person.say("quit")
    assert person.leave() == (0, "")
    (match,) = wait_for(lambda: rows(tmp_path))
    assert (match["result"], match["rated"], match["termination"]) == ("0-1", True, "resign")
    table = CommandLine(tmp_path).lines("leaderboard", "--db", tmp_path / "arena.db")
    assert any("human" in line for line in table)


def test_a_killed_coordinator_is_noticed_and_its_match_goes_on(
    tmp_path: Path, sit: Callable[..., Person]
) -> None:
    person = sit(FIRST_LEGAL)
    person.prompt()
    person.say("4")
    with open_store(str(tmp_path / "arena.db"), read_only=True) as store:
        lease = store.leases.find(1)
        assert lease is not None
        os.kill(lease.owner.pid, signal.SIGKILL)
    said = person.say("4")
    # Either the move is refused, or the end is noticed first; both messages name the next command.
    ways_on = ("to continue: arena play --attach play-1", "arena play --attach play-1 continues it")
    assert any(way in said for way in ways_on), said
    assert person.leave()[0] == 0
    again = sit("--attach", "play-1")
    # No move of the old match is requested, although no viewer has seen its end.
    assert "opening 4 1" in (said := again.prompt()), said
    assert "ply 4" in again.say("4")
    again.say("quit")
    assert again.leave() == (0, "")
    # The coordinator stores the match after the person has left, and releases its lease later.
    with open_store(str(tmp_path / "arena.db"), read_only=True) as store:
        wait_for(lambda: rows(tmp_path)[1:] and store.leases.find(1) is None)
    assert [match["termination"] for match in rows(tmp_path)] == ["aborted", "aborted"]
    arena = CommandLine(tmp_path)
    assert "played by a person" in arena("resume", "play-1", "--db", tmp_path / "arena.db", status=2).stderr


def test_whose_screen_was_killed_goes_on_with_the_same_match(
    tmp_path: Path, sit: Callable[..., Person]
) -> None:
    person = sit(FIRST_LEGAL)
    person.prompt()
    person.say("4")
    person.process.kill()
    again = sit("--attach", "play-1")
    assert " 1 O . . X . . ." in (said := again.prompt()), said
    assert "match play-1/1 ply 4" in again.say("4")
    again.say("quit")
    assert again.leave() == (0, "")
    assert [match["plies"] for match in wait_for(lambda: rows(tmp_path))] == [4]


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (["nobody"], 2, 'no bot "nobody"'),
        ([], 2, "give a BOT"),
        (["random", "--attach", "play-1"], 2, "give a BOT"),
        (["random", "--opening", "4 99"], 2, "--opening, move 2"),
        (["random", "--game", "chess"], 2, 'no game "chess"'),
        (["random", "--clock", "soon"], 2, "time control"),
        (["minimax:depth=x"], 2, "depth"),
        (["exec:cmd=/bin/false"], 5, "does not start"),
        (["--attach", "play-9"], 2, 'no tournament "play-9"'),
    ],
)
def test_what_cannot_be_played_ends_with_one_line(
    tmp_path: Path, sit: Callable[..., Person], words: list[str], status: int, reason: str
) -> None:
    person = sit(*words)
    person.prompt()
    found, error = person.leave()
    assert (found, error.count("\n")) == (status, 1), error
    assert reason in error
    assert not (tmp_path / "arena.db").exists() or rows(tmp_path) == []


def test_headless_play_says_what_it_is_called(tmp_path: Path) -> None:
    process = subprocess.Popen(  # noqa: S603 # our own program
        [sys.executable, "-m", "arena", "play", "random", "--headless", "--db", str(tmp_path / "arena.db")],
        stdout=subprocess.PIPE,
        env={**os.environ, "ARENA_HOME": str(tmp_path / "home")},
    )
    assert process.stdout is not None
    begun = json.loads(process.stdout.readline())
    assert (begun["type"], begun["tournament"]) == ("begun", "play-1")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert [match["termination"] for match in rows(tmp_path)] == ["aborted"]


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose subfolder `home` is the arena's home."""
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize(
    ("game", "clicks", "answer", "actions"),
    [
        ("connect-four", ((11, 9), (19, 9)), b"last O 1", [3, 0]),
        ("tic-tac-toe", ((7, 6), (11, 8)), b"last O a3", [4, 0]),
        ("gomoku", ((6, 5), (20, 12)), b"last O a15", [112, 0]),
    ],
)
def test_the_mouse_plays_on_a_real_terminal(
    own_home: Path,
    game: str,
    clicks: tuple[tuple[int, int], tuple[int, int]],
    answer: bytes,
    actions: list[int],
) -> None:
    tmp_path, (elsewhere, cell) = own_home, clicks
    words = ("play", FIRST_LEGAL, "--game", game, "--ascii", "--reduce-motion")
    with Terminal(tmp_path / "arena.db", *words) as terminal:
        terminal.wait_for(b"your move")
        # Columns and lines of a terminal are counted from 1.
        terminal.press(b"\x1b[<35;%d;%dM" % cell)
        if game == "connect-four":
            terminal.wait_for(b"mx\x1b")
        # Releasing the button over another column makes no move; a click in one column does.
        terminal.press(b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm" % (*elsewhere, *cell))
        terminal.press(b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm" % (*cell, *cell))
        terminal.wait_for(answer)
        terminal.press(b"q")
        terminal.wait_for(b"Leave this match?")
        terminal.press(b"y")
        assert terminal.ended() == 0
        assert terminal.is_restored()
    (match,) = wait_for(lambda: rows(tmp_path))
    assert (match["result"], match["plies"]) == ("*", 2)
    shown = CommandLine(tmp_path).objects("show", match["id"], "--db", tmp_path / "arena.db")
    assert shown[0]["actions"] == actions


def test_a_bot_that_has_changed_is_announced(sit: Callable[..., Person], tmp_path: Path) -> None:
    script = tmp_path / "bot.sh"
    script.write_bytes((ROOT / "docs/examples/first-legal.sh").read_bytes())
    errors: list[str] = []
    for _ in range(3):
        person = sit(f'exec:cmd="sh {script}"', "--game", "tic-tac-toe", "--opening", "b2")
        person.prompt()
        errors.append(person.leave()[1])
        if len(errors) == 2:
            with script.open("a") as file:
                file.write("# better\n")
    assert errors[0] == errors[1] == ""
    assert "changed since it played in play-2: it is entered as a new competitor" in errors[2]
