"""Explanations beside ratings and places, and on pages that wait for data."""

from __future__ import annotations

from msgspec.structs import replace

from arena.live.table_views import StandingRow, StandingsView
from arena.live.views import LiveView, ProgressView
from arena.pages.following import match_fragments
from arena.pages.links import Links
from arena.pages.live import PageTime, wall_fragments
from arena.pages.memo import Memo
from arena.pages.page_tables import places, signs, standings
from arena.results.place_table import PlaceRow
from arena.watching.feed import Model
from live_samples import played

LINKS = Links(root="/", suffix="", index="")
ROW = StandingRow(rank=1, name="anna", label="anna", elo=1500.0, error=20.0, games=4)
NOW = 1e9


def test_only_signs_that_are_there_are_explained() -> None:
    assert signs(StandingsView(rows=(ROW,))) == []
    (unbounded,) = signs(StandingsView(rows=(ROW, replace(ROW, rests_on_prior=True))))
    assert unbounded.startswith("?: unbeaten or winless")
    (split,) = signs(StandingsView(rows=(replace(ROW, table=1), replace(ROW, table=2))))
    assert split.startswith("1.1, 2.1:")
    shown = standings(StandingsView(rows=(replace(ROW, rests_on_prior=True, table=1),)), LINKS, {})
    assert shown.count('<p class="note">') == 2


def test_places_lead_to_bots() -> None:
    row = PlaceRow(
        place=1,
        name="anna",
        points=3,
        buchholz=2,
        cut_one=1,
        median=1,
        sonneborn_berger=2,
        direct=None,
        wins=3,
    )
    assert f'<a href="{LINKS.bot("7f" * 32)}">anna</a>' in places([row], LINKS, {"anna": "7f" * 32})


def _model(state: str, *, is_over: bool) -> Model:
    match = played("tic-tac-toe", "b2", number=1)
    match = replace(match, outcome="draw") if is_over else match
    progress = ProgressView(name="cup", game="tic-tac-toe", state=state, planned=9, done=1)  # pyright: ignore[reportArgumentType] - one of them
    return Model(view=LiveView(matches={1: match}, places=(1,), progress=progress))


def test_nothing_moves_on_a_wall_between_two_matches() -> None:
    for state, is_over, waits in (
        ("running", False, False),
        ("running", True, False),
        ("paused", True, True),
    ):
        found = wall_fragments(_model(state, is_over=is_over), LINKS, PageTime(NOW), Memo())
        assert ("hidden" not in found["waits"]) == waits, (state, is_over)
    none = Model(view=LiveView(progress=ProgressView(state="running")))
    assert "No match to show" in wall_fragments(none, LINKS, PageTime(NOW), Memo())["waits"]


def test_the_page_of_a_match_that_has_not_begun_says_why_once() -> None:
    for state, words in (("running", "too short to follow."), ("paused", "This tournament is paused")):
        ending = match_fragments(_model(state, is_over=True), 2, LINKS, PageTime(NOW), Memo())["ending"]
        assert "This match has not begun" in ending
        assert words in ending
        assert "No match to show" not in ending
