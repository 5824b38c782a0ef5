"""The plain viewer: each event as one line."""

from __future__ import annotations

import pytest

from arena.live.events import (
    EntrantChange,
    Fault,
    Finished,
    Move,
    RunState,
    Started,
    ThinkingInfo,
    Voided,
    make_event,
)
from arena.live.plain import clock_text, duration_text, line_of, long_clock_text, move_line, progress_line
from arena.live.reducer import reduce
from arena.live.views import LiveView, ProgressView
from live_samples import EVIL, played


def _lines(*events: object) -> list[str | None]:
    view, lines = LiveView(progress=ProgressView(name="cup")), list[str | None]()
    for seq, (body, match, ply) in enumerate(events, start=1):  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] # triples
        event = make_event(seq, body, t=float(seq), match=match, ply=ply)  # pyright: ignore[reportUnknownArgumentType] # of the triple
        view = reduce(view, event)
        lines.append(line_of(event, view))
    return lines


def test_a_match() -> None:
    begin = Started(
        bots=("az", "mcts"), game="connect-four", tc="10+0.1", opening=(2,), clock_ms=(10_000, 10_000)
    )
    assert _lines(
        (begin, 313, 1),
        (ThinkingInfo(value=0.1), 313, 1),
        (Move(action=2, value=-0.42, elapsed_ms=9, clock_ms=(10_000, 12_400)), 313, 2),
        (Move(action=3, value=None), 313, 3),
        (Finished(outcome="second", termination="time_game", plies=3), 313, 3),
        (Finished(outcome="second", termination="time_game", plies=3), 314, 3),
    ) == [
        "match cup/313 begins: first az against second mcts, connect-four 10+0.1, opening 3",
        None,
        "match cup/313 ply 2: second mcts plays 3, X wins 71 %, clock 12.4 s",
        "match cup/313 ply 3: first az plays 4, clock 10.0 s",
        "match cup/313 over: second mcts beats first az, time_game",
        None,
    ]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ("first", "match cup/308 over: first mm5 beats second td, time_game"),
        ("draw", "match cup/308 over: first mm5 draws with second td, time_game"),
        ("void", "match cup/308.0 over: void, first mm5 against second td, time_game"),
    ],
)
def test_endings(outcome: str, text: str) -> None:
    begin = Started(bots=("mm5", "td"), game="tic-tac-toe")
    end = Finished(outcome=outcome, termination="time_game", plies=0)  # pyright: ignore[reportArgumentType] # one of them
    assert _lines((begin, 308, 0), (end, 308, 0))[1] == text


def test_a_run() -> None:
    state = RunState(state="running", planned=600, done=312, name="rr-42", rate=7.8)
    end = RunState(state="ended", planned=600, done=313, reason="max-time")
    fault = Fault(text="no answer", termination="time_move", player=0)
    assert _lines((state, None, 0), (fault, 7, 0), (end, None, 0)) == [
        "rr-42 running: 312 of 600 matches, 52 %, 7.8 a minute, 37 min to go",
        "match rr-42/7: fault: time_move, no answer",
        "rr-42 ended: 313 of 600 matches, 52 %, max-time",
    ]


def test_a_forfeit_is_told_in_its_own_sentence() -> None:
    said = "td forfeits at ply 1: KeyError: 'd' in bot.py:41 (bot_error)"
    begin = Started(bots=("mm5", "td"), game="tic-tac-toe")
    fault = Fault(text=said, termination="bot_error", player=1)
    end = Finished(outcome="first", termination="bot_error", reason=said, plies=0)
    assert _lines((begin, 308, 0), (fault, 308, 0), (end, 308, 0))[1:] == [
        f"match cup/308: fault: {said}",
        f"match cup/308 over: first mm5 beats second td, {said}",
    ]


@pytest.mark.parametrize("name", EVIL)
def test_lines_steer_no_terminal(name: str) -> None:
    begin = Started(bots=(name, name), game="tic-tac-toe", tc=name)
    (line,) = _lines((begin, 1, 0))
    assert line is not None
    assert line.isprintable()


def test_before_the_first_move() -> None:
    assert move_line(played("tic-tac-toe", "")) == "match /313: no move yet"


@pytest.mark.parametrize(
    ("milliseconds", "short", "long"),
    [
        (0, "0:00", "0:00.0"),
        (12_499, "0:12", "0:12.4"),
        (61_000, "1:01", "1:01.0"),
        (3_723_000, "1:02:03", "1:02:03.0"),
    ],
)
def test_clocks(milliseconds: int, short: str, long: str) -> None:
    assert (clock_text(milliseconds), long_clock_text(milliseconds)) == (short, long)


def test_durations() -> None:
    assert [duration_text(s) for s in (40, 89, 2220, 18_600)] == ["40 s", "89 s", "37 min", "5 h 10 min"]


def test_progress_without_a_known_end() -> None:
    known = ProgressView(name="cup", state="running", planned=600, done=312, given_rate=7.8)
    assert progress_line(known) == "cup running: 312 of 600 matches, 52 %, 7.8 a minute, 37 min to go"
    open_end = ProgressView(name="cup", state="running", planned=None, done=312, given_rate=7.8)
    assert progress_line(open_end) == "cup running: 312 matches, 7.8 a minute"
    assert (open_end.at().share, open_end.at().eta_s) == (0.0, None)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (Voided(num=1, match=3, reason="helped"), "match 3 is void: helped"),
        (Voided(num=2, reason="mixed up"), "2 matches are void: mixed up"),
        (Voided(num=1, undone=True), "1 match counts again"),
        (Voided(num=5, undone=True, reason="no"), "5 matches count again: no"),
        (EntrantChange(bot="az", change="join"), "az joined"),
        (EntrantChange(bot="az", change="leave", reason="it crashes"), "az left: it crashes"),
        (EntrantChange(bot="az", change="disqualify", reason="x"), "az is disqualified: x"),
    ],
)
def test_changes_of_a_league(body: Voided | EntrantChange, line: str) -> None:
    event = make_event(1, body, t=5.0)
    view = reduce(LiveView(), event)
    assert (view.seq, len(view.notices), view.notices[0].t) == (1, 1, 5.0)
    assert line_of(event, view) == line
