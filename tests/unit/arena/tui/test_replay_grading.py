"""`g` in Replay: a match is graded in the background, ply by ply as results arrive, and can be cancelled."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input

from arena.analysis import analyse_match
from arena.results.grades import stored_ply
from arena.tui.screens.dashboard import Dashboard
from arena.tui.screens.judged import Grading
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.shell.prompt import PromptScreen
from arena.tui.start import replay_app
from arena.watching.bots_source import grading_words
from arena.watching.one_match import ToldPly, load_analyses, load_match, read_told, replay_of, with_told
from arena.watching.query import Query
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.store import Store
from dashboard import piloted, screen_lines, settle
from game_samples import make
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.pilot import Pilot

# X begins in the centre, and O's reply on an edge loses. X gives the win away at ply 5, O errs at ply 6, and
# X wins.
ACTIONS = (4, 1, 0, 8, 5, 2, 3)
DEADLINE_S = 300.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store_match(tmp_path / "a.db", "tic-tac-toe", 9, ACTIONS)
    return tmp_path / "a.db"


def store_match(path: Path, game: str, num_actions: int, actions: tuple[int, ...]) -> None:
    length = len(actions)
    changes: dict[str, Any] = {"times_ms": (5,) * length, "values": (None,) * length, "num_opening": 1}
    with Store.open(path) as store:
        cup = add_cup(store, name="cup", game=game, num_actions=num_actions)
        store.matches.save([cup.match(1, actions=actions, **changes)])


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the notifications of the screen: on a slow machine they may disappear too early."""
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-P", "-m", "arena"))
    heard: list[str] = []

    def hear(_: ReplayScreen, text: str, **__: object) -> None:
        heard.append(text)

    monkeypatch.setattr(ReplayScreen, "notify", hear)
    return heard


def shown(app: Dashboard) -> str:
    return "\n".join(screen_lines(app))


async def until(pilot: Pilot[None], app: Dashboard, condition: Callable[[], object]) -> None:
    end = asyncio.get_running_loop().time() + DEADLINE_S
    while not condition():
        assert asyncio.get_running_loop().time() < end, shown(app)
        await pilot.pause(0.02)


def screen_of(app: Dashboard) -> ReplayScreen:
    assert isinstance(app.screen, ReplayScreen)
    return app.screen


@pytest.mark.parametrize("is_read_only", [False, True])
def test_g_judges_the_match_and_shows_it(path: Path, told: list[str], *, is_read_only: bool) -> None:
    app = replay_app(str(path), 1, glyphs="ascii", reduce_motion=True)
    app.is_read_only = is_read_only

    async def act(pilot: Pilot[None]) -> None:
        screen = screen_of(app)
        assert "this match has not been judged; g judges it" in shown(app)
        await pilot.press("g")
        await until(pilot, app, lambda: "; g stops it" in shown(app) or told)
        await until(pilot, app, lambda: told)
        assert told == ["7 plies were judged"]
        screen.go_to(4)
        await settle(pilot)
        assert "solver: best " in shown(app)
        assert "wins in 3 plies; line " in shown(app)
        assert "+3*" in shown(app), "on the cell itself"
        screen.go_to(5)
        await settle(pilot)
        assert "? gives a win away" in shown(app)

    piloted(app, act, (120, 40))
    stored = load_analyses(Query(str(path)), 1)
    if is_read_only:
        assert stored == ()
    else:
        expected = analyse_match(make("tic-tac-toe"), ACTIONS).plies
        assert stored[0].plies == tuple(map(stored_ply, expected))


@pytest.mark.parametrize("key", ["g", "escape"])
def test_a_grading_is_stopped(tmp_path: Path, told: list[str], key: str) -> None:
    path = tmp_path / "a.db"
    # A second for each of the first plies, which are too hard to solve.
    store_match(path, "gomoku:k=4,size=7", 49, (24, 0, 42, 6, 30, 1, 20, 2, 9, 11, 46, 48, 14, 40))
    app = replay_app(str(path), 1, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        screen = screen_of(app)
        await pilot.press("g")
        await until(pilot, app, lambda: "of 14 plies judged" in shown(app))
        assert screen.grading is not None
        child = screen.grading.child
        await pilot.press(key)
        await until(pilot, app, lambda: told)
        assert child.status is not None, "its process is gone"
        assert told[0].startswith("stopped: ")
        assert app.screen is screen, "the first escape stops the grading only"

    piloted(app, act, (120, 40))
    (analysis,) = load_analyses(Query(str(path)), 1)
    judged = [ply for ply, said in enumerate(analysis.plies) if said.is_judged]
    assert judged == list(range(14 - len(judged), 14)), "from the end, nothing twice"
    assert 0 < len(judged) < 14


def test_a_game_without_a_solver_names_the_way_out(tmp_path: Path, told: list[str]) -> None:
    store_match(tmp_path / "a.db", "gomoku", 225, (112, 0))
    app = replay_app(str(tmp_path / "a.db"), 1, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("g")
        # A screen is on top before it has been painted.
        await until(
            pilot, app, lambda: "There is no exact solver for gomoku. Who judges cup/1?" in shown(app)
        )
        assert isinstance(app.screen, PromptScreen)
        assert "solver  " not in shown(app)
        # The command gives this message if it is called nevertheless.
        await pilot.press(*"solver", "enter", "enter")
        await until(pilot, app, lambda: told)
        assert "no exact solver for gomoku 15x15; name a bot that judges" in told[0]

    piloted(app, act, (120, 40))


def test_plies_that_another_program_judges_appear(path: Path) -> None:
    app = replay_app(str(path), 1, glyphs="ascii", reduce_motion=True)
    plies = tuple(map(stored_ply, analyse_match(make("tic-tac-toe"), ACTIONS).plies))

    def add(num: int) -> None:
        known = (JudgedPly(),) * (len(plies) - num) + plies[len(plies) - num :]
        with Store.open(path) as store:
            store.analyses.add(JudgedMatch(match=1, name="solver", plies=known, made_at=float(num)))

    async def act(pilot: Pilot[None]) -> None:
        screen = screen_of(app)
        add(2)
        screen.reload()
        await until(pilot, app, lambda: screen.replay is not None and screen.replay.grade(6) is not None)
        add(7)
        await until(pilot, app, lambda: screen.replay is not None and screen.replay.grade(0) is not None)

    piloted(app, act)


def test_lines_of_a_grading_become_grades(path: Path) -> None:
    match = load_match(Query(str(path)), 1)
    line = (
        '{"type": "ply", "schema": "arena/1", "address": "cup/1", "judge": "mcts", "identity": "ab", '
        '"done": 1, "total": 7, "ply": 6, "value_before": 0.5, "loss": 1.0, "best": [6], "line": [6],'
        ' "scores": [[3, -0.5, null], [6, 0.5, null]]}'
    )
    ply = read_told(line)
    assert ply is not None
    judged = with_told(match, [ply])
    grade = replay_of(judged, "mcts").grade(6)
    assert grade is not None
    assert (grade.mark, grade.text, grade.scores) == ("?", "gives 50 points away", {3: "25%", 6: "75%"})
    assert replay_of(judged, "mcts").grade(5) is None
    assert read_told('{"type": "grade"}') is None
    assert read_told("no JSON") is None
    other = with_told(judged, [ToldPly(type="ply", judge="mcts", identity="cd", ply=5, best=(2,))])
    assert [ply.is_judged for ply in other.analyses[0].plies[5:]] == [True, False], (
        "another version's are gone"
    )
    assert with_told(match, [ToldPly(type="ply", judge="mcts", ply=99)]) == match


def test_a_bot_judges_from_the_dashboard(path: Path, told: list[str]) -> None:
    app = replay_app(str(path), 1, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        screen = screen_of(app)
        await pilot.press("J")
        await until(pilot, app, lambda: "Who judges cup/1?" in shown(app))
        assert isinstance(app.screen, PromptScreen)
        assert "solver  " in shown(app), "it is among those to choose from"
        await pilot.press(*"minim")
        await until(pilot, app, lambda: "--by=minim " in shown(app))
        await until(pilot, app, lambda: app.screen.query_one("#input-judge", Input)._suggestion == "minimax")  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what is drawn behind the cursor
        await pilot.press("right")
        assert "--by=minimax " in shown(app)
        await pilot.press(*":depth=2", "enter", "enter")
        assert screen.grading is not None
        await until(pilot, app, lambda: told)
        assert told == ["7 plies were judged"]
        screen.go_to(6)
        await settle(pilot)
        assert "minimax:depth=2: " in shown(app), "the judge that was asked for is shown"

    piloted(app, act, (120, 40))
    (analysis,) = load_analyses(Query(str(path)), 1)
    assert (analysis.name, analysis.is_complete) == ("minimax:depth=2", True)
    assert analysis.identity, "a bot that judges has an identity"


def test_a_judge_that_does_not_exist_is_named(
    path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = replay_app(str(path), 1, glyphs="ascii", reduce_motion=True)

    def hear(_: Dashboard, text: str, **__: object) -> None:
        told.append(text)

    monkeypatch.setattr(Dashboard, "notify", hear)

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("J")
        await until(pilot, app, lambda: "Who judges cup/1?" in shown(app))
        await pilot.press(*"minimex", "enter", "enter")
        await until(pilot, app, lambda: told)
        assert 'did you mean "minimax"' in told[0]
        app.is_read_only = True
        await pilot.press("J")
        await until(pilot, app, lambda: len(told) > 1)
        assert "--read-only" in told[1], "no bot is run from a dashboard that only looks"

    piloted(app, act, (120, 40))


def test_who_can_judge_is_read_without_loading_anything() -> None:
    script = (
        "import sys\n"
        "from arena.watching.bots_source import read_judges\n"
        "from arena.watching.query import Query\n"
        "judges = read_judges(Query(None), 'connect-four').content\n"
        "assert judges.is_solvable and judges.names[0] == 'solver', judges\n"
        "assert 'minimax' in judges.bots and 'solver' not in judges.bots, judges\n"
        "other = read_judges(Query(None), 'gomoku').content\n"
        "assert not other.is_solvable and other.names == judges.bots, other\n"
        "assert not {'numba', 'arena_bots', 'torch', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True, timeout=DEADLINE_S)  # noqa: S603 # our own


def test_the_words_of_a_grading_are_those_of_the_command() -> None:
    assert grading_words("cup/1") == ["grade", "--", "cup/1"]
    assert grading_words("cup/1", "mcts:nodes=9", "50") == [
        *("grade", "--by=mcts:nodes=9", "--nodes=50"),
        *("--", "cup/1"),
    ]
    assert Grading(7, "a.db", by="mcts", is_read_only=True).child.words == (
        *("grade", "--format=ndjson", "--read-only", "--db", "a.db"),
        *("--by=mcts", "--", "7"),
    )
