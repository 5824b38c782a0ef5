"""The suite of hostile bots notices each kind of deviation."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

from arena.sandbox.scratch import ScratchFolder
from arena.trials import rogues, suite
from arena.trials.suite import TrialPlan, run_suite
from arena_plugins.hostile.table import TABLE, Misbehaviour

ROWS = {row.name: row for row in TABLE}


def deviations_of(row: Misbehaviour, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setattr(suite, "TABLE", (ROWS["good"], ROWS["slow"], row))
    trials, _ = run_suite(TrialPlan(["T1"], ["tic-tac-toe"]), lambda chosen: chosen.name == row.name)
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


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("sysv-segment", "a segment of System V shared memory"),
        ("posix-queue", "a POSIX message queue"),
        ("shm-file", "a file in /dev/shm"),
    ],
)
def test_what_is_left_in_the_kernel(name: str, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert deviations_of(ROWS[name]._replace(tier="T1"), monkeypatch) == (f"it left {left}",)


def test_a_mount_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = uuid.uuid4().hex
    assert suite.leftovers(mark) == []
    line = f"36 35 98:0 / /mnt rw - tmpfs {mark} rw"

    def lines(path: str) -> list[str]:
        return [line] if path == "/proc/self/mountinfo" else []

    monkeypatch.setattr(suite, "_lines", lines)
    assert suite.leftovers(mark) == ["a mount"]


def leave(_: object) -> None:
    """Remove nothing."""


def test_a_scratch_folder_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScratchFolder, "remove", leave)
    (found,) = deviations_of(ROWS["exit-3"], monkeypatch)
    assert found == "its scratch folder was left, or that of its opponent (1)"


@pytest.mark.parametrize(
    ("times", "is_slower"), [([100.0], False), ([900.0, 20.0], False), ([900.0] * 5, True)]
)
def test_a_slower_start(times: list[float], is_slower: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 - a parameter of the test
    starts = iter([80.0] * 5 + times)

    def start_ms(_: object) -> float:
        return next(starts)

    monkeypatch.setattr(suite, "_start_ms", start_ms)
    monkeypatch.setattr(suite, "TABLE", (ROWS["good"], ROWS["slow"], ROWS["exit-3"]))
    trials, _ = run_suite(
        TrialPlan(["T1"], ["tic-tac-toe"]), lambda row: row.name == "exit-3", times_starts=True
    )
    assert [trial.next_start_ms for trial in trials] == [min(times)]
    slower = ("the next start took 900 ms, before it was 80 ms",)
    assert trials[0].deviations == (slower if is_slower else ())
    assert next(starts, None) is None


def test_starts_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "TABLE", (ROWS["good"], ROWS["slow"]))
    monkeypatch.setattr(suite, "_SLACK_MS", 60_000.0)
    trials, _ = run_suite(
        TrialPlan(["T1"], ["tic-tac-toe"]), lambda row: row.name == "good", times_starts=True
    )
    assert [trial.deviations for trial in trials] == [()]
    assert trials[0].next_start_ms > 1


def test_a_survivor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "_GONE_S", 0.05)
    token = uuid.uuid4().hex
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()", token]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own code
        assert process.stdout is not None
        process.stdout.readline()  # just after its start a process has no arguments yet
        assert suite.surviving(token) == [process.pid]
        process.kill()
    assert suite.surviving(token) == []
