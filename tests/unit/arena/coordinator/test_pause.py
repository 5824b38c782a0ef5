"""A run that is paused, resumed, or stopped during a pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.run_events import MatchFinished
from arena.executor.pools import InlinePool
from arena.live.events import unpack
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from arena.coordinator.config import TournamentConfig

    Begin = Callable[[TournamentConfig], Sitting]


def test_a_pause_holds_matches_back_until_it_goes_on(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    sitting = begin(config(*TRIO, rounds=4))
    store, tournament, asked = sitting.store, sitting.tournament.id, list[int]()

    class WatchedPool(InlinePool):
        """Requests a pause in the middle of a batch, and resumes once no match is running."""

        def stop(self) -> None:
            super().stop()
            asked.append(store.commands.send(tournament, "resume"))

    def on_event(event: object) -> None:
        if isinstance(event, MatchFinished) and event.record.number == 1:
            asked.append(store.commands.send(tournament, "pause"))

    assert sitting.play_in(WatchedPool(), on_event).state == "finished"
    sitting.assert_whole()
    assert [command.answer for command in map(store.commands.find, asked) if command is not None] == [
        "no new match begins until it is resumed; running ones end and are stored",
        "matches begin again",
    ]
    states = [unpack(event.payload)["state"] for event in sitting.told() if event.kind == "state"]
    assert [state for state, before in zip(states, ["", *states], strict=False) if state != before] == [
        "running",
        "paused",
        "running",
    ]


def test_a_stop_ends_a_pause(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    sitting = begin(config(*TRIO, rounds=4))
    store, tournament = sitting.store, sitting.tournament.id

    class WatchedPool(InlinePool):
        def stop(self) -> None:
            super().stop()
            store.commands.send(tournament, "stop")

    def on_event(event: object) -> None:
        if isinstance(event, MatchFinished) and event.record.number == 1:
            store.commands.send(tournament, "pause")

    assert sitting.play_in(WatchedPool(), on_event).reason == "a stop was requested"
    assert 0 < len(sitting.matches()) < (sitting.tournament.num_total or 0)
