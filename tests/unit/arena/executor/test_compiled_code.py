"""Code that a bot compiles in the preflight is found by its later processes, and by no other bot's."""

from __future__ import annotations

import dataclasses
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from arena.entrants import Competitor, resolve
from arena.executor.preflight import Candidate, describe_fault, preflight
from arena.executor.worker_seats import compiled_folder, make_seat
from arena.person import sessions
from arena.person.session_config import PlayConfig, make_play
from arena.referee.clock import GameClock
from arena.referee.seats import Answer, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins.manager import load_game

GAME = load_game("tic-tac-toe")
CONTROL = TimeControl(mode="move", move_ms=60_000)
PLUGIN = """
import numba
from arena_plugins import PlayResult, hookimpl

@numba.njit(cache=True)
def double(number):
    return 2 * number

class Bot:
    def play(self, state, limit):
        double(21)
        hits, misses = (sum(count.values()) for count in (double.stats.cache_hits, double.stats.cache_misses))
        return PlayResult(state.legal_actions[0], text=f"{hits} hits, {misses} misses")

@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""


@pytest.fixture
def competitor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Competitor:
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "doubler.py").write_text(PLUGIN)
    info = modules / "doubler-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: doubler\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[arena.bots]\ndoubler = doubler\n")
    monkeypatch.setattr(sys, "path", [str(modules), *sys.path])
    return resolve(["doubler"], margin_ms=0)[0]


def said(competitor: Competitor, tier: Tier) -> str | None:
    setup = SeatSetup(match="m", game=GAME, player=0, seed=0, control=CONTROL, init_s=60.0)
    with closing(make_seat(competitor, GAME.name, tier)) as seat:
        assert seat.start(setup) is None
        answer = seat.ask(GAME.initial_state(), 0, GameClock((CONTROL, CONTROL)))
    assert isinstance(answer, Answer)
    return answer.thoughts.text


@pytest.mark.parametrize("tier", sorted({Tier.T1, max(tier for tier in tiers_to_try() if tier <= Tier.T2)}))
def test_the_preflight_compiles_for_all(tier: Tier, competitor: Competitor) -> None:
    assert said(competitor, tier) == "0 hits, 1 misses"
    assert not Path(compiled_folder(competitor)).exists()  # only the preflight keeps compiled code
    assert preflight(Candidate(competitor, "tic-tac-toe", CONTROL, tier, 60.0)) is None
    assert said(competitor, tier) == "1 hits, 0 misses"


def test_code_that_differs_shares_nothing(competitor: Competitor) -> None:
    def of(**changes: str) -> Competitor:
        return msgspec.structs.replace(competitor, record=dataclasses.replace(competitor.record, **changes))

    others = [
        of(name="other"),
        msgspec.structs.replace(competitor, options={"cmd": "python -m another"}),
        msgspec.structs.replace(competitor, content="0" * 64),
    ]
    assert len({compiled_folder(other) for other in [competitor, *others]}) == 4
    assert compiled_folder(of(identity="y", spec="doubler:depth=3")) == compiled_folder(competitor)


SLOW = """
import os, pathlib, time
def busy():
    end = time.monotonic() + 5
    kept = list(pathlib.Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc"))
    while not kept and time.monotonic() < end:
        began = time.thread_time()
        while time.thread_time() < began + 0.05:
            pass
        time.sleep(0.1)
"""
"""A bot that takes 5 s without kept code, and computes for a third of that, so it seems to compile.

A move that loads what was kept has over three seconds, which a busy machine may need.
"""


def written(**changes: str) -> Competitor:
    """Write the bot with other settings, and return its competitor."""
    text = PLUGIN
    for old, new in changes.items():
        text = text.replace(old, new)
    Path(sys.path[0], "doubler.py").write_text(text)
    return resolve(["doubler"], margin_ms=0)[0]


@pytest.mark.usefixtures("competitor")
def test_what_compiles_longer_than_a_move_may_take_passes_and_plays() -> None:
    slow = written(**{"class Bot": f"{SLOW}\nclass Bot", "double(21)": "busy(); double(21)"})
    control = TimeControl.parse(None, 3.5, None)
    assert preflight(Candidate(slow, "tic-tac-toe", control, Tier.T1, 60.0)) is None
    assert said(slow, Tier.T1) == "1 hits, 0 misses"


@pytest.mark.usefixtures("competitor")
@pytest.mark.parametrize("line", ["import time; time.sleep(30)", "while True: pass"])
def test_a_bot_that_waits_or_computes_on_is_refused_with_the_option_that_helps(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.executor.preflight._PATIENCE_S", 1.5)
    late = written(**{"double(21)": line})
    fault = preflight(Candidate(late, "tic-tac-toe", TimeControl.parse(None, 0.5, None), Tier.T1, 60.0))
    assert fault is not None
    assert describe_fault(fault).endswith("; it had 0.5 s, --st or --tc gives longer")


@pytest.mark.usefixtures("competitor")
def test_a_person_waits_for_a_bot_that_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    written(**{"class Bot": f"{SLOW}\nclass Bot", "double(21)": "busy(); double(21)"})
    monkeypatch.setattr(sessions, "_TRIAL_MARGIN_MS", 1000)
    plan = make_play(PlayConfig(bot="doubler", game="tic-tac-toe", isolation="T1", require_tier="T0"))
    with sessions._ready(plan, Tier.T1) as seat:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        setup = SeatSetup(match="m", game=GAME, player=0, seed=0, control=CONTROL, init_s=60.0)
        assert seat.start(setup) is None
        answer = seat.ask(GAME.initial_state(), 0, GameClock((CONTROL, CONTROL)))
    assert isinstance(answer, Answer)
    # The process that compiled the code is the one that plays.
    assert answer.thoughts.text == "0 hits, 1 misses"
