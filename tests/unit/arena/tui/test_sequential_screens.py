"""A sequential test on the screens of the dashboard and as plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.cli.plain_watch import follow_plain
from arena.results.sequential import SprtBook
from arena.watching.store_feed import StoreFeed
from tournaments import Sitting, config
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.coordinator.run_events import Event
    from arena.tui.screens.dashboard import Dashboard

TEST = {"game": "connect-four", "type": "match", "then_rate": 2}
WIDE = "elo0=0,elo1=300,alpha=0.1,beta=0.1,model=normalized"


@pytest.fixture
def decided(tmp_path: Path) -> Sitting:
    """Return a decided test, with matches played after its decision."""
    sitting = Sitting(tmp_path / "arena.db", config("minimax:depth=2", "random", sprt=WIDE, **TEST))
    sitting.play()
    return sitting


def test_the_verdict_is_on_the_screens(decided: Sitting, tmp_path: Path) -> None:
    report = SprtBook(decided.store, decided.tournament).report()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        assert report.verdict() in seen(app), "under the boards"
        await press(pilot, "2")
        text = seen(app)
        assert report.verdict() in text, "above the standings"
        assert "matches of sequential tests are not rated" in text
        await press(pilot, "a")
        text = seen(app)
        assert report.verdict() not in text, "a leaderboard is over all tournaments"
        assert "matches of sequential tests are not rated" in text

    shown(watch(tmp_path / "arena.db"), act)


def test_plain_lines_say_where_it_stands(
    decided: Sitting, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = SprtBook(decided.store, decided.tournament).report()
    follow_plain(StoreFeed(str(tmp_path / "arena.db"), 1), lambda _: None)
    assert f"100 %, {report.verdict()}" in capsys.readouterr().out


def test_a_test_that_was_killed_shows_its_state(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path / "arena.db", config("minimax:depth=2", "random", sprt="gain", **TEST))

    class StoppedError(Exception):
        """Ends the run at once."""

    def stop(event: Event) -> None:
        if len(sitting.matches()) >= 6:
            raise StoppedError(str(event))

    with pytest.raises(StoppedError):
        sitting.play(on_event=stop)
    report = SprtBook(sitting.store, sitting.tournament).report()
    assert report.state.decision is None
    feed = StoreFeed(str(tmp_path / "arena.db"), 1)
    batch = feed.poll()
    assert batch is not None
    assert batch.view is not None
    assert batch.view.progress.goal == report.line()
    assert report.line().startswith("SPRT: llr ")
    feed.close()


def test_viewers_are_told_by_events_too(tmp_path: Path) -> None:
    book: list[SprtBook] = []
    sitting = Sitting(tmp_path / "arena.db", config("minimax:depth=2", "random", sprt=WIDE, **TEST))
    book.append(SprtBook(sitting.store, sitting.tournament))
    sitting.play(goal=lambda: book[0].report().line())
    states = [event.payload for event in sitting.told() if event.kind == "state"]
    assert any("SPRT: llr" in state for state in states)
    assert book[0].report().verdict() in states[-1]
