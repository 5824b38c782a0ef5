from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from arena.coordinator.plan import make_plan
from arena.coordinator.prepare import check_bots
from arena.errors import BotFailedError
from arena.executor import sandbox_trial
from arena.executor.sandbox_trial import load_status, run_kit
from arena_plugins.entries import BOTS, Entry, find
from tournaments import config
from wheels import BOT

if TYPE_CHECKING:
    from pathlib import Path


def test_a_bundled_bot_loads() -> None:
    assert load_status(BOTS, find(BOTS, "random")) == "ok"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("no_such_module", "No module named 'no_such_module'"),
        ("sys:exit", "has no hook"),
    ],
)
def test_why_a_bot_does_not_load(value: str, status: str) -> None:
    assert status in load_status(BOTS, Entry("x", value, "some", "1"))


def test_a_module_without_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = entry_of(tmp_path, monkeypatch, "PLAYS = True\n")
    words = 'the bot "x" has no hook make_bot; mark a function of that name @hookimpl'
    assert words in load_status(BOTS, plain)


def entry_of(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Entry:
    (folder / "trial_subject.py").write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return Entry("x", "trial_subject", "some", "1")


def test_a_bot_that_dies_or_hangs_while_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = entry_of(tmp_path, monkeypatch, "import os\nos._exit(3)\n")
    assert load_status(BOTS, dying) == "no reason given"
    hanging = entry_of(tmp_path, monkeypatch, "import threading\nthreading.Event().wait()\n")
    monkeypatch.setattr(sandbox_trial, "_LOAD_S", 0.5)
    assert load_status(BOTS, hanging) == "does not load within 0.5 s"


def test_the_kit_passes_a_good_bot() -> None:
    checks = run_kit("random", "tic-tac-toe", 0.2)
    assert len(checks) > 5
    assert all(check.passed for check in checks)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "doomed.py").write_text(text)
    info = folder / "doomed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: doomed\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[arena.bots]\ndoomed = doomed\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])


def test_the_kit_tells_of_its_death(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that plays in a match and dies in the kit, which is loaded by another module."""
    die = "import os, sys\nif 'arena_plugins.host' not in sys.modules: os.kill(os.getpid(), 9)\n"
    install(tmp_path, monkeypatch, BOT + die)
    (last,) = run_kit("doomed", "tic-tac-toe", 0.2)
    assert (last.number, last.title, last.passed) == (1, "The kit runs to its end", False)
    assert last.detail == "its process ended with -9: no reason given"


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("import no_such_module\n", "init_crash: .*No module named 'no_such_module'"),
        ("raise SystemExit(3)\n", "init_crash: .*SystemExit: 3"),
    ],
)
def test_what_a_match_refuses_the_check_refuses_in_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, words: str
) -> None:
    install(tmp_path, monkeypatch, BOT + broken)
    (only,) = run_kit("doomed", "tic-tac-toe", 0.2)
    assert (only.number, only.passed) == (1, False)
    assert re.match(words, only.detail)
    plan = make_plan(config("doomed", "random", game="tic-tac-toe", isolation="auto", require_tier="T0"))
    with pytest.raises(BotFailedError, match=re.escape(only.detail)):
        check_bots(plan)


def test_a_bad_first_move_fails_the_first_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, BOT.replace("state.legal_actions[0]", "-1"))
    first, *others = run_kit("doomed", "tic-tac-toe", 0.2)
    assert (first.passed, first.title) == (False, "It starts and answers as in a match")
    assert first.detail.startswith("illegal_move")
    assert [check.number for check in others] == list(range(2, 13))


def test_the_kit_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_trial, "_KIT_S", 0.01)
    (check,) = run_kit("random", "tic-tac-toe", 0.2)
    assert (check.passed, check.detail) == (False, "no end within 0.01 s")
