"""A tournament in a store of an earlier schema is resumed and enlarged; see also `make older-trials`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.coordinator.prepare import enlarge
from arena.coordinator.run_events import MatchFinished
from stores import downgrade
from tournaments import Sitting, config

if TYPE_CHECKING:
    from pathlib import Path

    from arena.coordinator.run_events import Event

BOTS = ("random", "minimax:depth=1")
EARLIER = ("0001", "0004", "0009", "0014")
"""The first schema, the last one without sums, the first one with batches, and the previous one."""


def match(path: Path, rounds: int) -> Sitting:
    return Sitting(path, config(*BOTS, type="match", rounds=rounds))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Sitting:
    """Play a tournament with the current schema to its end."""
    sitting = match(tmp_path_factory.mktemp("whole") / "arena.db", 8)
    assert sitting.play().state == "finished"
    sitting.store.close()
    return sitting


@pytest.mark.parametrize("revision", EARLIER)
def test_it_is_resumed_and_enlarged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Sitting, revision: str
) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    path = tmp_path / "arena.db"
    begun = match(path, 6)

    def on_event(event: Event) -> None:
        if isinstance(event, MatchFinished) and event.num_done == 5:
            begun.store.commands.send(begun.tournament.id, "stop")

    assert begun.play(on_event=on_event).state == "stopped"
    kept = begun.matches()
    assert 5 <= len(kept) < 12
    begun.store.close()
    downgrade(path, revision)

    again = Sitting.reopen(path)
    with again.store:
        assert again.store.integrity.check() == []
        plan = again.matches_planned()
        assert again.play().state == "finished"
        assert again.store.plans.unplayed(again.tournament.id) == []
        record = again.store.tournaments.find(again.tournament.id)
        assert record is not None
        enlarge(again.store, record, again.plan, rounds=8)
        assert again.play().state == "finished"
        assert again.matches_planned()[:12] == plan
        began = {found.number: found.started_at for found in again.matches()}
        assert {found.number: began[found.number] for found in kept} == {
            found.number: found.started_at for found in kept
        }
        assert again.store.integrity.check() == []
        results = again.results()
    with Sitting.reopen(whole.store.path).store as store:
        expected = {
            one.number: (one.outcome, one.termination, one.actions) for one in store.matches.of_tournament(1)
        }
    assert results == expected
