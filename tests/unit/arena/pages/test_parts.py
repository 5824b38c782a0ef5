"""Parts of pages: marked, named, counted and omitted elements."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from arena.live.table_views import MatchRow, MatrixView, StandingRow, StandingsView
from arena.live.tournament_views import TournamentRow
from arena.pages.curve import curve
from arena.pages.event import event_page, matches_page, table_page
from arena.pages.first_page import home_page
from arena.pages.links import Links
from arena.pages.page_tables import bracket, standings
from arena.pages.replay_page import match_page
from arena.pages.svg_board import board
from arena.results.brackets import BracketRow
from arena.watching.page_views import HomePage, MatchListPage, MatchPage, TournamentPage
from live_samples import played

LINKS = Links(root="")
ROW = TournamentRow(
    id=1,
    name="cup",
    type="round-robin",
    game="tic-tac-toe",
    tc="5/move",
    state="finished",
    planned=4,
    done=4,
    created_t=0.0,
    bots=tuple("abcdefgh"),
)


def _event(**changes: Any) -> TournamentPage:  # noqa: ANN401 - fields of the page
    row = replace(ROW, **changes)
    return TournamentPage(row=row, standings=StandingsView(), matrix=MatrixView())


def test_running_and_paused_events_come_first() -> None:
    rows = tuple(replace(ROW, name=name, state=name) for name in ("finished", "running", "paused", "stopped"))
    text = home_page(HomePage(title="arena", events=rows), LINKS)
    now, others = text.split("<h2>Events</h2>")
    assert re.findall(r"t/(\w+)/index", now) == ["running", "paused"]
    assert re.findall(r"t/(\w+)/index", others) == ["finished", "stopped"]
    # Of eight bots six are named.
    assert text.count("a, b, c, d, e, f and 2 more<") == 4
    six = HomePage(title="arena", events=(replace(ROW, bots=tuple("abcdef")),))
    assert "f and" not in home_page(six, LINKS)


@pytest.mark.parametrize(("make", "words"), [(event_page, "Standings"), (table_page, "Crosstable")])
def test_the_page_that_is_open_is_marked(make: Any, words: str) -> None:  # noqa: ANN401 - a page of an event
    text = make(_event(), LINKS)
    assert re.findall(r'aria-current="page">(\w+)<', text) == [words]


def test_bots_that_were_refused_stand_with_the_cause() -> None:
    text = event_page(_event(refused=(("bad", "no such <file>"),)), LINKS)
    assert "<dt>bad</dt><dd>no such &lt;file&gt;</dd>" in text
    assert "Refused" not in event_page(_event(), LINKS)


@pytest.mark.parametrize(("number", "newer", "older"), [(1, False, True), (2, True, True), (3, True, False)])
def test_pages_of_a_list_lead_to_their_neighbours(number: int, newer: bool, older: bool) -> None:  # noqa: FBT001
    row = MatchRow(stored=1, number=1, names=("a", "b"), outcome="first", termination="rules", plies=5, t=0.0)
    view = MatchListPage(tournament="cup", number=number, num_pages=3, total=9, rows=(row,))
    text = matches_page(view, LINKS)
    assert (">newer</a>" in text, ">older</a>" in text) == (newer, older)
    assert f"page {number} of 3" in text
    assert 'class="turns"' not in matches_page(replace(view, number=1, num_pages=1), LINKS)


def test_notes_of_a_table_are_shown() -> None:
    row = StandingRow(rank=1, name="a", label="a", elo=1500, error=None, games=2, faults=0)
    text = standings(StandingsView(title="x", rows=(row,), notes=("count once", "<b>")), LINKS, {})
    assert '<p class="note">count once</p><p class="note">&lt;b&gt;</p>' in text
    # No bot forfeited, so there is no column for forfeits.
    assert "Forfeits" not in text
    assert "Forfeits" in standings(StandingsView(title="x", rows=(replace(row, faults=1),)), LINKS, {})


def test_the_winner_of_a_tie_is_marked_by_a_sign() -> None:
    row = BracketRow(
        round="final",
        encounter="final",
        stage=1,
        state="decided",
        first="a",
        second="b",
        first_origin="seed 1",
        second_origin="seed 2",
        first_points=0.5,
        second_points=1.5,
        first_forfeits=0,
        second_forfeits=0,
        winner="b",
        why="more points",
    )
    side = r'<span class="side( won)?"><span class="name">(\w)</span><b>([\d.]+)</b>( ✓)?'
    sides = re.findall(side, bracket([row]))
    assert sides == [("", "a", "0.5", ""), (" won", "b", "1.5", " ✓")]
    assert "✓" not in bracket([replace(row, winner=None)])


def test_stones_of_both_players_differ_by_more_than_colour() -> None:
    match = played("connect-four", "4 4 3")
    text = board(match, gravity=True, names=((), ()))
    stones = re.findall(r'class="stone (\w)"/>(<circle [^>]*class="ring")?', text)
    assert [(kind, bool(ring)) for kind, ring in stones] == [("a", False), ("b", True), ("a", False)]


def test_a_line_is_broken_where_a_bot_said_nothing() -> None:
    match = played("connect-four", "4 4 4 5 4 5 3 3 3 2")
    moves = tuple(replace(move, eval=None) if move.ply == 5 else move for move in match.moves)
    text = str(curve(replace(match, moves=moves)))
    lines = re.findall(r'<polyline points="([^"]+)" class="line (\w)">', text)
    # The first player reported values at plies 1, 3, 7 and 9, the second after all of its moves.
    assert [(len(points.split()), name) for points, name in lines] == [(2, "a"), (2, "a"), (5, "b")]
    assert text.count('class="dot a"') == 4


def test_more_for_the_first_player_is_higher() -> None:
    match = played("connect-four", "4 4 4 5")
    said = (0.0, 50.0, 100.0, 50.0)
    moves = tuple(replace(move, eval=value) for move, value in zip(match.moves, said, strict=True))
    text = str(curve(replace(match, moves=moves)))
    heights = {name: float(y) for y, name in re.findall(r'y="([\d.]+)" class="tick">(\d+)</text>', text)}
    assert heights["100"] < heights["50"] < heights["0"]
    (line,) = re.findall(r'<polyline points="([^"]+)" class="line a">', text)
    low, high = (float(point.split(",")[1]) for point in line.split())
    assert (low, high) == (heights["0"] - 4, heights["100"] - 4)


@pytest.mark.parametrize(
    ("players", "rows"),
    [
        ((0, 1, 0, 1), [(1, 2), (3, 4)]),
        ((1, 0, 1), [(None, 1), (2, 3)]),
        # Two moves of one player in a row, as in a game with passes, which are not written.
        ((0, 0, 1), [(1, None), (2, 3)]),
    ],
)
def test_moves_stand_in_the_column_of_their_player(
    players: tuple[int, ...], rows: list[tuple[int | None, int | None]]
) -> None:
    match = played("connect-four", "4 4 4 5")
    moves = tuple(replace(move, player=player) for move, player in zip(match.moves, players, strict=False))
    view = MatchPage(match=replace(match, moves=moves), tournament="cup", identities=("", ""), ending="")
    (table,) = re.findall(r'<table class="moves">.*?</table>', match_page(view, LINKS))
    found = [
        tuple(int(ply) if ply else None for _, ply in re.findall(r'<td( class="m(\d+)[^"]*")?>', line))
        for line in re.findall(r"<tr>(.*?)(?=<tr>|</t)", table)[1:]
    ]
    assert found == rows
