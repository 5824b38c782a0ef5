"""Bots that each fail under one adverse condition: failures are noticed, and acceptable ends accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.executor import seat_checks
from arena.executor.sandboxed import strongest_usual_tier
from arena.executor.seat_checks import STRESS_CHECKS, run_stress_checks
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from pathlib import Path

    from arena_plugins.conformance import Check

BOT = """
import os, secrets, sys, time
from arena_plugins import PlayResult, hookimpl

class Bot:
    deterministic = True
    num_matches = num_asked = 0
    last = None

    def new_match(self, seed):
        self.num_matches += 1
        self.num_asked = 0

    def play(self, state, limit):
        legal, self.num_asked = state.legal_actions, self.num_asked + 1
        {play}
        return PlayResult(legal[0])

@hookimpl
def make_bot(game, seed, options):
    {make}
    return Bot()
"""
WRITES = "open('notes', 'wb').write(b'x' * 5000)"
CREATES = "open('notes', 'wb').close()"
ASKS_PROC = "open('/proc/self/status').read()"
CHANGES_MODE = "CREATED = open('notes', 'wb').close(); os.chmod('notes', 0o600)"
HOARDS = "Bot.hoard = bytearray(b'x' * 300_000_000)"
AGES = """
        now, last = time.monotonic(), self.last
        self.last = now
        if self.num_asked > 1 and now - last > 0.3: os._exit(3)
"""
REMEMBERS = "if self.num_matches: return PlayResult(legal[-1])"
SPACE, INODES, MEMORY, PROC, MODE, PAUSE, KILL = (each.title for each in STRESS_CHECKS)


def seen(  # noqa: PLR0913 - all that a condition and a bot can be
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    title: str,
    *,
    make: str = "",
    play: str = "",
    options: str = "",
) -> list[Check]:
    """Return the check of a bot under one condition; empty if this machine cannot create the condition."""
    (folder / "hard.py").write_text(BOT.format(make=make or "pass", play=play or "pass"))
    chosen = tuple(each for each in STRESS_CHECKS if each.title == title)
    monkeypatch.setattr(seat_checks, "STRESS_CHECKS", chosen)
    bot = f"python:file={folder / 'hard.py'}{options}"
    return list(run_stress_checks(bot, "tic-tac-toe", seconds=0.2, first_number=7, pause_s=0.4))


@pytest.mark.parametrize(
    ("title", "make", "cause"),
    [
        (SPACE, WRITES, "No space left on device"),
        (INODES, CREATES, "No space left on device"),
        (PROC, ASKS_PROC, "/proc/self/status"),
        (MODE, CHANGES_MODE, "Operation not permitted"),
    ],
)
def test_a_bot_that_misses_something_and_says_so(
    title: str, make: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check in seen(tmp_path, monkeypatch, title, make=make):
        assert (check.number, check.title, check.passed) == (7, title, True)
        assert check.detail.startswith("init_crash: ")
        assert cause in check.detail


@pytest.mark.parametrize(("title", "make"), [(PROC, ASKS_PROC), (MODE, CHANGES_MODE)])
def test_what_a_bot_was_granted_is_missing_in_a_weaker_tier(
    title: str, make: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = min(strongest_usual_tier(), Tier.T2)
    monkeypatch.setattr(seat_checks, "strongest_usual_tier", lambda: tier)
    for check in seen(tmp_path, monkeypatch, title, make=make, options=",procfs=on,allow=chmod"):
        assert check.detail.startswith("init_crash: ")


@pytest.mark.parametrize("title", [SPACE, INODES, PROC, MODE])
def test_a_bot_that_does_without(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for check in seen(tmp_path, monkeypatch, title):
        assert (check.passed, check.detail) == (True, "it wins by three in a row, 7 actions")


@pytest.mark.parametrize(("title", "make"), [(SPACE, CREATES), (INODES, "os.chmod('.', 0o700)")])
def test_one_thing_is_missing_at_a_time(
    title: str, make: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check in seen(tmp_path, monkeypatch, title, make=make):
        assert check.detail == "it wins by three in a row, 7 actions"


def test_too_much_memory_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = seen(tmp_path, monkeypatch, MEMORY, make=f"{HOARDS}; time.sleep(60)")
    assert check.passed
    assert check.detail.startswith("oom: ")


def test_a_bot_that_dies_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for check in seen(tmp_path, monkeypatch, PROC, make=f"try: {ASKS_PROC}\n    except OSError: os._exit(3)"):
        assert not check.passed
        assert check.detail.startswith("it dies without an explanation: init_crash: ")


def test_a_signal_is_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kill = "sys.stderr.write('goodbye'); sys.stderr.flush(); os.kill(os.getpid(), 11)"
    (check,) = seen(tmp_path, monkeypatch, PAUSE, make=kill)
    assert not check.passed
    assert check.detail.startswith("it dies without an explanation: init_crash")
    assert check.detail.endswith("goodbye")


def test_a_bot_that_dies_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    die = (
        f"try: {ASKS_PROC}\n    except OSError: sys.stderr.write('no proc'); sys.stderr.flush(); os._exit(3)"
    )
    for check in seen(tmp_path, monkeypatch, PROC, make=die):
        assert check.passed
        assert check.detail.endswith("no proc")


def test_a_bot_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seat_checks, "_MARGIN_MS", 50)
    (check,) = seen(tmp_path, monkeypatch, PAUSE, play="time.sleep(60)")
    assert not check.passed
    assert check.detail.startswith("it hangs: time_move")


def test_a_bot_that_cannot_bear_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = seen(tmp_path, monkeypatch, PAUSE, play=AGES.strip())
    assert not check.passed
    assert check.detail.startswith("it dies without an explanation: crash")


def test_a_restarted_bot_plays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = seen(tmp_path, monkeypatch, KILL)
    assert (check.passed, check.detail) == (True, "it wins by three in a row, 7 actions")


def test_a_restarted_bot_that_plays_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = seen(tmp_path, monkeypatch, KILL, play=REMEMBERS)
    assert not check.passed
    assert check.detail.startswith("it says that it is deterministic, but it played a3 ")


def test_a_restarted_bot_that_promises_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = f"if self.deterministic: Bot.deterministic = False\n        {REMEMBERS}"
    (check,) = seen(tmp_path, monkeypatch, KILL, make="Bot.deterministic = False", play=play)
    assert check.passed


def test_a_fault_of_the_arena_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no seat")

    monkeypatch.setattr("arena.referee.hosted.spawn", fail)
    (check,) = seen(tmp_path, monkeypatch, MEMORY)
    assert not check.passed
    assert check.detail.startswith("the arena failed: arena_error")


def test_each_tier_tries_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del tmp_path
    monkeypatch.setattr(seat_checks, "strongest_usual_tier", lambda: Tier.T1)
    titles = [check.title for check in run_stress_checks("random", "tic-tac-toe", seconds=0.1, pause_s=0.0)]
    assert titles == [MEMORY, PAUSE, KILL]
    assert strongest_usual_tier() >= Tier.T1
