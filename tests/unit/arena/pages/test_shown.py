"""Elements that pages make of their view-models: ratings over time, marks, clocks, collapsed boards."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from arena.live.table_views import StandingRow, StandingsView
from arena.pages.bot import rating_chart
from arena.pages.curve import curve
from arena.pages.first_page import leaderboard_page
from arena.pages.html import Html, breakable
from arena.pages.links import Links
from arena.pages.replay_page import match_page
from arena.pages.strokes import RatingStroke, drawn, scale_of
from arena.results.bot_page import CurvePoint
from arena.watching.page_views import LeaderboardPage, MatchPage
from live_samples import played

LINKS = Links(root="")


def _points(*ratings: tuple[int, float, float]) -> list[CurvePoint]:
    return [
        CurvePoint(num_matches=num, ended_at=60.0 * num, elo=elo, error=error, rests_on_prior=num < 20)
        for num, elo, error in ratings
    ]


def test_a_band_is_the_interval_around_the_line() -> None:
    text = rating_chart(
        _points((10, 1500.0, 200.0), (20, 1600.0, 100.0), (40, 1550.0, 50.0)), title=Html("x")
    )
    # A number is 4 units below its line.
    lines = {int(elo): float(y) - 4 for y, elo in re.findall(r'y="([\d.]+)" class="tick">(\d+)<', text)}
    height = (lines[1400] - lines[1600]) / 200

    def elo(y: str) -> float:
        return 1400 + (lines[1400] - float(y)) / height

    (line,) = re.findall(r'<polyline points="([^"]+)"', text)
    (band,) = re.findall(r'<polygon points="([^"]+)"', text)
    ratings = [round(elo(point.split(",")[1])) for point in line.split()]
    assert ratings == [1500, 1600, 1550]
    assert [round(elo(point.split(",")[1])) for point in band.split()] == [1700, 1700, 1600, 1500, 1500, 1300]
    xs = [float(point.split(",")[0]) for point in line.split()]
    assert abs((xs[1] - xs[0]) / (xs[2] - xs[0]) - 1 / 3) < 0.01
    assert "1500? +/- 200 after 10 matches" in text
    assert "1550 +/- 50 after 40 matches" in text


def test_an_unbounded_first_point_does_not_flatten_the_line() -> None:
    text = rating_chart(_points((2, 1500.0, 9000.0), (40, 1550.0, 50.0)), title=Html("x"))
    ticks = [int(elo) for elo in re.findall(r'class="tick">(\d+)</text>', text)]
    assert (min(ticks), max(ticks)) == (500, 2500)
    # A single point has a picture as well.
    assert 'aria-label="From 1500? +/- 30 after 8 matches' in rating_chart(
        _points((8, 1500.0, 30.0)), title=Html("x")
    )


def test_strokes_share_a_scale_and_open_ends_run_out() -> None:
    strokes = [RatingStroke(1400.0, 1350.0, 1450.0), RatingStroke(1600.0, 1500.0, None)]
    scale = scale_of(strokes)
    assert scale == (1350.0, 1600.0)
    assert 'd="M4 8H64.8"' in drawn(strokes[0], scale)
    assert 'd="M34.4 8h0"' in drawn(strokes[0], scale)
    assert 'H160"' in drawn(strokes[1], scale)
    assert scale_of([RatingStroke(1500.0, 1490.0, 1510.0)]) == (1450.0, 1550.0)
    assert scale_of([]) == (1450.0, 1550.0)


def _page(**changes: Any) -> str:  # noqa: ANN401 - fields of the page
    match = played("connect-four", "4 4 4 5 4 5 4", over="first")
    view = MatchPage(match=match, tournament="cup", identities=("a" * 64, "b" * 64), ending="it ended")
    return match_page(replace(view, **changes), LINKS)


def test_each_ply_has_its_clocks() -> None:
    clocks = tuple((1000 * ply, 500 * ply) for ply in range(8))
    text = _page(clocks=clocks)
    for ply in range(8):
        (step,) = re.findall(rf'<div class="s{ply} step[^"]*">(.*?)</div>', text)
        assert f"clocks {ply:.1f} s and {ply / 2:.1f} s" in step
    assert "clocks" not in _page()


def test_what_a_judge_says_stands_beside_the_moves_and_in_the_curve() -> None:
    judged = (50.0, 60.0, None, 80.0, 90.0, 100.0, 100.0)
    text = _page(judge="solver", judged=judged, lost={"4": "gives a draw away"})
    (cell,) = re.findall(r'<td class="m4[^"]*">(.*?)<t[dr]', text)
    assert "gives a draw away, 35 %, 900 ms" in cell
    assert text.count("gives a draw away") == 1
    assert '<span class="key j">solver</span>' in text
    match = played("connect-four", "4 4 4 5 4 5 4", over="first")
    (line,) = re.findall(r'<polyline points="([^"]+)" class="line j">', str(curve(match, judged, "solver")))
    # The positions after 1, 3, 4, 5 and 6 plies.
    assert len(line.split()) == 5
    assert "line j" not in str(curve(match))


def test_links_of_the_bots_and_downloads_are_facts() -> None:
    text = _page(texts=("pgn", "sgf"), has_versus=True)
    assert f'href="t/cup/v/{"a" * 16}/{"b" * 16}.html"' in text
    assert "/v/" not in _page()
    assert text.count(" download>") == 2
    assert " download>" not in _page()


def test_boards_have_an_index_and_are_folded_from_the_fourth_on() -> None:
    rows = (
        StandingRow(rank=1, name="a", label="a", elo=1500, error=1, games=7),
        StandingRow(rank=2, name="b", label="b", elo=1500, error=1, games=7),
    )
    boards = tuple(StandingsView(title=f"game {number}", rows=rows) for number in range(5))
    text = leaderboard_page(LeaderboardPage(boards=boards), LINKS)
    assert re.findall(r"<details( open)?>", text) == [" open"] * 3 + [""] * 2
    for number in range(1, 6):
        assert f'<a href="#board-{number}">game {number - 1}</a> 2 bots, 7 matches' in text
        assert f'id="board-{number}"' in text
    assert 'class="boards"' not in leaderboard_page(LeaderboardPage(boards=boards[:1]), LINKS)


def test_names_on_boards_break_between_their_parts() -> None:
    assert breakable("mcts:playouts=20,c=1") == "mcts:<wbr>playouts=20,<wbr>c=1"
    assert breakable("a<b>::c=") == "a&lt;b&gt;::<wbr>c="
