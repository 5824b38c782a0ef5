from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from arena.content.packages import OURS
from arena.coordinator.plan import make_plan
from arena.coordinator.prepare import check_bots
from arena.errors import BotFailedError
from arena.executor import sandbox_trial, sandboxed
from arena.executor.sandbox_trial import run_kit
from arena.executor.sandboxed import Done, load_statuses, run_sandboxed
from arena_plugins.entries import BOTS, Entry, find
from tournaments import config
from wheels import BOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena.sandbox.readable import Readable


def starts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return a list that receives the names of the plugins that each process loads from now on."""
    found: list[list[str]] = []

    def run(command: Sequence[str], readable: Readable, seconds: float) -> Done:
        found.append(list(command[command.index(BOTS) + 1 :: 2]))
        return run_sandboxed(command, readable, seconds)

    monkeypatch.setattr(sandboxed, "run_sandboxed", run)
    return found


def test_bundled_bots_share_a_process_for_each_content(monkeypatch: pytest.MonkeyPatch) -> None:
    started = starts(monkeypatch)
    bots = [find(BOTS, name) for name in ("exec", "keras", "random", "gomocup", "td-lambda")]
    assert load_statuses(BOTS, bots) == ["ok"] * 5
    assert started == [["exec", "gomocup"], ["keras", "random", "td-lambda"]]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("raise RuntimeError('broken')\n", "RuntimeError: broken"),
        ("import os; os._exit(3)\n", "no reason given"),
    ],
)
def test_a_bundled_bot_that_fails_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, status: str
) -> None:
    started = starts(monkeypatch)
    broken = entry_of(tmp_path, monkeypatch, text)._replace(distribution=OURS)
    first, second = load_statuses(BOTS, [broken, find(BOTS, "random")])
    assert status in first
    assert second == "ok"
    assert started == [["x", "random"], ["x"], ["random"]]


def test_strangers_share_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even bots of one package, or a bot whose package has the arena's name."""
    started = starts(monkeypatch)
    stranger = entry_of(tmp_path, monkeypatch, BOT)
    installed = Entry("y", "trial_subject", OURS, "1", folder=str(tmp_path))
    load_statuses(BOTS, [stranger, stranger._replace(name="z"), find(BOTS, "random"), installed])
    assert started == [["x"], ["z"], ["random"], ["y"]]


def test_a_bundled_bot_loads() -> None:
    assert load_statuses(BOTS, [find(BOTS, "random")])[0] == "ok"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("no_such_module", "No module named 'no_such_module'"),
        ("sys:exit", "has no hook"),
    ],
)
def test_why_a_bot_does_not_load(value: str, status: str) -> None:
    assert status in load_statuses(BOTS, [Entry("x", value, "some", "1")])[0]


def test_a_module_without_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = entry_of(tmp_path, monkeypatch, "PLAYS = True\n")
    words = 'the bot "x" has no hook make_bot; mark a function of that name @hookimpl'
    assert words in load_statuses(BOTS, [plain])[0]


def entry_of(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Entry:
    (folder / "trial_subject.py").write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return Entry("x", "trial_subject", "some", "1")


def test_a_bot_that_dies_or_hangs_while_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = entry_of(tmp_path, monkeypatch, "import os\nos._exit(3)\n")
    assert load_statuses(BOTS, [dying])[0] == "no reason given"
    hanging = entry_of(tmp_path, monkeypatch, "import threading\nthreading.Event().wait()\n")
    monkeypatch.setattr(sandboxed, "_LOAD_S", 0.5)
    assert load_statuses(BOTS, [hanging])[0] == "does not load within 0.5 s"


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
    """A bot that plays in a match and dies in the kit, which loads it from another module."""
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
