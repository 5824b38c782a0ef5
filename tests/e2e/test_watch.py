"""`arena watch` in a real terminal: it starts, shows data, reacts to a key, and restores the terminal."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from command_line import FAST, CommandLine
from terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arena = CommandLine(tmp_path_factory.mktemp("watched"))
    arena("tournament", "random", "minimax:depth=1", *FAST, "--rounds", 1, "--name", "cup", "--quiet")
    return arena.db


@pytest.fixture
def terminal(db: Path) -> Iterator[Terminal]:
    opened = Terminal(db, "watch", "cup", "--ascii", "--reduce-motion", "--read-only")
    yield opened
    opened.close()


def test_watch_starts_shows_and_quits(terminal: Terminal) -> None:
    terminal.wait_for(b"ENDED")
    terminal.press(b"3")
    terminal.wait_for(b"[3 Matches]")
    if sys.platform == "linux":
        # OpenSSL takes 4.6 MB, and no screen needs it.
        assert "libcrypto" not in Path(f"/proc/{terminal.process.pid}/maps").read_text()
    terminal.press(b"q")
    assert terminal.ended() == 0
    assert terminal.is_restored()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_restored_after_a_signal(terminal: Terminal, number: int) -> None:
    terminal.wait_for(b"ENDED")
    terminal.process.send_signal(number)
    terminal.ended()
    assert terminal.is_restored()


def test_watch_ends_when_its_terminal_is_gone(terminal: Terminal) -> None:
    terminal.wait_for(b"ENDED")
    terminal.vanish()


def test_replay_starts_and_quits(db: Path) -> None:
    with Terminal(db, "replay", "1", "--ascii") as terminal:
        terminal.wait_for(b"REPLAY")
        terminal.press(b"q")
        assert terminal.ended() == 0
        assert terminal.is_restored()


def test_watch_without_a_store_says_how_to_begin(tmp_path: Path) -> None:
    with Terminal(tmp_path / "none.db", "watch", "--ascii", "--reduce-motion") as terminal:
        terminal.wait_for(b"No tournament has been played yet")
        terminal.press(b"7")
        terminal.wait_for(b"no tournament yet; n begins one")
        terminal.press(b"n")
        terminal.wait_for(b"[ Start ]")
        # In the form every letter is entered as text.
        terminal.press(b"\x11")
        assert terminal.ended() == 0
        assert terminal.is_restored()


def test_plain_watch_without_a_tournament_says_how_to_begin(tmp_path: Path) -> None:
    arena = CommandLine(tmp_path)
    assert arena.lines("watch", "--plain")[0].startswith("no tournament has been played yet")
    assert not arena.db.exists()
    assert "run a tournament first" in arena("watch", "--plain", "spring", status=2).stderr
    assert "there is no folder" in arena("watch", "--plain", "--db", tmp_path / "x" / "y.db", status=2).stderr
