"""Tables of a store that changes while they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from arena.coordinator import joining
from arena.results import rating_tables
from arena.watching.store_feed import StoreFeed
from arena_db.store import Store
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from arena.live.table_views import StandingsView


def test_a_bot_enters_while_tables_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arena.db"
    sitting = Sitting(path, config(*TRIO, name="cup", type="gauntlet", seeds=2))
    sitting.play()
    sitting.store.close()
    plain = rating_tables.standings

    def after_an_entry(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as the function behind it
        monkeypatch.setattr(rating_tables, "standings", plain)
        with Store.open(path) as store:
            record = joining.find_open_event(store, "cup")
            joining.join(store, record, joining.plan_join(store, record, "minimax:depth=2"), reason="new")
        return plain(*given, **named)

    feed = StoreFeed(str(path), 1)
    try:
        feed.poll()
        monkeypatch.setattr(rating_tables, "standings", after_an_entry)
        batch = feed.poll()
    finally:
        feed.close()
    assert batch is not None
    assert batch.facts is not None
    rows = cast("StandingsView", batch.facts["standings"]).rows
    assert "minimax:depth=2" in {row.name for row in rows}
    assert len(rows) == len(TRIO) + 1
