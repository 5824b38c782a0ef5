"""Only hashed files run: edits during a run, changed copies, and checks sandboxed as in a match."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.content.store import content_folder
from arena.coordinator import orders, planner
from arena.coordinator.jobs import make_jobs
from arena.coordinator.run_events import BotWithdrawn, MatchFinished
from arena.entrants import resolve
from arena.errors import PluginError
from arena.executor.sandbox_trial import run_kit
from arena.executor.sandboxed import strongest_usual_tier
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_job
from arena.executor.worker_seats import make_seat
from arena.referee.clock import GameClock
from arena.referee.seats import Answer, Forfeit, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier
from arena_plugins import Termination, load_game
from tournaments import Sitting, config
from wheels import BOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.coordinator.plan import Plan
    from arena.coordinator.run_events import Event
    from arena.entrants import Competitor
    from arena.executor.job import Job
    from arena_db.records import PlannedMatch, TournamentRecord

GAME = load_game("tic-tac-toe")
CONTROL = TimeControl(mode="move", move_ms=30_000)
SETUP = SeatSetup(match="m", game=GAME, player=0, seed=1, control=CONTROL)
ROOT = Path(__file__).parents[4]


def install(site: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    info = site / "edited-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: edited\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[arena.bots]\nedited = edited\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    (site / "edited.py").write_text(text)
    return site / "edited.py"


def spoil(bot: Competitor) -> Path:
    copy = Path(bot.place, "lib", "edited.py")
    copy.chmod(0o644)
    copy.write_text(BOT.replace("[0]", "[1]"))
    return copy


def first_move(bot: Competitor, tier: Tier) -> int | Termination:
    seat = make_seat(bot, GAME.name, tier)
    try:
        fault = seat.start(SETUP)
        answer = fault or seat.ask(GAME.initial_state(), 0, GameClock((CONTROL, CONTROL)))
    finally:
        seat.close()
    if isinstance(answer, Forfeit):
        return answer.termination
    assert isinstance(answer, Answer)
    return answer.action


@pytest.mark.parametrize("tier", sorted({Tier.T1, strongest_usual_tier()}))
def test_an_edit_in_mid_run_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tier: Tier
) -> None:
    module = install(tmp_path / "site", monkeypatch, BOT)
    (bot,) = resolve(["edited"], margin_ms=0)
    assert first_move(bot, tier) == 0
    module.write_text(BOT.replace("[0]", "[-1]"))
    assert first_move(bot, tier) == 0
    (again,) = resolve(["edited"], margin_ms=0)
    assert first_move(again, tier) == 8
    assert again.record.identity != bot.record.identity
    module.unlink()
    assert first_move(bot, tier) == 0


def test_a_changed_copy_costs_nobody_a_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch, BOT)
    sitting = Sitting(tmp_path / "arena.db", config("edited", "random", isolation="T1", require_tier="T1"))
    bot = sitting.plan.competitors[0]
    copy = spoil(bot)
    with pytest.raises(
        PluginError, match=rf"content {bot.content[:8]} of edited in .* was changed or removed"
    ):
        first_move(bot, Tier.T1)
    control = make_control(SlotCallbacks(Slot.here(0)))
    record = play_job(sitting.jobs()[0], control)
    control.close()
    assert (record.termination, record.outcome, record.rated) == (Termination.ARENA_ERROR, "void", False)
    assert "was changed or removed during play; resume the tournament" in record.fault
    assert "Traceback" not in record.fault
    ended = sitting.play()
    sitting.store.close()
    # The next run restores the copy from its source.
    assert ended.state == "finished"
    assert (copy.read_text(), copy.stat().st_mode & 0o777) == (BOT, 0o444)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Return a list of functions; each is called once, when matches are planned and no bot is started yet."""
    monkeypatch.setattr(planner, "_LOOK_S", 0.0)
    monkeypatch.setattr(orders, "_COMMAND_S", 0.0)
    actions: list[Callable[[], object]] = []

    def make(record: TournamentRecord, plan: Plan, matches: Sequence[PlannedMatch]) -> list[Job]:
        jobs = make_jobs(record, plan, matches)
        while actions:
            actions.pop()()
        return jobs

    monkeypatch.setattr(planner, "make_jobs", make)
    return actions


def test_files_that_are_lost_during_play_are_stored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned: list[Callable[[], object]]
) -> None:
    install(tmp_path / "site", monkeypatch, BOT)
    sitting = Sitting(
        tmp_path / "arena.db",
        config(
            "edited",
            "random",
            isolation="T1",
            require_tier="T1",
            rounds=2,
        ),
    )
    bot = sitting.plan.competitors[0]
    planned.append(lambda: spoil(bot))
    assert sitting.play().state == "finished"
    assert Path(bot.place, "lib", "edited.py").read_text() == BOT
    ends = [(match.attempt, match.outcome == "void") for match in sitting.matches()]
    assert [end for end in ends if end[1]] == [(0, True)], "one attempt was in vain"
    assert len(ends) == 5
    assert not sitting.store.integrity.check()
    sitting.store.close()


def test_a_bot_of_a_ladder_whose_files_are_lost_for_good_is_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned: list[Callable[[], object]]
) -> None:
    module = install(tmp_path / "site", monkeypatch, BOT)
    bots = ("edited", "random", "minimax:depth=1")
    sitting = Sitting(
        tmp_path / "arena.db",
        config(
            *bots,
            type="ladder",
            name="main",
            isolation="T1",
            require_tier="T1",
        ),
    )
    bot = sitting.plan.competitors[0]

    def lose() -> None:
        spoil(bot)
        module.unlink()

    def stop(told: Event) -> None:
        if isinstance(told, MatchFinished) and told.num_done == 12:
            sitting.store.commands.send(1, "stop")

    planned.append(lose)
    assert sitting.play(on_event=stop).num_done >= 12
    (withdrawn,) = [told for told in sitting.events if isinstance(told, BotWithdrawn)]
    assert withdrawn.bot == "edited"
    assert f"no copy of its content {bot.content[:8]}" in withdrawn.reason
    assert [each.state for each in sitting.store.tournaments.entrants(1)] == ["left", "playing", "playing"]
    voids = [match for match in sitting.matches() if match.termination == "arena_error"]
    assert len(voids) <= 2
    assert all(0 in (match.first_seat, match.second_seat) for match in voids)
    assert not sitting.store.integrity.check()
    sitting.store.close()


def test_a_bot_without_a_content_is_not_started() -> None:
    (bot,) = resolve(["random"], margin_ms=0, keep=False)
    assert bot.place == ""
    with pytest.raises(PluginError, match="random has no content to start from"):
        make_seat(bot, GAME.name, Tier.T1)


def test_the_check_of_a_program_is_fenced(tmp_path: Path) -> None:
    """A program that attacks as soon as it starts: no attack may have succeeded."""
    canary = tmp_path / "canary"
    canary.write_text("alive")
    script = tmp_path / "evil.sh"
    bot = (ROOT / "docs/examples/first-legal.sh").read_text().partition("\n")[2]
    attack = f"echo dead > {canary}; echo found > {tmp_path}/found"
    script.write_text(f"#!/bin/sh\n{{ {attack}; }} 2>/dev/null\n{bot}")
    checks = run_kit(f"exec:cmd=sh {script}", "tic-tac-toe", 0.2)
    assert all(check.passed for check in checks), checks
    assert len(checks) == 12
    is_fenced = strongest_usual_tier() >= Tier.T2
    assert (canary.read_text() == "alive") == is_fenced
    assert (tmp_path / "found").exists() != is_fenced


def test_the_check_of_a_bot_of_the_environment_is_fenced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = f"try: open({str(tmp_path / 'found')!r}, 'w')\nexcept OSError: pass\n"
    install(tmp_path / "site", monkeypatch, attack + BOT)
    checks = run_kit("edited", "tic-tac-toe", 0.2)
    assert [check.number for check in checks if not check.passed] == [2]
    assert (tmp_path / "found").exists() == (strongest_usual_tier() < Tier.T2)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ('printf \'{"type":"hello"\'', 1),
        ("exit 3", 1),
        ('say action "\\"id\\":\\"$id\\",\\"action\\":99"', 1),
    ],
)
def test_a_program_that_a_match_refuses_fails_its_check(tmp_path: Path, line: str, number: int) -> None:
    text = (ROOT / "docs/examples/first-legal.sh").read_text()
    script = tmp_path / "bad.sh"
    key = '*\'"type":"go"\'*) value id; id=$value; value legal; ' if "action" in line else "while"
    script.write_text(
        text.replace(key, f"{key}{line}; continue; " if "action" in line else f"{line}\n{key}", 1)
    )
    checks = run_kit(f"exec:cmd=sh {script}", "tic-tac-toe", 0.2)
    assert (checks[0].number, checks[0].passed) == (number, False)
    (bot,) = resolve([f"exec:cmd=sh {script}"], margin_ms=0)
    played = first_move(bot, strongest_usual_tier())
    assert isinstance(played, Termination)
    assert checks[0].detail.startswith(played.value)


def test_entering_writes_nothing_for_those_who_only_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    kept = resolve(["random"], margin_ms=0, keep=False)[0]
    assert not content_folder().exists()
    entered = resolve(["random"], margin_ms=0)[0]
    assert msgspec.structs.replace(entered, place="", state="") == kept
    (data,) = (content_folder() / "entered").iterdir()
    assert data.name == f"{kept.record.identity}.json"
