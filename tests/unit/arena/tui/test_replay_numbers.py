"""Stored numbers in a replay: searches, evals, grades, other analyses; and playing from a position."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from arena.errors import ArenaError
from arena.person.session_config import PERSON
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.start import replay_app
from arena.watching.one_match import load_match, replay_of
from arena.watching.query import Query
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter
from arena_db.store import Store
from command_line import CommandLine
from dashboard import piloted, screen_lines, settle
from plays import Played, config, wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


@pytest.fixture
def searched(tmp_path: Path, shown_store: Path) -> tuple[Path, int]:
    """Return a store, and the id of a match in which `mcts` moved second."""
    path = tmp_path / "arena.db"
    shutil.copy(shown_store, path)
    with Store.open(path) as store:
        found = store.matches.newest(MatchFilter(bot="mcts", rated_only=False), limit=50)
        return path, next(match.id for match in found if match.second_label.startswith("mcts"))


def judge(path: Path, number: int, name: str, losses: Sequence[float]) -> None:
    with Store.open(path) as store:
        match = store.matches.find(number)
        assert match is not None
        given = [*losses, *[0.0] * len(match.actions)][: len(match.actions)]
        plies = tuple(JudgedPly(value=1.0 if loss == 2 else 0.0, loss=loss, best=(0,)) for loss in given)
        store.analyses.add(JudgedMatch(match=number, name=name, plies=plies, made_at=0.0))


def shown(app: Dashboard) -> str:
    return "\n".join(screen_lines(app))


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


def test_visits_and_policy_are_those_that_were_stored(searched: tuple[Path, int]) -> None:
    path, number = searched
    match = load_match(Query(str(path)), number)
    replay = replay_of(match)
    opening = match.recorded.num_opening
    second = opening if opening % 2 else opening + 1
    said = replay.at(second + 1).seats[1].thoughts
    assert said is not None
    assert said.visits is not None
    assert sum(num for _, num in said.visits) > 0
    assert said.value is not None
    app = replay_app(str(path), number, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        screen.go_to(second + 1)
        await settle(pilot)
        assert " visits O " in shown(app)
        assert "grade none" in shown(app)
        await press(pilot, "v")
        assert "this match has not been judged" in shown(app)

    piloted(app, act, (120, 40))


def test_grades_give_marks_and_v_shows_the_next_judge(searched: tuple[Path, int]) -> None:
    path, number = searched
    start = load_match(Query(str(path)), number).recorded.num_opening
    judge(path, number, "solver", [2.0] * start + [0.0, 2.0])
    judge(path, number, "minimax:depth=9", [0.0])
    match = load_match(Query(str(path)), number)
    assert [one.name for one in match.analyses] == ["minimax:depth=9", "solver"]
    solved = replay_of(match)
    assert solved.recorded.judge == "solver"
    assert solved.marks[:start] == ("",) * start, "nobody gave away what was given"
    assert solved.marks[start + 1] == "??"
    grade = solved.grade(start + 1)
    assert grade is not None
    assert grade.text == "gives a win away"
    assert replay_of(match, "minimax:depth=9").marks[start + 1] == ""
    app = replay_app(str(path), number, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        assert "solver: best " in shown(app)
        assert "[ * solver ]" in shown(app)
        await press(pilot, "home", "b")
        assert screen.ply == start + 2
        assert "?? gives a win away" in shown(app)
        assert "grade ??" in shown(app)
        assert "?? lost a win" in shown(app)
        await press(pilot, "B")
        assert screen.ply == start + 2, "there is none before it"
        await press(pilot, "v")
        assert "[ * minimax:depth=9 ]" in shown(app)
        await press(pilot, "v")
        assert "[ * solver ]" in shown(app)

    piloted(app, act, (120, 40))


def test_play_from_here_needs_a_position_with_a_move(searched: tuple[Path, int]) -> None:
    path, number = searched
    app = replay_app(str(path), number, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "end", "p")
        assert "the match is over here" in shown(app)
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        assert load_match(Query(str(path)), number).specs[1].startswith("mcts")

    piloted(app, act)


def test_a_bot_that_is_gone_cannot_be_played(tmp_path: Path) -> None:
    from stores import add_cup

    path = tmp_path / "a.db"
    with Store.open(path) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1)])
    app = replay_app(str(path), 1, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "p")
        assert 'no bot "' in shown(app)

    piloted(app, act)


def test_a_match_of_a_person_can_be_replayed_and_played_on(tmp_path: Path) -> None:
    played = Played(tmp_path / "a.db", config(side="second"))
    try:
        wait_for(lambda: played.events("move"))
        played.move(4)
        played.ask("resign", 1, 3)
        (match,) = played.await_matches(1)
    finally:
        played.close()
    loaded = load_match(Query(str(played.path)), match.id)
    assert loaded.specs == ("random", PERSON)
    assert loaded.recorded.thoughts[0] is not None
    arena = CommandLine(tmp_path)
    assert "human" in arena("replay", match.id, "--plain", "--db", played.path).stdout
    with pytest.raises(ArenaError, match="no match 99"):
        load_match(Query(str(played.path)), 99)
