from __future__ import annotations

import json
import platform
import shlex
import sys
import tempfile
from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.entrants import resolve
from arena.executor.fenced import strongest_usual_tier
from arena.executor.preflight import describe_fault, is_refused_option, preflight
from arena.referee.seats import Fault
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier
from arena_plugins import Spec, Termination, load_game

if TYPE_CHECKING:
    from pathlib import Path

GAME = load_game("tic-tac-toe")
LIMIT = TimeControl.parse(None, 30, None)


@pytest.fixture(params=["T0", "T1"])
def tier(request: pytest.FixtureRequest) -> str:
    return request.param


def run(spec: str, tier: str, **changes: str) -> Fault | None:
    (bot,) = resolve([spec], margin_ms=50)
    return preflight(msgspec.structs.replace(bot, **changes), GAME, LIMIT, tier=tier, init_s=30)


def test_a_good_bot_passes(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert run("mcts:playouts=5", tier) is None
    assert run("mcts:nodes=5", tier) is None
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_refused_option(tier: str) -> None:
    fault = run("minimax:dept=3", tier)
    assert fault is not None
    assert is_refused_option(fault)
    assert 'minimax has no option "dept"; did you mean "depth"?' in str(fault.detail["cause"])


def test_a_program_that_refuses_an_option(tier: str) -> None:
    refusal = json.dumps({"type": "error", "code": "bad_option", "message": "no level 9"})
    program = shlex.join(["sh", "-c", f"read line; echo '{refusal}'; read line"])
    (bot,) = resolve([str(Spec("exec", {"cmd": program}))], margin_ms=50)
    fault = preflight(bot, GAME, LIMIT, tier=tier, init_s=30)
    assert fault is not None
    assert is_refused_option(fault)
    assert "no level 9" in str(fault.detail["cause"])


def test_a_bot_that_does_not_start(tier: str) -> None:
    fault = run("strange:broken=on", tier)
    assert fault is not None
    assert not is_refused_option(fault)
    assert describe_fault(fault).startswith("init_crash: ")
    assert "broken on purpose" in describe_fault(fault)


def test_a_program_that_does_not_start_is_told_what_it_may_read() -> None:
    strong = strongest_usual_tier()
    (bot,) = resolve([str(Spec("exec", {"cmd": f"{shlex.quote(sys.executable)} nothing.py"}))], margin_ms=50)
    said = {
        tier: describe_fault(fault)
        for tier in {Tier.T1, strong}
        if (fault := preflight(bot, GAME, LIMIT, tier=tier, init_s=30)) is not None
    }
    assert all("nothing.py" in text for text in said.values())
    runtime = f"python {platform.python_version()}"
    assert (f"in tier {strong} it reads only its runtime ({runtime}) and" in said[strong]) == (
        strong >= Tier.T2
    )
    assert "folder=DIR" not in said[Tier.T1]


@pytest.mark.parametrize(
    ("stderr", "last"),
    [
        ("Error: Cannot find module 'x'\n    at y\n\nNode.js v20.20.2\n", "Error: Cannot find module 'x'"),
        (
            "Error: no main class Bot\nCaused by: java.lang.ClassNotFoundException: Bot\n",
            "Caused by: java.lang.ClassNotFoundException: Bot",
        ),
        ("warming up\n./engine: no such file\n", "./engine: no such file"),
    ],
)
def test_the_line_of_a_log_that_names_the_error_is_shown(stderr: str, last: str) -> None:
    fault = Fault(Termination.INIT_CRASH, {"cause": "it closed its output", "stderr": stderr})
    assert describe_fault(fault) == f"init_crash: it closed its output: {last}"


def test_a_bot_that_does_not_answer_well(tier: str) -> None:
    fault = run("strange:cheat=on", tier)
    assert fault is not None
    assert describe_fault(fault) == "illegal_move: its action is not a legal one"


def test_a_bot_that_cannot_be_imported(tier: str) -> None:
    fault = run("random", tier, entry="nowhere")
    assert fault is not None
    assert "nowhere" in describe_fault(fault)
