from __future__ import annotations

import os
from pathlib import Path

import pytest

import strange_bots
from arena.executor import trial
from arena.executor.trial import load_status, run_kit
from arena_plugins.entries import BOTS, Entry, find


def test_a_bundled_bot_loads() -> None:
    assert load_status(BOTS, find(BOTS, "random")) == "ok"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("no_such_module", "No module named 'no_such_module'"),
        ("json", 'the bot "x" has no hook make_bot; mark a function of that name @hookimpl'),
        ("sys:exit", "has no hook"),
    ],
)
def test_why_a_bot_does_not_load(value: str, status: str) -> None:
    assert status in load_status(BOTS, Entry("x", value, "some", "1"))


def entry_of(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Entry:
    (folder / "trial_subject.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return Entry("x", "trial_subject", "some", "1")


def test_a_bot_that_dies_or_hangs_while_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = entry_of(tmp_path, monkeypatch, "import os\nos._exit(3)\n")
    assert load_status(BOTS, dying) == "no word of why"
    hanging = entry_of(tmp_path, monkeypatch, "import threading\nthreading.Event().wait()\n")
    monkeypatch.setattr(trial, "_LOAD_S", 0.5)
    assert load_status(BOTS, hanging) == "does not load within 0.5 s"


def test_the_kit_passes_a_good_bot() -> None:
    checks = run_kit("random", "tic-tac-toe", 0.2)
    assert len(checks) > 5
    assert all(check.passed for check in checks)


def test_the_kit_tells_of_its_death(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(Path(strange_bots.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), here]))
    (last,) = run_kit(f"strange:folder={tmp_path},kill-once=on", "tic-tac-toe", 0.2)
    assert (last.number, last.title, last.passed) == (1, "The kit runs to its end", False)
    assert last.detail == "its process ended with -9: no word of why"


def test_the_kit_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_KIT_S", 0.01)
    (check,) = run_kit("random", "tic-tac-toe", 0.2)
    assert (check.passed, check.detail) == (False, "no end within 0.01 s")
