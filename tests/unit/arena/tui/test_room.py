"""Parts for which there is no space are left out whole, and only valid actions are offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from arena.live.reducer import reduce_all
from arena.live.table_views import MatchRow, Point, Series
from arena.live.views import LiveView, ProgressView
from arena.results.brackets import BracketRow, count_decided, tie_texts
from arena.tui.glyphs import ASCII
from arena.tui.screens.board_texts import replay_header
from arena.tui.screens.focus_panel import search_lines
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.text import line_width, shorten
from arena.tui.widgets.bars import progress_lines
from arena.tui.widgets.charts import LineChart
from arena.tui.widgets.match_columns import COLUMNS
from arena_db.store import Store
from dashboard import Host, lines_of, piloted, running_dashboard, screen_lines, settle
from live_samples import match_events
from stores import add_cup, tamper
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard
    from arena.watching.one_match import OneMatch


def axis_labels(low: float, high: float) -> list[str]:
    """Return the labels of the vertical axis for values between two bounds, from the top."""
    chart = LineChart("values")
    app = Host(chart)

    async def look(pilot: Pilot[None]) -> list[str]:
        chart.show([Series("line", (Point(0.0, low), Point(9.0, high)))])
        await pilot.pause()
        return [line[1:6].strip() for line in lines_of(chart)[1:-3]]

    return [label for label in piloted(app, look) if label]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        *((-14.0, -5.5), (120.4, 124.0), (-124.0, -120.4), (1500.0, 1507.0), (-99_999.0, -99_900.0)),
        *((99_990.0, 99_999.9), (0.5, 0.503), (-0.4, 0.6), (-1e-5, 4e-5), (-123_456.0, 123_456.0)),
    ],
)
def test_a_number_of_an_axis_is_never_cut(low: float, high: float) -> None:
    labels = axis_labels(low, high)
    # Five cells have space for one digit and an exponent; rounding to one digit changes 1.5 most, by a third.
    wrong = max(abs(low), abs(high)) / 3
    assert abs(float(labels[0]) - high) <= wrong
    assert abs(float(labels[-1]) - low) <= wrong
    values = list(map(float, labels))
    assert values == sorted(values, reverse=True)


def test_ends_of_an_axis_differ_where_digits_fit() -> None:
    for low, high in ((-14.0, -5.5), (120.4, 124.0), (-124.0, -120.4), (1500.0, 1507.0), (0.5, 0.503)):
        labels = axis_labels(low, high)
        assert labels[0] != labels[-1], (low, high)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        *((999, "999 ms"), (1000, "1.0 s"), (89_900, "89.9 s"), (90_000, "2 min"), (5_369_000, "89 min")),
        *((5_370_000, "1.5 h"), (36_000_000, "10.0 h"), (3_599_000_000, "999.7 h")),
    ],
)
def test_the_duration_of_a_match_fits_into_its_column(milliseconds: int, text: str) -> None:
    column = next(column for column in COLUMNS if column.key == "duration")
    row = MatchRow(
        stored=1,
        number=1,
        names=("a", "b"),
        outcome="draw",
        termination="rules",
        plies=9,
        t=0.0,
        duration_ms=milliseconds,
    )
    assert column.write(row) == text
    assert cell_len(text) <= column.width


GOAL = "mcts:playouts=12000 is stronger: +110 Elo (95 %: 54 to 166) after 64 pairs"
TIE = BracketRow(
    round="final",
    encounter="final",
    stage=1,
    state="open",
    first="az",
    second="mcts",
    first_origin="seed 1",
    second_origin="seed 2",
    first_points=0.0,
    second_points=0.0,
    first_forfeits=0,
    second_forfeits=0,
    winner=None,
    why="",
)


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (len(GOAL), GOAL),
        (len(GOAL) - 1, "mcts:playouts=12000 is stronger: +110 Elo after 64 pairs"),
        (56, "mcts:playouts=12000 is stronger: +110 Elo after 64 pairs"),
        (55, "mcts:playouts=12000 is stronger: +110 Elo after 64.."),
        (51, "mcts:playouts=12000 is stronger: +110 Elo after.."),
        (34, "mcts:playouts=12000 is stronger.."),
        (32, "mcts:playouts=12000 is.."),
        (9, "mcts..000"),
        (0, ""),
    ],
)
def test_a_sentence_is_cut_between_words(width: int, text: str) -> None:
    assert shorten(GOAL, width) == text
    assert len(text) <= width


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 60)])
def test_the_goal_keeps_its_numbers_in_header_and_caption(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[None], app: Dashboard) -> tuple[str, str]:
        await settle(pilot)
        app.paint(everything=True)
        await pilot.pause()
        lines = screen_lines(app)
        return lines[0], lines[-2]

    header, caption = shown(running_dashboard(tmp_path, {}, glyphs="ascii", goal=GOAL), look, size)
    assert ("+110 Elo after 64 pairs  " in header) == (size[0] >= 120), header
    goal = f" {shorten(GOAL, size[0] - 2)}  "
    assert caption.startswith(goal)
    whole = ("page 1/1", "sort: place", "evals: on", "boards 1-1 of 1", "follow: off", "")
    assert {fact.strip() for fact in caption.removeprefix(goal).split("   ")} <= {*whole}
    assert ("follow: off" in caption) == (size[0] >= 200)


@pytest.mark.parametrize("width", [24, 34, 60])
def test_a_clock_is_never_cut_and_the_end_of_a_match_takes_more_lines(width: int) -> None:
    (match,) = reduce_all(LiveView(), match_events("connect-four", ["4", "4"])).matches.values()
    names = ("mcts:playouts=12000", "minimax:depth=12345678")
    seats = tuple(
        replace(seat, name=name, clock_ms=62_000) for seat, name in zip(match.seats, names, strict=True)
    )
    lines = search_lines(replace(match, seats=seats), match.clock_t, ASCII, width=width)
    shown_clocks = [line[0][0] for line in lines if "clock" in line[0][0]]
    assert len(shown_clocks) == 2
    assert all(line_width(line) <= width for line in lines if "clock" in line[0][0])
    for seat, shown_clock in zip(seats, shown_clocks, strict=True):
        assert shown_clock.split()[-3] in (seat.name, seat.label), "a name is whole, or it is the label"
    reason = "minimax:depth=12345678 wins by four in a row on the board"
    over = replace(match, seats=seats, outcome="second", termination="rules", reason=reason)
    text = [line[0][0] for line in search_lines(over, 100.0, ASCII, width=width)]
    if width >= 34:
        assert reason in " ".join(part.strip() for part in text)
        assert all(cell_len(part) <= width for part in text if "wins" in part or "row" in part)


def test_a_name_beside_a_clock_is_whole_where_it_fits() -> None:
    (match,) = reduce_all(LiveView(), match_events("connect-four", ["4", "4"])).matches.values()
    seats = tuple(replace(seat, name="mcts:playouts=12000", clock_ms=62_000) for seat in match.seats)
    timed = replace(match, seats=seats)
    for player in (0, 1):
        wide = search_lines(timed, match.clock_t, ASCII, width=80)
        whole = [line[0][0] for line in wide if "clock" in line[0][0]][player]
        for width in (len(whole) - 1, len(whole)):
            lines = search_lines(timed, match.clock_t, ASCII, width=width)
            found = [line[0][0] for line in lines if "clock" in line[0][0]][player]
            assert (found == whole) == (width == len(whole))


def test_the_header_of_a_replay_names_bots_whole_where_they_fit(shown_store: Path) -> None:
    async def look(pilot: Pilot[None], app: Dashboard) -> OneMatch:
        await press(pilot, "3", "enter")
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        assert screen.match is not None
        return screen.match

    match = shown(watch(shown_store), look)
    first, second = match.recorded.bots
    assert match.recorded.labels != match.recorded.bots
    # Parts of rank 0 and the bots stay in every header: a blank before the first, two between them.
    stays = [part for part in replay_header(match, ASCII, 200) if part.rank <= 1]
    needed = len(" " + "  ".join(part.text for part in stays))
    for width in range(needed - 3, needed + 3):
        (who,) = [part.text for part in replay_header(match, ASCII, width) if part.rank == 1]
        assert (who == f"{first} (X) v {second} (O)") == (width >= needed), width


@pytest.mark.parametrize("width", [62, 120])
def test_the_header_of_a_replay_names_both_bots(shown_store: Path, width: int) -> None:
    async def look(pilot: Pilot[None], app: Dashboard) -> tuple[str, str]:
        await press(pilot, "3", "enter")
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        assert screen.match is not None
        recorded = screen.match.recorded
        first, second = recorded.labels if width < 80 else recorded.bots
        return f"{first} (X) v {second} (O)", screen_lines(app)[0]

    who, header = shown(watch(shown_store), look, (width, 24))
    assert who in header


def test_screen_7_names_bots_whole(tmp_path: Path) -> None:
    bots = [f"mcts:playouts={number}00000" for number in range(1, 10)]
    with Store.open(tmp_path / "arena.db") as store:
        add_cup(store, *bots, num=2, name="cup")

    async def look(pilot: Pilot[None], app: Dashboard) -> str:
        await press(pilot, "7")
        await settle(pilot)
        return next(line for line in screen_lines(app) if " bots: " in line).strip()

    for size, num in (((80, 24), 2), ((120, 40), 4), ((200, 60), 8), ((60, 20), 2)):
        line = shown(watch(tmp_path / "arena.db"), look, size)
        assert line == f"bots: {', '.join(bots[:num])} and {9 - num} more"


def test_nothing_can_be_changed_about_who_takes_part_before_an_event_begins(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path) as store:
        add_cup(store, "az", "mcts", num=2, name="cup")

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7")
        await settle(pilot)
        hints = screen_lines(app)[-1]
        assert " L Leave " in hints
        assert " Q Disqualify " in hints
        tamper(path, "UPDATE tournaments SET state = 'preparing'")
        await press(pilot, "r")
        await settle(pilot)
        hints = screen_lines(app)[-1]
        assert {"J", "L", "Q"}.isdisjoint(hints.split())
        for key in "JLQ":
            await press(pilot, key)
            assert "! cup is preparing and has not begun; arena resume cup begins it" in seen(app)

    shown(watch(path), act, (120, 40))


def test_a_question_keeps_its_paragraphs() -> None:
    text = ConfirmScreen("Sure?", "One.\n\nRuns: arena resume\x1b cup").text.plain
    assert text.startswith("Sure?\n\nOne.\n\nRuns: arena resume")
    assert "\x1b" not in text


def test_an_encounter_without_a_result_is_not_called_played() -> None:
    begun = replace(TIE, second_points=0.5)
    assert [text.remark for text in tie_texts([TIE, begun])] == ["no result yet", "undecided"]


def test_a_knockout_shows_how_many_encounters_are_decided() -> None:
    rows = [
        replace(TIE, state="decided", why="bye"),
        replace(TIE, state="decided", why="2 : 0"),
        TIE,
        replace(TIE, state="waiting"),
        replace(TIE, state="waiting"),
        replace(TIE, state="not needed"),
    ]
    assert count_decided(rows) == (1, 4)
    progress = ProgressView(name="cup", state="running", planned=None, done=60, goal="semifinal: 1 of 2")
    lines = ["".join(text for text, _ in line) for line in progress_lines(progress, 24, ASCII, (1, 4))]
    assert lines[0].strip() == "60"
    assert lines[1].count("#") * 4 == lines[1].count("#") + lines[1].count(".")
    assert lines[1].endswith("] 1/4")
    assert len(lines[1]) <= 24
    without = ["".join(text for text, _ in line) for line in progress_lines(progress, 24, ASCII)]
    assert without[1] == " semifinal: 1 of 2", "an empty bar would say that nothing is done"
