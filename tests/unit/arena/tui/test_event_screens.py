"""Brackets, tables by place, ladders and decisions on the screens, for tournaments with real matches."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from arena.cli.plain_watch import follow_plain
from arena.coordinator import joining
from arena.live.table_views import MatrixView, StandingRow, StandingsView
from arena.results.brackets import bracket_lines
from arena.results.corrections import declare_void
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.matrix_screen import MatrixScreen
from arena.tui.shell.prompt import PromptScreen
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.encounter_tables import BracketList
from arena.tui.widgets.standings_table import PlacesTable
from arena.watching.feed import Model, advance
from arena.watching.store_feed import StoreFeed
from arena_db.store import Store
from dashboard import settle
from tournaments import Sitting, config
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from arena.results.by_place import EventTables
    from arena.tui.screens.dashboard import Dashboard

GOLDEN = Path(__file__).parent / "golden" / "brackets.txt"
SIZES = ((80, 24), (120, 40), (200, 60))
FIVE = ("minimax:depth=2", "random", "minimax:depth=1", "mcts:playouts=5", "mcts:playouts=20")
PAIRED = {"name": "spring", "pairs": 1}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Play a double-elimination knockout, a Swiss tournament and a ladder once for all tests."""
    folder = tmp_path_factory.mktemp("events")
    settings = {
        "knockout": config(*FIVE, type="knockout", double=True, **PAIRED | {"rounds": 10}),
        "swiss": config(*FIVE, type="swiss", **PAIRED | {"rounds": 3}),
        "ladder": config(*FIVE[:3], type="ladder", name="spring", stop_when="error=250"),
    }
    for kind, each in settings.items():
        sitting = Sitting(folder / f"{kind}.db", each)
        sitting.play()
        sitting.store.close()
    return {kind: folder / f"{kind}.db" for kind in settings}


@pytest.fixture
def event(events: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a copy of the tournament that the test's parameter names; the test may change it."""
    return Path(shutil.copy(events[request.param], tmp_path / "arena.db"))


def table_of(path: Path) -> EventTables:
    from arena.coordinator.event_tables import event_tables

    with Store.open(path) as store:
        record = store.tournaments.find(1)
        assert record is not None
        tables = event_tables(store, record)
    assert tables is not None
    return tables


def rows_of(model: Model, fact: str) -> tuple[StandingRow, ...]:
    view = model.facts[fact]
    assert isinstance(view, StandingsView)
    return view.rows


def test_a_bracket_looks_as_stored(events: dict[str, Path], request: pytest.FixtureRequest) -> None:
    async def look(pilot: Pilot[None], app: Dashboard) -> str:
        await press(pilot, "4", "home")
        # The header shows the number of the newest live event, which depends on how fast the matches were.
        return "\n".join(line.rstrip() for line in seen(app).splitlines()[1:])

    pictures = [
        f"--- {width}x{height} {'ascii' if ascii_only else 'unicode'}\n"
        + shown(watch(events["knockout"], ascii_only=ascii_only), look, (width, height))
        for width, height in SIZES
        for ascii_only in (True, False)
        if ascii_only or width == SIZES[0][0]
    ]
    text = "\n".join(pictures) + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
        pytest.fail(f"{GOLDEN.name} is rewritten; read its diff, then run again without --update-golden")
    assert text == GOLDEN.read_text(encoding="utf-8"), "run with --update-golden where the change is meant"


def test_the_screen_tells_the_whole_bracket(events: dict[str, Path]) -> None:
    tables = table_of(events["knockout"])

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "4")
        text = seen(app)
        for line in bracket_lines(tables.bracket):
            for word in line.split():
                assert word in text, line
        assert tables.progress in text
        bracket = app.screen.query_one(BracketList)
        assert bracket.current is not None
        # All of it is decided, so the cursor starts at the end.
        assert bracket.current.row == [row for row in tables.bracket if row.state != "not needed"][-1]
        assert f"advances: {bracket.current.row.why}" in text
        assert "1 minimax:depth" in text.partition("places")[2], "places stand beside it"

    shown(watch(events["knockout"]), act, (220, 50))


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
def test_a_bracket_without_room_for_names_has_labels(events: dict[str, Path], size: tuple[int, int]) -> None:
    tables = table_of(events["knockout"])

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "4", "end")
        view = app.model.facts["matrix"]
        assert isinstance(view, MatrixView)
        labels = dict(zip(view.names, view.labels, strict=True))
        bracket = app.screen.query_one(BracketList)
        shown = [line.split() for line in bracket.text_lines() if " : " in line]
        assert len(shown) > 3
        played = [row for row in tables.bracket if row.why != "bye" and row.state != "not needed"]
        for words, row in zip(reversed(shown), reversed(played), strict=False):
            text = " ".join(words)
            for name in (row.first, row.second):
                label = labels[str(name)]
                assert (f"{label} *" in text) == (name == row.winner), text
                assert label in text

    shown(watch(events["knockout"]), act, size)


def test_a_sentence_without_room_ends_between_words(events: dict[str, Path]) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "4", "end")
        bracket, details = app.screen.query_one(BracketList), app.screen.query_one("#details", BareLines)
        assert bracket.current is not None
        whole = f"decided, {bracket.current.row.winner} advances: {bracket.current.row.why}"
        assert len(whole) > 60, "else nothing is cut"
        last = details.text_lines()[-1].strip()
        assert last.endswith("..")
        cut = last.removesuffix("..")
        assert whole.startswith(cut), "nothing else is said"
        assert whole[len(cut) :][:1] in " ,;:.", "no word is cut"

    shown(watch(events["knockout"]), act, (60, 20))


def test_enter_opens_the_matches_of_an_encounter(events: dict[str, Path]) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "4", "home")
        bracket = app.screen.query_one(BracketList)
        tie = bracket.current
        assert tie is not None
        assert tie.row.stage == 1, "the heading above it is no row for the cursor"
        await press(pilot, "up")
        assert bracket.current == tie
        await press(pilot, "right_square_bracket")
        following = bracket.current
        assert following is not None
        assert following.row.round != tie.row.round
        await press(pilot, "left_square_bracket", "enter")
        assert isinstance(app.screen, MatchesScreen)
        assert app.screen.filter_text == f'tournament:spring bot:"{tie.row.first}" vs:"{tie.row.second}"' or (
            str(tie.row.first) in app.screen.filter_text and str(tie.row.second) in app.screen.filter_text
        )
        num = round(tie.row.first_points + tie.row.second_points)
        assert f"1/{num}" in seen(app), "its matches, which are as many as its points"

    shown(watch(events["knockout"]), act)


def test_b_shows_the_crosstable_of_a_knockout(events: dict[str, Path]) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        assert "4 Bracket" in seen(app), "the tab is called after what it shows"
        await press(pilot, "4", "b")
        assert "row score % v column" in seen(app)
        assert "[4 Matrix]" in seen(app)
        await press(pilot, "b")
        assert "final" in seen(app)
        assert "[4 Bracket]" in seen(app)
        assert isinstance(app.screen, MatrixScreen)
        assert app.screen.check_action("bracket", ())

    shown(watch(events["knockout"]), act)


def test_the_tab_is_called_after_a_bracket_that_comes_later_than_the_rest(events: dict[str, Path]) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "4")
        whole = app.latest
        early = {name: fact for name, fact in whole.facts.items() if name != "event"}
        for facts, tab in ((early, "[4 Matrix]"), (whole.facts, "[4 Bracket]")):
            app.latest = replace(whole, facts=facts)
            app.paint()
            await settle(pilot)
            assert tab in seen(app)

    shown(watch(events["knockout"]), act)


def test_a_swiss_has_no_bracket_and_is_shown_by_place(events: dict[str, Path]) -> None:
    tables = table_of(events["swiss"])

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        assert "round 3 of 3" in seen(app), "under the boards"
        await press(pilot, "4")
        assert "row score % v column" in seen(app)
        assert not app.screen.check_action("bracket", ())
        assert "4 Matrix" in seen(app)
        await press(pilot, "2")
        text = seen(app)
        assert "round 3 of 3" in text
        assert "Buchholz" in text
        table = app.screen.query_one(PlacesTable)
        rows = [table.row(at) for at in range(table.num_rows)]
        assert [row.place for row in rows] == tables.places
        assert [row.standing.rank for row in rows] == [place.place for place in tables.places]
        assert [row.standing.points for row in rows] == [place.points for place in tables.places]
        await press(pilot, "b")
        assert "Buchholz" not in seen(app)
        assert "W-D-L" in seen(app)

    shown(watch(events["swiss"]), act)


def test_a_ladder_says_who_is_in_and_how_far_it_is(events: dict[str, Path], tmp_path: Path) -> None:
    path = Path(shutil.copy(events["ladder"], tmp_path / "arena.db"))
    with Store.open(path) as store:
        record = joining.find_open_ladder(store, "spring")
        joining.leave(store, record, "random", reason="too weak")
        joining.join(store, record, joining.plan_join(store, record, "mcts:playouts=5"), reason="")
        status = joining.ladder_status(store, record)
    assert status.newcomers == ("mcts:playouts=5",)
    assert status.left == ("random",)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        assert app.model.view.progress.goal == "3 play, 1 new, 1 left; not all are rated yet, goal 250 Elo"
        notices = [notice.what for notice in app.model.view.notices]
        assert notices[:2] == ["mcts:playouts=5 joined", "random left: too weak"]
        await press(pilot, "2")
        assert "3 play, 1 new, 1 left" in seen(app)
        assert [row.standing for row in rows_of(app.model, "standings") if row.name == "random"] == ["left"]

    shown(watch(path), act)


def test_plain_lines_tell_what_the_screens_tell(
    events: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(events["swiss"], tmp_path / "arena.db"))
    with Store.open(path) as store:
        assert declare_void(store, [1], [2], "the clock was wrong") == 1
    follow_plain(StoreFeed(str(path), 1), lambda _: None, known=())
    out = capsys.readouterr().out
    assert "\nmatch 2 is void: the clock was wrong\n" in out
    assert ", void (the clock was wrong): " in out
    assert "100 %, round 3 of 3" in out


def test_the_text_twin_has_the_table_of_the_dashboard(
    events: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = Path(shutil.copy(events["ladder"], tmp_path / "arena.db"))
    with Store.open(left) as store:
        joining.leave(store, joining.find_open_ladder(store, "spring"), "random", reason="too weak")
    for path, fact in ((events["swiss"], "by_place"), (events["knockout"], "by_place"), (left, "standings")):
        follow_plain(StoreFeed(str(path), 1), lambda _: None)
        told = [line for line in capsys.readouterr().out.splitlines() if " points, Elo " in line]
        rows = rows_of(_followed(path), fact)
        assert [line.rpartition(": ")[0] for line in told] == [f"{row.place} {row.name}" for row in rows]
        for line, row in zip(told, rows, strict=True):
            games = "" if fact == "by_place" else f" of {row.games}"
            assert f": {row.points:g}{games} points, " in line
            assert line.endswith(f", {row.standing}") == bool(row.standing)
    assert told[-1].endswith(", left")


def _followed(path: Path) -> Model:
    """Return the final model of a viewer of a finished tournament."""
    times = iter(range(10_000))
    feed = StoreFeed(str(path), 1, clock=lambda: 10.0 * next(times))
    model = Model()
    for _ in range(6):
        batch = feed.poll()
        model = model if batch is None else advance(model, batch)
    return model


def test_a_void_changes_what_is_shown_while_it_is_watched(events: dict[str, Path], tmp_path: Path) -> None:
    path = Path(shutil.copy(events["swiss"], tmp_path / "arena.db"))
    times = iter(range(10_000))
    feed = StoreFeed(str(path), 1, clock=lambda: 10.0 * next(times))
    model = Model()

    def follow() -> Model:
        found = model
        for _ in range(6):
            batch = feed.poll()
            found = found if batch is None else advance(found, batch)
        return found

    model = follow()
    points = {row.name: row.points for row in rows_of(model, "by_place")}
    with Store.open(path) as store:
        won = next(match for match in store.matches.of_tournament(1) if match.outcome == "first")
        declare_void(store, [1], [won.id], "wrong")
        model = follow()
        after = {row.name: row.points for row in rows_of(model, "by_place")}
        assert after[won.first_label] == points[won.first_label] - 1
        assert model.view.notices[0].what == f"match {won.number} is void: wrong"
        declare_void(store, [1], [won.id], "it was right", undo=True)
        model = follow()
    assert {row.name: row.points for row in rows_of(model, "by_place")} == points
    # All messages shown so far stay, each once.
    assert [notice.what for notice in model.view.notices] == [
        f"match {won.number} counts again: it was right",
        f"match {won.number} is void: wrong",
    ]
    feed.close()


@pytest.mark.parametrize("event", ["swiss"], indirect=True)
def test_v_declares_a_match_void_with_a_reason(event: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "3", "V")
        assert isinstance(app.screen, PromptScreen)
        await press(pilot, "enter")
        assert isinstance(app.screen, PromptScreen), "without a reason nothing is void"
        await press(pilot, *"wrong clock")
        assert "arena void" in seen(app)
        assert "wrong clock" in seen(app)
        await press(pilot, "enter")
        await settle(pilot)
        text = seen(app)
        assert "void: wrong clock" in text
        await press(pilot, "V", *"right", "enter")
        await settle(pilot)
        assert "void: wrong clock" not in seen(app)

    shown(watch(event), act, (120, 40))
    with Store.open(event) as store:
        kinds = [(change.kind, change.reason) for change in store.changes.of(1)]
    assert kinds == [("void", "wrong clock"), ("unvoid", "right")]


@pytest.mark.parametrize("event", ["swiss"], indirect=True)
def test_a_replay_can_be_declared_void(event: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "3", "enter", "V", *"odd", "enter")
        await settle(pilot)
        assert "void (odd): " in seen(app)
        await press(pilot, "V", "escape")
        assert "void (odd): " in seen(app)

    shown(watch(event), act)


def test_who_only_looks_declares_nothing_void(events: dict[str, Path]) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "3", "V")
        assert not isinstance(app.screen, PromptScreen)

    shown(watch(events["swiss"], is_read_only=True), act)
