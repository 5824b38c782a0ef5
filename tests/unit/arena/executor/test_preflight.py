from __future__ import annotations

import json
import platform
import shlex
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from arena.entrants import resolve
from arena.executor.preflight import Candidate, describe_fault, is_refused_option, preflight, try_patiently
from arena.executor.sandboxed import strongest_usual_tier
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import Forfeit
from arena.referee.timecontrol import TimeControl
from arena.referee.verdict import Ending, reason
from arena.sandbox.tier import Tier
from arena_plugins import IllegalMoveError, Outcome, Spec, Termination, load_game

if TYPE_CHECKING:
    from pathlib import Path

    from arena.referee.clock import GameClock
    from arena.referee.seats import SeatSetup
    from arena_plugins import State

GAME = load_game("tic-tac-toe")
LIMIT = TimeControl.parse(None, 30, None)


@pytest.fixture(params=["T0", "T1"])
def tier(request: pytest.FixtureRequest) -> str:
    return request.param


def run(spec: str, tier: str, **changes: str) -> Forfeit | None:
    (bot,) = resolve([spec], margin_ms=50)
    return preflight(Candidate(msgspec.structs.replace(bot, **changes), "tic-tac-toe", LIMIT, tier, 30))


def test_a_good_bot_passes(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert run("mcts:playouts=5", tier) is None
    assert run("mcts:nodes=5", tier) is None
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_refused_option(tier: str) -> None:
    fault = run("minimax:dept=3", tier)
    assert fault is not None
    assert is_refused_option(fault)
    assert 'minimax has no option "dept"; did you mean "depth"?' in str(fault.detail["cause"])


def test_a_program_that_refuses_an_option(tier: str) -> None:
    refusal = json.dumps({"type": "error", "code": "bad_option", "message": "no level 9"})
    program = shlex.join(["sh", "-c", f"read line; echo '{refusal}'; read line"])
    (bot,) = resolve([str(Spec("exec", {"cmd": program}))], margin_ms=50)
    fault = preflight(Candidate(bot, "tic-tac-toe", LIMIT, tier, 30))
    assert fault is not None
    assert is_refused_option(fault)
    assert "no level 9" in str(fault.detail["cause"])


def test_a_bot_that_does_not_start(tier: str) -> None:
    fault = run("strange:broken=on", tier)
    assert fault is not None
    assert not is_refused_option(fault)
    assert describe_fault(fault).startswith("init_crash: ")
    assert "broken on purpose" in describe_fault(fault)


def test_a_program_that_does_not_start_is_told_what_it_may_read() -> None:
    strong = strongest_usual_tier()
    (bot,) = resolve([str(Spec("exec", {"cmd": f"{shlex.quote(sys.executable)} nothing.py"}))], margin_ms=50)
    said = {
        tier: describe_fault(fault)
        for tier in {Tier.T1, strong}
        if (fault := preflight(Candidate(bot, "tic-tac-toe", LIMIT, tier, 30))) is not None
    }
    assert all("nothing.py" in text for text in said.values())
    runtime = f"python {platform.python_version()}"
    assert (f"in tier {strong} it can read only its runtime ({runtime}) and" in said[strong]) == (
        strong >= Tier.T2
    )
    assert "folder=DIR" not in said[Tier.T1]


@pytest.mark.parametrize(
    ("stderr", "last"),
    [
        ("Error: Cannot find module 'x'\n    at y\n\nNode.js v20.20.2\n", "Error: Cannot find module 'x'"),
        (
            "Error: no main class Bot\nCaused by: java.lang.ClassNotFoundException: Bot\n",
            "Caused by: java.lang.ClassNotFoundException: Bot",
        ),
        ("warming up\n./engine: no such file\n", "./engine: no such file"),
    ],
)
def test_the_line_of_a_log_that_names_the_error_is_shown(stderr: str, last: str) -> None:
    fault = Forfeit(Termination.INIT_CRASH, {"cause": "it closed its output", "stderr": stderr})
    assert describe_fault(fault) == f"init_crash: it closed its output: {last}"


HEAD = "Traceback (most recent call last):\n"
FRAME = '  File "/bot/bot.py", line 41, in play\n'


@pytest.mark.parametrize(
    ("cause", "stderr", "said"),
    [
        ("it reported bot_error: KeyError: 'd'", f"{HEAD}{FRAME}KeyError: 'd'", "KeyError: 'd' in bot.py:41"),
        (
            "it reported init_error: bot.py fails: Odd: 7; with=PATH adds it",
            f"{HEAD}{FRAME}bot.Odd: 7\nPluginError: bot.py fails: Odd: 7; with=PATH adds it",
            "bot.py fails: Odd: 7 in bot.py:41; with=PATH adds it",
        ),
        (
            "it closed its output",
            f"{HEAD}{FRAME}AssertionError",
            "it closed its output: AssertionError in bot.py:41",
        ),
        # Tracebacks with another exception than the reported one, without a frame of the bot, and none at
        # all.
        (
            "it reported bot_error: KeyError: 'd'",
            f"{HEAD}{FRAME}IndexError: 4",
            "KeyError: 'd': IndexError: 4 in bot.py:41",
        ),
        ("it reported bot_error: KeyError: 'd'", f"{HEAD}KeyError: 'd'", "KeyError: 'd'"),
        ("it closed its output", "KeyError: 'd'", "it closed its output: KeyError: 'd'"),
    ],
)
def test_an_exception_is_told_with_its_line(cause: str, stderr: str, said: str) -> None:
    fault = Forfeit(Termination.BOT_ERROR, {"cause": cause, "stderr": stderr})
    assert describe_fault(fault) == f"bot_error: {said}"


def test_a_line_that_is_no_message_is_shown(tmp_path: Path) -> None:
    """The line of an author who prints to stdout."""
    for size, shown in ((8, "b'sss" + "s" * 5 + "'"), (500, "b'" + "s" * 95 + "...")):
        program = tmp_path / f"chatty{size}.py"
        program.write_text(f"print('s' * {size}, flush=True)\ninput()\n")
        fault = run(str(Spec("exec", {"cmd": f"{shlex.quote(sys.executable)} {program}"})), "T1")
        assert fault is not None
        said = describe_fault(fault)
        assert said.startswith("malformed: not an arena-bot/1 message: "), said
        assert said.endswith(f"; it wrote {shown} to stdout, which is reserved for messages")


def test_the_start_and_the_match_name_the_same_line(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import json\n\njson.loads('?')\n")
    (tmp_path / "bot.py").write_text("import helper\n")
    fault = run(f"python:file={tmp_path}", strongest_usual_tier().value)
    assert fault is not None
    error = "bot.py fails: JSONDecodeError: Expecting value: line 1 column 1 (char 0) in helper.py:3"
    assert describe_fault(fault) == f"init_crash: {error}"
    told = reason(Ending(Outcome.SECOND, fault.termination, fault.detail), ("A", "B"))
    assert told == f"A forfeits at the start: {error} (init_crash)"


def test_a_bot_that_does_not_answer_well(tier: str) -> None:
    fault = run("strange:cheat=on", tier)
    assert fault is not None
    assert describe_fault(fault) == "illegal_move: its action is not a legal one"


def test_a_bot_that_cannot_be_imported(tier: str) -> None:
    fault = run("random", tier, entry="nowhere")
    assert fault is not None
    assert "nowhere" in describe_fault(fault)


def test_a_bot_is_asked_about_the_opening_and_told_whose_move_it_is(
    tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, tuple[int, ...], int]] = []
    (bot,) = resolve(["random"], margin_ms=50)
    kind = InProcessSeat if tier == "T0" else HostedSeat
    ask, start = kind.ask, kind.start

    def note_start(seat: Any, setup: SeatSetup) -> Forfeit | None:  # noqa: ANN401 - of either kind
        asked.append((setup.player, (), 0))
        return start(seat, setup)

    def note(seat: Any, state: State, num_opening: int, clock: GameClock) -> object:  # noqa: ANN401
        asked.append((state.current_player, state.history, num_opening))
        return ask(seat, state, num_opening, clock)

    monkeypatch.setattr(kind, "start", note_start)
    monkeypatch.setattr(kind, "ask", note)
    assert preflight(Candidate(bot, "tic-tac-toe", LIMIT, tier, 30, (4, 0, 8))) is None
    assert asked == [(1, (), 0), (1, (4, 0, 8), 3)]
    with pytest.raises(IllegalMoveError):
        preflight(Candidate(bot, "tic-tac-toe", LIMIT, tier, 30, (4, 4)))


LATE = Forfeit(Termination.TIME_MOVE, {"cause": "late", "limit_ms": 1.0, "elapsed_ms": 100.0, "cpu_ms": 50.0})
IDLE = msgspec.structs.replace(LATE, detail={**LATE.detail, "cpu_ms": 1.0})
STALLED = msgspec.structs.replace(IDLE, is_stall=True)
CRASHED = Forfeit(Termination.CRASH, {"cause": "dead", "cpu_ms": 50.0, "elapsed_ms": 50.0})


@pytest.mark.parametrize(
    ("faults", "patient", "expected"),
    [
        ([None], [], None),
        # A bot that only waited, or died, gets no second attempt with more time.
        ([IDLE], [], IDLE),
        ([CRASHED], [], CRASHED),
        # A bot that computed may have been compiling; the result of the second attempt does not matter.
        ([LATE, None, None], [1], None),
        ([LATE, CRASHED, None], [1], None),
        ([LATE, None, LATE], [1], LATE),
        # On a busy machine the attempt is repeated, but not for ever.
        ([STALLED, None, STALLED, None], [1], None),
        ([STALLED, None, STALLED, STALLED, STALLED], [1], STALLED),
        ([STALLED, None, LATE], [1], LATE),
    ],
)
def test_who_is_late_is_tried_again(
    faults: list[Forfeit | None], patient: list[int], expected: Forfeit | None
) -> None:
    given: list[tuple[TimeControl, float]] = []
    coming = iter(faults)

    def attempt(control: TimeControl, init_s: float) -> Forfeit | None:
        given.append((control, init_s))
        return next(coming)

    control = TimeControl.parse(None, 0.5, 7)
    assert try_patiently(attempt, control, 3.0) == expected
    assert list(coming) == []
    usual = (control, 3.0)
    # The bot gets its usual time limit, or a search would use all of two minutes.
    longer = (msgspec.structs.replace(control, margin_ms=120_000), 120.0)
    assert given == [longer if number in patient else usual for number in range(len(faults))]
