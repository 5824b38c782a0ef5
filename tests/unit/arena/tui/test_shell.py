"""The shell of the dashboard: incoming data, screens, freezing, sizes, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from typing_extensions import override

from arena.live.events import RunState, make_event
from arena.live.reducer import reduce_all
from arena.live.views import LiveView
from arena.tui.app import ArenaApp
from arena.tui.shell.chrome import HeaderLine, HeaderPart, TabRow, TooSmall
from arena.tui.shell.follow import NewData
from arena.tui.text import safe
from arena.tui.widgets.canvas import Canvas
from arena.watching.feed import FeedUpdate, Health, advance
from dashboard import RUN_EVENTS, Bare, live_screen, piloted, sample_app, screen_lines, settle
from feeds import RecordedFeed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.pilot import Pilot


def test_what_a_feed_gives_is_shown() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> list[str]:
        await settle(pilot)
        return screen_lines(app)

    lines = piloted(app, look)
    assert "LIVE o rr-42" in lines[0]
    assert "store a.db" in lines[0]
    assert lines[1].startswith(" [1 Live]  2 Standings  3 Matches")
    assert "az v mcts" in lines[2]
    assert "STANDINGS rr-42" in lines[2]
    assert any("1 az      92.0  1913 104" in line for line in lines)
    assert any("312/600   52%" in line for line in lines)
    assert "? Help" in lines[-1]


def _holds_paint(canvas: Any) -> bool:  # noqa: ANN401 # what it keeps is its own affair
    return bool(canvas._strips)  # noqa: SLF001 # as above


def test_a_screen_that_is_left_keeps_nothing_painted_and_comes_back_as_it_was() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> None:
        await settle(pilot)
        before, left = screen_lines(app), app.screen
        assert any(map(_holds_paint, left.query(Canvas)))
        await pilot.press("2")
        await settle(pilot)
        assert app.screen is not left
        assert not any(map(_holds_paint, left.query(Canvas)))
        await pilot.press("1")
        await settle(pilot)
        assert screen_lines(app) == before

    piloted(app, look)


def test_a_batch_is_one_message_and_the_feed_is_closed_at_its_end() -> None:
    feed = RecordedFeed([FeedUpdate(events=RUN_EVENTS[:2]), FeedUpdate(events=RUN_EVENTS[2:])])
    app = sample_app(feed)

    async def look(pilot: Pilot[None]) -> None:
        await settle(pilot)
        assert app.model is app.latest
        assert app.model.view == reduce_all(LiveView(), RUN_EVENTS)
        assert app.model.is_over
        shown = live_screen(app).shown
        assert shown[0] is None, "the first time anything may have changed"
        changed = [change.matches for change in shown if change is not None]
        assert frozenset({313}) in changed

    piloted(app, look)
    assert feed.is_closed


def test_keys_open_screens_and_the_row_of_tabs_says_so() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        for key, name in (("2", "standings"), ("3", "matches"), ("1", "live"), ("8", "live")):
            await pilot.press(key)
            await settle(pilot)
            assert app.screen.name == name
            tab = {"standings": "[2 Standings]", "matches": "[3 Matches]", "live": "[1 Live]"}[name]
            assert tab in screen_lines(app)[1]
        await pilot.click(TabRow, offset=(14, 0))
        await settle(pilot)
        assert app.screen.name == "standings"

    piloted(app, press)


def _news(app: ArenaApp, state: RunState) -> NewData:
    return NewData(
        advance(app.latest, FeedUpdate(events=[make_event(app.latest.view.seq + 1, state, t=120.0)]))
    )


def test_a_screen_that_was_left_shows_what_has_come_since() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        await pilot.press("2")
        app.post_message(_news(app, RunState(state="running", planned=600, done=400)))
        await pilot.press("1")
        await settle(pilot)
        assert any("400/600" in line for line in screen_lines(app))

    piloted(app, press)


def test_freeze_holds_the_view_and_lets_go() -> None:
    app = sample_app()

    async def press(pilot: Pilot[None]) -> None:
        await pilot.press("space")
        app.post_message(_news(app, RunState(state="paused", planned=600, done=313)))
        await settle(pilot)
        lines = screen_lines(app)
        assert "FROZEN" in lines[0]
        assert any("312/600" in line for line in lines)
        await pilot.press("space")
        await settle(pilot)
        lines = screen_lines(app)
        assert "PAUSED" in lines[0]
        assert any("313/600" in line for line in lines)
        await pilot.press("space", "r")
        assert not app.is_frozen

    piloted(app, press)


SIZES = {
    (120, 40): {"-wide", "-tall"},
    (80, 24): {"-usual", "-reference"},
    (60, 16): {"-pair", "-low"},
    (59, 15): {"-single", "-flat"},
}
TOO_SMALL = [(39, 24), (80, 11), (20, 5)]


def test_sizes_have_names_and_a_terminal_that_is_too_small_says_what_is_needed() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> None:
        for size in [*SIZES, *TOO_SMALL]:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            lines = screen_lines(app)
            is_too_small = size in TOO_SMALL
            assert app.screen.query_one(TooSmall).display == is_too_small
            assert ("LIVE" in lines[0]) == (not is_too_small)
            if is_too_small:
                assert f"{size[0]}x{size[1]}" in lines[0]
                assert "40x12" in lines[1]
            else:
                assert SIZES[size] <= set(app.screen.classes)

    piloted(app, look)


def test_trouble_is_shown_without_harm() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> list[str]:
        app.post_message(NewData(replace(app.latest, trouble=safe("the store [/] is \x1b[31mlocked"))))
        await settle(pilot)
        return screen_lines(app)

    lines = piloted(app, look)
    assert "! the store [/] is [31mlocked" in lines[2]
    assert "LIVE" in lines[0]


def test_health_is_always_in_sight() -> None:
    assert Health(heartbeat_t=90.0, lease_until=1e9).warning(100.0) == ""
    assert Health().warning(100.0) == "", "nobody expects a heartbeat"
    assert Health(heartbeat_t=70.0, lease_until=1e9).warning(100.0) == "STALE 30s"
    assert Health(heartbeat_t=70.0, lease_until=130.0).warning(790.0) == "STALE 12min", "its process may live"
    stale = Health(heartbeat_t=99.0, lease_until=50.0, store="a.db")
    assert stale.warning(100.0) == "no coordinator"
    app = sample_app(RecordedFeed([FeedUpdate(events=RUN_EVENTS, health=stale)]))

    async def look(pilot: Pilot[None]) -> str:
        await settle(pilot)
        return "".join(app.screen.query_one(HeaderLine).text_lines())

    assert "no coordinator" in piloted(app, look, (60, 24))


def test_a_test_that_waits_in_vain_ends_with_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.DEADLINE_S", 0.5)
    app = sample_app()

    async def look(pilot: Pilot[None]) -> None:
        while True:
            await pilot.pause(0.01)

    with pytest.raises(TimeoutError) as ended:
        piloted(app, look)
    assert "LIVE" in ended.value.__notes__[0]


def test_what_arrives_while_the_dashboard_ends_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> None:
        await settle(pilot)
        # At its end an app removes its screens bottom-up, and other tasks run meanwhile.
        monkeypatch.setattr(app, "_running", False)
        await app.screen.remove_children()
        app.on_new_data(NewData(replace(app.latest, view=LiveView())))
        app.paint(everything=True)
        app._frame()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - timers call this and the next
        painted: list[bool] = []
        monkeypatch.setattr(app.screen, "repaint_lines", lambda: painted.append(True))
        for is_running, is_ready in ((False, True), (True, False), (True, True)):
            monkeypatch.setattr(app, "_running", is_running)
            monkeypatch.setattr(app.screen, "is_ready", is_ready)
            assert not painted
            app._look_at_health()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        assert painted
        monkeypatch.setattr(app, "_running", False)

    piloted(app, look)


def test_lag_is_that_of_the_newest_event_when_it_was_painted() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> tuple[list[float | None], str]:
        await settle(pilot)
        lags: list[float | None] = []
        # A live event of the future comes from another clock; a batch without a new event changes nothing.
        for now, newest_t in ((500.0, 480.0), (501.0, 501.5), (502.0, 495.5), (600.0, 495.5)):
            app.clock = lambda now=now: now
            app.latest = replace(app.model, newest_t=newest_t)
            app.paint(everything=True)
            lags.append(app.lag)
        await settle(pilot)
        return lags, "".join(app.screen.query_one(HeaderLine).text_lines())

    lags, header = piloted(app, look)
    assert lags == [20.0, 0.0, 6.5, 6.5]
    assert "lag 6.50s" in header


def test_the_first_events_that_are_read_have_no_lag() -> None:
    """They are past events: for a tournament of last week the lag would be a week."""
    app = sample_app()

    async def look(pilot: Pilot[None]) -> tuple[float | None, float | None]:
        await settle(pilot)
        app.lag = None
        app.model = app.latest = replace(app.model, newest_t=None)
        app.clock = lambda: 5000.0
        app.latest = replace(app.model, newest_t=100.0)
        app.paint()
        of_past = app.lag
        app.latest = replace(app.model, newest_t=4999.5)
        app.paint()
        return of_past, app.lag

    assert piloted(app, look) == (None, 0.5)


def test_lag_is_that_of_the_newest_event_not_of_later_tables() -> None:
    app = sample_app()

    async def look(pilot: Pilot[None]) -> tuple[float | None, float | None]:
        await settle(pilot)
        app.clock = lambda: 200.25
        app.latest = replace(app.model, newest_t=200.0)
        app.paint()
        of_event = app.lag
        app.clock = lambda: 240.0
        app.latest = replace(app.model, facts={**app.model.facts, "trend": []})
        app.paint()
        return of_event, app.lag

    assert piloted(app, look) == (0.25, 0.25)


def test_the_header_leaves_out_what_matters_least() -> None:
    class Headed(Bare):
        @override
        def header_parts(self, width: int) -> Sequence[HeaderPart] | None:
            return [
                HeaderPart("name"),
                HeaderPart("x" * 30, rank=2),
                HeaderPart("y" * 30, rank=1),
                HeaderPart("z" * 30, rank=3),
            ]

    app = ArenaApp(None, [Headed], glyphs="ascii")

    async def look(_: Pilot[None]) -> str:
        return app.screen.query_one(HeaderLine).text_lines()[0]

    assert piloted(app, look, (80, 24)).split() == ["name", "x" * 30, "y" * 30]
    app = ArenaApp(None, [Headed], glyphs="ascii")
    assert piloted(app, look, (50, 24)).split() == ["name", "y" * 30]
