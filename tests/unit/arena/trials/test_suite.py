"""A suite that found nothing wrong with anything would be worth nothing: each deviation is seen."""

from __future__ import annotations

import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

from arena.trials import rogues, suite, traces
from arena.trials.suite import run_suite
from arena_plugins.hostile.table import TABLE, Misbehaviour

if TYPE_CHECKING:
    import pytest

ROWS = {row.name: row for row in TABLE}


def deviations_of(row: Misbehaviour, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setattr(suite, "TABLE", (ROWS["good"], ROWS["slow"], row))
    trials, _ = run_suite(["T1"], ["tic-tac-toe"], select=lambda chosen: chosen.name == row.name)
    return trials[-1].deviations


def test_an_attack_that_worked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert deviations_of(ROWS["read-store"]._replace(tier="T1"), monkeypatch) == ("WORKED: precious",)


def test_another_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = deviations_of(ROWS["exit-3"]._replace(expected=("draw", "rules")), monkeypatch)
    assert found.startswith("ended in crash, not draw or rules: {")


def test_a_late_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "VERDICT_MS", -1000)
    (found,) = deviations_of(ROWS["sleep"], monkeypatch)
    assert found.endswith("ms after the deadline")


def test_a_match_that_should_be_void(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "_WARM", ("slow",))
    (found,) = deviations_of(ROWS["exit-3"], monkeypatch)
    assert found == "both failed, and the match was not void"


def test_a_ponderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "_IDLE_MS", -1.0)
    (found,) = deviations_of(ROWS["good"], monkeypatch)
    assert found.endswith("ms of CPU while its opponent thought")


def test_weights_that_ran_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    trusting = rogues._SOURCE.replace("{load}(", "__import__('pickle').loads(open(*[")  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(rogues, "_SOURCE", trusting.replace('"weights"))', '"weights")], mode="rb").read())'))
    found = deviations_of(ROWS["pickle-weights"], monkeypatch)
    assert found[-1] == "store.db was changed"


def dotted(text: str, _: int) -> str:
    return text + "."


def harmed(_: object) -> str:
    return "harmed"


def test_an_unclean_text_and_a_harmed_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "clean_text", dotted)
    monkeypatch.setattr(suite.Canary, "find_harm", harmed)
    assert deviations_of(ROWS["exit-3"], monkeypatch) == ("a text is not clean", "harmed")


def test_a_survivor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_GONE_S", 0.05)
    token = uuid.uuid4().hex
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()", token]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own code
        assert process.stdout is not None
        process.stdout.readline()  # just after its start a process has no arguments yet
        assert traces.surviving(token) == [process.pid]
        process.kill()
    assert traces.surviving(token) == []
