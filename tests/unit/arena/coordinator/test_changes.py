"""The messages about bots that have changed since they last played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strange_bots
from arena.content.store import content_folder, prune
from arena.coordinator.changes import changes, needed_contents, played_before
from arena.entrants import resolve
from arena_db.records import BotRecord
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from arena.coordinator.config import TournamentConfig
    from arena.entrants import Competitor

    Begin = Callable[[TournamentConfig], Sitting]


def strange() -> Competitor:
    return resolve(["strange"], margin_ms=50)[0]


def test_a_bot_that_changed_is_named_with_where_it_played(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    was = strange()
    sitting = begin(config("random", "strange", rounds=1))
    sitting.play()
    assert changes(sitting.store, sitting.plan.competitors) == []
    strange_bots.install(monkeypatch, tmp_path / "newer", "2.0")
    now = strange()
    (change,) = changes(sitting.store, [*resolve(["random"], margin_ms=0), now])
    assert (change.bot, change.tournament, change.was, change.now) == (
        "strange",
        "rr-1",
        was.content,
        now.content,
    )
    assert str(change) == "strange changed since it played in rr-1: it is entered as a new competitor"
    # A command that enters both versions gets no message.
    assert changes(sitting.store, [was, now]) == []
    assert changes(sitting.store, resolve(["strange:sign=on"], margin_ms=0)) == []
    assert [(each.record, each.num_matches) for each in played_before(sitting.store, now.record)] == [
        (was.record, 2)
    ]


def test_a_bot_of_an_older_store_is_a_new_competitor(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    def before(bot: Competitor) -> Competitor:
        record = BotRecord(
            identity="0" * 64,
            name="strange",
            spec="strange",
            distribution="strange",
            version="1.0",
            files="{}",
        )
        return type(bot)(label="strange", record=record, spec="strange", entry="", options={}, limit=None)

    now = strange()

    def found(*_: object) -> list[Competitor]:
        return [before(now), *resolve(["random"], margin_ms=0)]

    with monkeypatch.context() as patch:
        patch.setattr("arena.coordinator.plan._competitors", found)
        sitting = begin(config("strange", "random"))
    (change,) = changes(sitting.store, [now])
    assert str(change) == (
        "strange played in rr-1 before its code was part of its identity: it is entered as a new competitor"
    )


def test_what_an_unfinished_tournament_needs_is_not_pruned(begin: Begin) -> None:
    sitting = begin(config("random", "strange", isolation="T1"))
    contents = {bot.content for bot in sitting.plan.competitors}
    assert needed_contents(sitting.store) == contents
    prune(needed_contents(sitting.store), unused_s=0)
    assert contents <= {path.name for path in content_folder().iterdir()}
    sitting.play()
    assert needed_contents(sitting.store) == set()
