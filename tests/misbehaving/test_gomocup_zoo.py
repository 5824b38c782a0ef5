"""Gomocup engines with the habits of real ones play, or are refused with a reason.

`make gomocup-trials` plays twenty matches with each of them in every tier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.coordinator.plan import make_plan
from arena.coordinator.prepare import check_bots
from arena.entrants import resolve
from arena.errors import BotFailedError
from arena.executor.preflight import Candidate, describe_fault, preflight
from arena.executor.sandbox_trial import run_kit
from arena.referee import timecontrol
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins import check_bots as kit
from gomocup_zoo import PLAYS, REFUSED, play, spec_of
from tournaments import config

if TYPE_CHECKING:
    from pathlib import Path

TIERS = [tier for tier in tiers_to_try() if tier is not Tier.T0]
WITH_FILES_AND_PROCESSES = ("LateState", "OneMatch", "Writes", "Configured", "Shim")
"""Engines that need files or processes, which a tier may refuse."""
NUM_POSITIONS = 3
RUNS = [(name, tier) for tier in TIERS for name in (PLAYS if tier is TIERS[0] else WITH_FILES_AND_PROCESSES)]


@pytest.mark.parametrize(("name", "tier"), RUNS, ids=str)
def test_it_plays_every_match(name: str, tier: Tier, tmp_path: Path) -> None:
    results = play(spec_of(name, tmp_path / "bot"), tier, 3)
    assert [(result.termination.value, result.fault) for result in results] == [("rules", None)] * 3
    assert {result.tier for result in results} == {Tier.T0.value}
    for result in results:
        # Only the opponent answers within the five milliseconds that an engine's answer is delayed.
        ours = [ms for ms in result.times_ms if ms >= 5]
        assert len(ours) >= len(result.times_ms) // 2 - len(result.actions[: result.num_opening])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_play_is_refused_with_the_cause(name: str, tmp_path: Path) -> None:
    expected = REFUSED[name]
    (bot,) = resolve([spec_of(name, tmp_path / "bot")], margin_ms=0)
    control = TimeControl(mode="move", move_ms=1000, margin_ms=4000)
    fault = preflight(Candidate(bot, "gomoku", control, TIERS[0].value, 8.0))
    assert fault is not None
    assert describe_fault(fault).startswith(f"{expected.termination}: ")
    assert expected.words in describe_fault(fault)


@pytest.mark.parametrize("name", ["TwoLines", "Algebra"])
def test_a_match_and_a_check_refuse_in_the_same_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A request without a time limit waits for a move until the watchdog ends it.
    monkeypatch.setattr(timecontrol, "WATCHDOG_MS", 2_000)
    spec, expected = spec_of(name, tmp_path / "bot"), REFUSED[name]
    (result,) = play(spec, TIERS[0], 1)
    assert (result.termination.value, result.fault_player) == (expected.termination, 0)
    assert result.fault is not None
    assert expected.words in str(result.fault["cause"])
    failed = [check.detail for check in run_kit(spec, "gomoku", 0.2) if not check.passed]
    assert expected.words in failed[0]


def test_an_engine_without_board_plays_from_the_empty_board(tmp_path: Path) -> None:
    spec = spec_of("NoBoard", tmp_path / "bot")
    from_start = play(spec, TIERS[0], 2, openings=[()])
    assert [result.termination.value for result in from_start] == ["rules"] * 2
    (result,) = play(spec, TIERS[0], 1, openings=[(112, 113)])
    assert result.termination.value == "bot_error"
    assert result.fault is not None
    assert str(result.fault["cause"]).endswith(
        'the engine answered "UNKNOWN command" to BOARD, which sets up openings; play it from the '
        "empty board, with --openings none"
    )


def test_an_engine_without_board_is_refused_before_a_tournament_with_openings(tmp_path: Path) -> None:
    spec = spec_of("NoBoard", tmp_path / "bot")
    settings = config(
        spec, "random", game="gomoku", isolation=TIERS[0].value, require_tier="T0", init_time=8.0
    )
    words = 'the engine answered "UNKNOWN command" to BOARD, which sets up openings'
    with pytest.raises(BotFailedError, match=words) as refused:
        check_bots(make_plan(settings))
    said = next(check.detail for check in run_kit(spec, "gomoku", 0.2) if not check.passed)
    assert said in str(refused.value)
    assert check_bots(make_plan(msgspec.structs.replace(settings, openings="none"))) == []


def test_an_engine_passes_the_check(tmp_path: Path) -> None:
    checks = run_kit(spec_of("Plain", tmp_path / "bot"), "gomoku", 0.1)
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 12


def test_an_engine_that_plays_one_match_passes_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each check of the kit uses three positions instead of twelve: an engine that is restarted twenty times
    # shows as much as one that is restarted sixty times.
    monkeypatch.setattr(kit, "_NUM_POSITIONS", NUM_POSITIONS)
    # A position that does not follow from the previous one is a new match, for which the engine is restarted:
    # a second, because its clock includes the start of Python.
    checks = run_kit(spec_of("OneMatch", tmp_path / "bot"), "gomoku", 1.0)
    assert [check for check in checks if not check.passed] == []
    assert f"{NUM_POSITIONS} positions" in {check.detail for check in checks}
