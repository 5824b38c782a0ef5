"""Every widget at three widths with both sets of glyphs, compared with stored text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from msgspec.structs import replace

from arena.live.replay_views import PlyGrade, Recorded, Replay
from arena.live.views import FinishedMatch, Notice, ProgressView
from arena.tui.screens.live_panels import fault_lines, finished_line, finished_text, notice_line
from arena.tui.widgets.bars import EvalStrip, ProgressPanel
from arena.tui.widgets.charts import EvalChart, LineChart, RatingPlot
from arena.tui.widgets.encounter_tables import Matrix
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.match_list import MatchList
from arena.tui.widgets.moves import MoveList, Timeline
from arena.tui.widgets.panel import LinesPanel
from arena.tui.widgets.small_board import SmallBoard, board_size
from arena.tui.widgets.standings_table import StandingsTable
from arena_plugins.thoughts import Thoughts
from dashboard import Host, lines_of, lines_over_time, matrix, piloted, settle, standings, stored_matches
from live_samples import played

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.widget import Widget

    from arena.tui.glyphs import GlyphName

_Kind = TypeVar("_Kind")
REPLAY = Replay(
    Recorded(
        stored=20417,
        game="connect-four",
        bots=("az", "mcts"),
        actions=(3, 3, 3, 3, 2, 3, 4, 1, 3),
        times_ms=(900, 1100, 800, 1000, 900, 1000, 700, 1200, 400),
        thoughts=tuple(Thoughts(value=v) for v in (0.04, 0.02, 0.06, 0.04, 0.42, 0.32, 0.94, -0.92, 1.0)),
        outcome="first",
        termination="rules",
    )
)
JUDGED = Replay(
    replace(
        REPLAY.recorded,
        judge="solver",
        grades=tuple(
            PlyGrade(
                eval=percent,
                mark=mark,
                text="gives a win away" if mark else "",
                scores={0: "-28", 1: "=", 2: "+7", 3: "-12", 4: "=", 6: "?"},
                best=(2,),
                advice="best 3: wins in 7 plies; line 3 4 5",
            )
            for percent, mark in zip(
                (50.0, 50.0, 100.0, 0.0, 0.0, 50.0, 50.0, 100.0, 100.0),
                ("", "?", "??", "", "?", "", "?", "", ""),
                strict=True,
            )
        ),
    )
)
CELLS = PlyGrade(scores={0: "+3", 2: "-4", 3: "=", 5: "?", 6: "100%"}, best=(0, 3))
FINISHED = FinishedMatch(
    number=312,
    tournament_name="rr-42",
    stored=312,
    names=("keras", "az"),
    labels=("keras", "az"),
    outcome="second",
    termination="rules",
    reason="O wins",
    plies=16,
    t=0.0,
)
MATCHES = {
    "running": played("connect-four", "4 4 4 4 3"),
    "over": played("connect-four", "4 4 4 3 4 2 4", over="first"),
    "drawn": played("tic-tac-toe", "b2 a1", over="draw"),
    "gomoku": played("gomoku", "h8 h9 g7"),
    "begins": played("connect-four", ""),
    "won": played("connect-four", "4 5 4 5 4 5 4", over="first"),
    "won on cells": played("tic-tac-toe", "a3 b3 a2 b2 a1", over="first"),
}


@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
@pytest.mark.parametrize("width", [50, 80, 120])
def test_widgets_look_as_stored(width: int, glyphs: GlyphName, request: pytest.FixtureRequest) -> None:
    path = Path(__file__).parent / "golden" / f"{glyphs}-{width}.txt"
    text = "\n".join(_picture(width, glyphs)) + "\n"
    if glyphs == "ascii":
        assert text.isascii()
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} is rewritten; read its diff, then run again without --update-golden")
    assert text == path.read_text(encoding="utf-8"), "run with --update-golden where the change is meant"


def _picture(width: int, glyphs: GlyphName) -> list[str]:
    widgets = _widgets(width)
    app = Host(*widgets.values(), glyphs=glyphs)

    async def draw(pilot: Pilot[None]) -> list[str]:
        _fill(widgets, width)
        await settle(pilot)
        pictures = [[f"--- {name}", *lines_of(widget)] for name, widget in widgets.items()]
        widgets["board running"].focus()
        await pilot.pause()
        focused = ["--- focused", *lines_of(widgets["board running"])]
        return [line.rstrip() for picture in [*pictures, focused] for line in picture]

    return piloted(app, draw, size=(width, 400))


def _widgets(width: int) -> dict[str, Widget]:
    widgets: dict[str, Widget] = {f"board {name}": SmallBoard() for name in MATCHES}
    widgets |= {
        "board low on time": SmallBoard(),
        "large": LargeBoard(),
        "large gomoku": LargeBoard(),
        "large with a ghost": LargeBoard(),
        "large judged": LargeBoard(),
        "large judged cells": LargeBoard(),
        "large won": LargeBoard(),
        "tall": LargeBoard(),
        "tall judged cells": LargeBoard(),
        "evals": EvalStrip(),
        "progress": ProgressPanel(),
        "eval chart": EvalChart(),
        "eval chart with a judge": EvalChart(),
        "line chart": LineChart("rating over time", axis="n"),
        "ratings": RatingPlot(),
        "standings": StandingsTable(),
        "standings without a frame": StandingsTable(),
        "matrix": Matrix(),
        "moves": MoveList(),
        "timeline": Timeline(),
        "timeline with a judge": Timeline(),
        "news": LinesPanel("events"),
        "matches": MatchList(stored_matches(100_000)),
    }
    for name, match in MATCHES.items():
        columns, lines = board_size(match.rows, match.columns)
        widgets[f"board {name}"].styles.width = columns
        widgets[f"board {name}"].styles.height = lines
    sizes = {
        "large": (38, 18),
        "large gomoku": (width, 24),
        "large with a ghost": (width, 18),
        "large judged": (38, 17),
        "large judged cells": (38, 10),
        "large won": (38, 12),
        "tall": (min(width, 62), 34),
        "tall judged cells": (38, 21),
        "moves": (21, 12),
    }
    sizes |= {"line chart": (width, 12), "standings": (width, 9), "standings without a frame": (26, 8)}
    sizes |= {"matrix": (width, 9), "matches": (width, 6), "news": (width, 7)}
    for name, (columns, lines) in sizes.items():
        widgets[name].styles.width = columns
        widgets[name].styles.height = lines
    return widgets


def _fill(widgets: dict[str, Widget], width: int) -> None:
    shown = dict(widgets)
    for name, match in MATCHES.items():
        _as(SmallBoard, shown[f"board {name}"]).show(match, match.clock_t)
    running = MATCHES["running"]
    _as(SmallBoard, shown["board low on time"]).show(running, running.clock_t + 6.5, evals=False)
    _as(LargeBoard, shown["large"]).show(running)
    _as(LargeBoard, shown["large gomoku"]).show(MATCHES["gomoku"])
    ghostly = _as(LargeBoard, shown["large with a ghost"])
    ghostly.show(running, status="your turn")
    ghostly.mark(ghost=36, pending=41, coin=1, player=1)
    _as(EvalStrip, shown["evals"]).show(
        replace(running, seats=(running.seats[0], replace(running.seats[1], eval=None)))
    )
    progress = ProgressView(state="running", name="rr-42", planned=600, done=312, given_rate=7.8)
    _as(ProgressPanel, shown["progress"]).show(progress)
    _as(LargeBoard, shown["large judged"]).show(JUDGED.at(5), grade=JUDGED.grade(5))
    _as(LargeBoard, shown["large judged cells"]).show(played("tic-tac-toe", "b3 b1"), grade=CELLS)
    _as(LargeBoard, shown["large won"]).show(MATCHES["won"])
    _as(LargeBoard, shown["large won"]).flip()
    tall = _as(LargeBoard, shown["tall"])
    tall.show(MATCHES["won"], grade=JUDGED.grade(5))
    tall.mark(ghost=36, pending=41, coin=1, player=1)
    _as(LargeBoard, shown["tall judged cells"]).show(played("tic-tac-toe", "b3 b1"), grade=CELLS)
    _as(EvalChart, shown["eval chart"]).show(REPLAY, 5)
    _as(EvalChart, shown["eval chart with a judge"]).show(JUDGED, 5)
    _as(LineChart, shown["line chart"]).show(lines_over_time())
    _as(RatingPlot, shown["ratings"]).show(standings().rows)
    narrow = _as(StandingsTable, shown["standings without a frame"])
    narrow.has_frame = False
    narrow.show(standings())
    _as(StandingsTable, shown["standings"]).show(standings())
    _as(Matrix, shown["matrix"]).show(matrix())
    _as(MoveList, shown["moves"]).show(REPLAY.views[-1].moves, 5)
    _as(Timeline, shown["timeline"]).show(REPLAY.marks, 5)
    _as(Timeline, shown["timeline with a judge"]).show(JUDGED.marks, 5)
    notice = Notice(
        t=0.0, number=308, address="rr-42/308", label="td", termination="time_game", text="late by 12 ms"
    )
    forfeit = replace(FINISHED, termination="time_game")
    _as(LinesPanel, shown["news"]).show(
        [
            finished_line(FINISHED, 24),
            finished_line(forfeit, width - 2),
            ((f" {finished_text(FINISHED)[9:]}", ""),),
            notice_line(notice)[1:],
            *fault_lines({"td": {"time_game": 3, "crash": 1}}, {"td": 104}),
        ]
    )


def _as(kind: type[_Kind], widget: Widget) -> _Kind:
    assert isinstance(widget, kind)
    return widget
