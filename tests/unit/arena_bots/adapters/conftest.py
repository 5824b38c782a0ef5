"""Seats, matches and small programs for the tests of adapters."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from arena.entrants import resolve
from arena.executor.worker_seats import make_seat
from arena.match import MatchResult, MatchSetup, play_match
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena_plugins.contract import Game, State

    Play = Callable[..., list[MatchResult]]

CONTROL = TimeControl(mode="move", move_ms=30_000)


@pytest.fixture
def play() -> Play:
    """Return a function that plays matches of two specs with the same processes, the first bot first."""

    def run(
        first: str,
        second: str = "random",
        game: str = "connect-four",
        *,
        matches: int = 1,
        tier: Tier = Tier.T1,
        **setup: Any,  # noqa: ANN401 - values of any field
    ) -> list[MatchResult]:
        rules = load_game(game)
        pair = [
            make_seat(competitor, rules.name, tier)
            for competitor in resolve([first, second], margin_ms=50, twins=True)
        ]
        fields: dict[str, Any] = {"controls": (CONTROL, CONTROL), **setup}
        setups = [
            MatchSetup(
                id=f"m{number}",
                labels=("A", "B"),
                seeds=(number, number + 1),
                **fields,
            )
            for number in range(matches)
        ]
        with closing(pair[0]) as one, closing(pair[1]) as two:
            return [play_match(rules, (one, two), setup) for setup in setups]

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a source into a new file."""

    def file(source: str, name: str = "agent.py") -> Path:
        path = tmp_path / name
        path.write_text(source, encoding="utf-8")
        return path

    return file


@pytest.fixture
def after() -> Callable[..., State]:
    def state(game: Game, *actions: int) -> State:
        position = game.initial_state()
        for action in actions:
            position = position.child(action)
        return position

    return state
