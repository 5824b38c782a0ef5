"""`arena watch` in a real terminal: it starts, shows, takes a key, and leaves the terminal as it was."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from command_line import FAST, CommandLine
from terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
    terminal.press(b"q")
    assert terminal.ended() == 0
    assert terminal.is_restored()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_restored_after_a_signal(terminal: Terminal, number: int) -> None:
    terminal.wait_for(b"ENDED")
    terminal.process.send_signal(number)
    terminal.ended()
    assert terminal.is_restored()


def test_replay_starts_and_quits(db: Path) -> None:
    terminal = Terminal(db, "replay", "1", "--ascii")
    try:
        terminal.wait_for(b"REPLAY")
        terminal.press(b"q")
        assert terminal.ended() == 0
        assert terminal.is_restored()
    finally:
        terminal.close()
