import pytest

from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import Detail
from arena.referee.verdict import FaultError, evidence, reason, stderr_text
from arena_plugins.contract import Outcome, Termination

LABELS = ("A", "B")


@pytest.mark.parametrize(
    ("outcome", "termination", "fault", "text"),
    [
        ("first", "rules", None, "A wins by four in a row"),
        ("draw", "rules", None, "Draw by four in a row"),
        ("second", "adjudicated", None, "B wins by adjudication"),
        ("draw", "adjudicated", None, "Draw by adjudication"),
        ("first", "resign", None, "B resigns"),
        ("first", "illegal_move", {}, "B makes an illegal move"),
        ("second", "time_move", {"elapsed_ms": 5101.2, "limit_ms": 5000.0}, "A loses on time (101 ms over)"),
        ("second", "time_game", {"elapsed_ms": 60.0, "limit_ms": 1.0}, "A loses on time (59 ms over)"),
        ("second", "crash", {"exit_code": 3, "signal": None}, "A crashes (exit 3)"),
        ("second", "crash", {"exit_code": None, "signal": 11}, "A crashes (SIGSEGV)"),
        ("second", "crash", {"exit_code": None, "signal": 99}, "A crashes (signal 99)"),
        ("second", "crash", {"cause": "it closed its output"}, "A crashes (it closed its output)"),
        ("second", "malformed", {}, "A forfeits (malformed)"),
        ("void", "arena_error", {}, "Match void (arena_error)"),
        ("void", "init_crash", {}, "Match void (init_crash)"),
    ],
)
def test_reason(outcome: str, termination: str, fault: Detail | None, text: str) -> None:
    assert reason(Outcome(outcome), Termination(termination), LABELS, "four in a row", fault) == text


def test_evidence_is_cut_and_clean() -> None:
    seat = InProcessSeat(lambda _game, _seed: pytest.fail("nobody plays"), name="x", version="2")
    error = FaultError(Termination.MALFORMED, "bad\x1b[0m\nthing", b"\xff" + b"a" * 600)
    detail = evidence(error, seat, 0.5, 100)

    assert detail["cause"] == "bad[0m thing"
    assert detail["offending"] == repr(b"\xff" + b"a" * 511)
    assert (detail["elapsed_ms"], detail["limit_ms"]) == (500, 100)
    assert (detail["bot"], detail["version"], detail["tier"]) == ("x", "2", "T0")


def test_stderr_keeps_its_lines_and_its_end() -> None:
    assert stderr_text(b"one\x07\ntwo\xff") == "one\ntwo\N{REPLACEMENT CHARACTER}"
    assert stderr_text(b"a" * 9000 + b"z") == "a" * 8191 + "z"
