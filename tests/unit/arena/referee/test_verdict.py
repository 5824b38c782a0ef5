import pytest

import arena_plugins
from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import Detail
from arena.referee.verdict import MAX_CAUSE, Ending, FaultError, evidence, reason, stderr_text
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
        (
            "first",
            "illegal_move",
            {"cause": "its action is not a legal one", "offending": "b'99'"},
            "B makes an illegal move at ply 7: action 99 (illegal_move)",
        ),
        (
            "second",
            "time_move",
            {"elapsed_ms": 5101.2, "limit_ms": 5000.0},
            "A loses on time at ply 7: 101 ms over (time_move)",
        ),
        (
            "second",
            "time_game",
            {"elapsed_ms": 60.0, "limit_ms": 1.0},
            "A loses on time at ply 7: 59 ms over (time_game)",
        ),
        ("second", "crash", {"exit_code": 3, "signal": None}, "A crashes at ply 7: exit 3 (crash)"),
        ("second", "crash", {"exit_code": None, "signal": 11}, "A crashes at ply 7: SIGSEGV (crash)"),
        ("second", "crash", {"exit_code": None, "signal": 99}, "A crashes at ply 7: signal 99 (crash)"),
        (
            "second",
            "crash",
            {"cause": "it closed its output"},
            "A crashes at ply 7: it closed its output (crash)",
        ),
        ("second", "malformed", {}, "A forfeits at ply 7 (malformed)"),
        ("void", "arena_error", {}, "Match void (arena_error)"),
        (
            "void",
            "arena_error",
            {"traceback": "Traceback (most recent call last):\n  File ...\nValueError: odd\n"},
            "Match void: ValueError: odd (arena_error)",
        ),
        ("void", "init_crash", {}, "Match void (init_crash)"),
    ],
)
def test_reason(outcome: str, termination: str, fault: Detail | None, text: str) -> None:
    ending = Ending(Outcome(outcome), Termination(termination), fault)
    assert reason(ending, LABELS, "four in a row", 7) == text


def forfeit(termination: str, fault: Detail, ply: int = 7) -> str:
    return reason(Ending(Outcome.SECOND, Termination(termination), fault), ("buggy", "B"), ply=ply)


def trace(*frames: str, error: str) -> str:
    lines = [f'  File "{frame.partition(":")[0]}", line {frame.partition(":")[2]}, in f' for frame in frames]
    return "\n".join(["Traceback (most recent call last):", *lines, error])


HOST = f"{arena_plugins.__path__[0]}/host.py:140"
"""The frame with which every traceback of a hosted bot begins."""


@pytest.mark.parametrize(
    ("stderr", "place"),
    [
        (trace(HOST, "/bot/lib/bot.py:41", error="KeyError: 'd'"), " in bot.py:41"),
        (trace(HOST, "/bot/a.py:9", "/bot/deep/b.py:3", error="KeyError: 'd'"), " in b.py:3"),
        (
            "noise\n" + trace(HOST, r"C:\bots\bot.py".replace(":", "") + ":4", error="KeyError: 'd'"),
            " in bot.py:4",
        ),
        # The line that called a library is more useful than a line of the library.
        (
            trace(
                HOST, "/bot/bot.py:5", "/v/lib/python3.11/site-packages/numpy/x.py:7", error="KeyError: 'd'"
            ),
            " in bot.py:5",
        ),
        (trace(HOST, "/usr/lib/python3.11/json/decoder.py:3", error="KeyError: 'd'"), " in decoder.py:3"),
        # A bot that reports an error without a traceback, or after the traceback of another one.
        ("", ""),
        ("KeyError: 'd'", ""),
        (trace("/bot/bot.py:41", error="IndexError: 4"), ""),
        # Earlier output may be of another exception; chained exceptions belong to the last one.
        (
            trace("/bot/old.py:1", error="OSError: x") + "\n" + trace(HOST, error="KeyError: 'd'"),
            "",
        ),
        (
            trace("/bot/new.py:2", error="OSError: x")
            + "\n\nThe above exception was the direct cause of the following exception:\n\n"
            + trace(HOST, error="KeyError: 'd'"),
            " in new.py:2",
        ),
    ],
)
def test_the_sentence_names_the_line_of_the_bot(stderr: str, place: str) -> None:
    fault: Detail = {"cause": "it reported bot_error: KeyError: 'd'", "stderr": stderr}
    assert forfeit("bot_error", fault) == f"buggy forfeits at ply 7: KeyError: 'd'{place} (bot_error)"


def test_a_program_that_dies_of_an_exception_says_so() -> None:
    fault: Detail = {
        "cause": "it closed its output",
        "exit_code": 1,
        "signal": None,
        "stderr": "hello\n" + trace("/home/me/agent.py:12", error="agent.Odd: 7"),
    }
    assert forfeit("crash", fault) == "buggy crashes at ply 7: exit 1, agent.Odd: 7 in agent.py:12 (crash)"
    started = forfeit("init_crash", fault, 0)
    assert started == "buggy forfeits at the start: exit 1, agent.Odd: 7 in agent.py:12 (init_crash)"


def test_an_error_of_the_contract_is_told_without_its_class() -> None:
    stderr = trace(HOST, "/bot/bot.py:3", error="arena_plugins.errors.PluginError: no weights")
    fault: Detail = {"cause": "it reported init_error: no weights", "stderr": stderr}
    assert (
        forfeit("init_crash", fault, 0) == "buggy forfeits at the start: no weights in bot.py:3 (init_crash)"
    )


def test_a_long_cause_is_cut_but_not_its_place() -> None:
    error = f"ValueError: {'long ' * 90}end"
    fault: Detail = {"cause": f"it reported bot_error: {error}", "stderr": trace("/b/bot.py:41", error=error)}
    said = forfeit("bot_error", fault)
    assert said.endswith("... in bot.py:41 (bot_error)")
    assert len(said) == len("buggy forfeits at ply 7:  (bot_error)") + MAX_CAUSE


def test_the_sentence_is_safe_for_a_terminal() -> None:
    nasty = "ValueError: \x1b[31mred\x07\N{RIGHT-TO-LEFT OVERRIDE}"
    said = forfeit("bot_error", {"cause": nasty, "stderr": trace("/b/b\x1b[0mot.py:41", error=nasty)})
    assert said == "buggy forfeits at ply 7: ValueError: [31mred in b[0mot.py:41 (bot_error)"


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
