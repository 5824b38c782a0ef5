"""Published kinds of Kaggle submissions in each isolation tier: they play, or are refused with a reason."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.executor.preflight import Candidate, describe_fault, preflight
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins.contract import Termination
from kaggle_zoo import FIRST, PLACE, ZOO, Submission, write_submission

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena.match import MatchResult

    Play = Callable[..., list[MatchResult]]

TIERS = [tier for tier in tiers_to_try() if tier > Tier.T0]
"""Isolation tiers of this machine except T0, the strongest first, which is the default."""
CASES = [(kind, TIERS[0]) for kind in ZOO] + [
    (kind, tier) for kind, submission in ZOO.items() for tier in TIERS[1:] if submission.uses_path
]


@pytest.mark.parametrize(("kind", "tier"), CASES)
def test_it_plays(kind: str, tier: Tier, play: Play, tmp_path: Path) -> None:
    """Play two matches by one process: the second match starts with the state that the first one left."""
    path = write_submission(ZOO[kind], tmp_path)
    results = play(f"kaggle:file={path}", "random", tier=tier, matches=2)
    ends = [(result.termination, result.tier, result.fault) for result in results]
    assert [end[:2] for end in ends] == [(Termination.RULES, tier.value)] * 2, ends


def refusal(path: Path, tier: Tier) -> str:
    """Return the error of the preflight, without which no match begins; empty if there is none."""
    (bot,) = resolve([f"kaggle:file={path}"], margin_ms=0)
    control = TimeControl(mode="move", move_ms=30_000)
    fault = preflight(Candidate(bot, "connect-four", control, tier, 60))
    return "" if fault is None else describe_fault(fault)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "import no_such_framework.nn\ndef agent(obs, conf): return 3",
            "main.py imports no_such_framework, which is neither installed nor in the submission; run pip",
        ),
        (
            "def agent(obs, conf):\n  import no_such_framework\n  return 3",
            "bot_error: main.py imports no_such_framework, which is neither installed",
        ),
        ("\ndef agent(obs, conf) return 3", "main.py is not valid Python: expected ':' (line 2)"),
        ("import sys\nsys.exit(0)", "main.py fails: SystemExit: 0 in main.py:2"),
        ("\n1 / 0", "main.py fails: ZeroDivisionError: division by zero in main.py:2"),
        ("assert 1 > 2", "main.py fails: AssertionError in main.py:1"),
        ("def agent(obs, conf):\n  return {}['d']", "bot_error: KeyError: 'd' in main.py:2"),
        ("size = 4", "main.py defines no function; the last callable in the file is the agent"),
    ],
)
def test_what_cannot_play_says_why(source: str, words: str, tmp_path: Path) -> None:
    path = write_submission(Submission({"main.py": source}, ".tar.gz"), tmp_path)
    assert words in refusal(path, TIERS[0])


@pytest.mark.parametrize(
    ("helper", "words"),
    [
        ("def first(obs, conf):\n  1 / 0\nfirst(1, 2)", "ZeroDivisionError: division by zero in helper.py:2"),
        ("x = 1\ny = (\n", "SyntaxError: '(' was never closed in helper.py:2"),
    ],
)
def test_a_helper_that_fails_is_named_with_its_line(helper: str, words: str, tmp_path: Path) -> None:
    files = {"main.py": "\n\nfrom helper import first as agent", "helper.py": helper}
    path = write_submission(Submission(files), tmp_path)
    assert refusal(path, TIERS[0]).endswith(f"main.py fails: {words}")


@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_is_missing_is_told_with_the_line_that_opens_it(*, late: bool, tmp_path: Path) -> None:
    """Outside a container, one of our functions is on the call stack between that line and the error."""
    opening = f"open('{PLACE}/book.json')"
    load, play = ("", opening) if late else (opening, "")
    path = write_submission(
        Submission({"main.py": f"{load}\ndef agent(obs, conf):\n  {play}\n  return {FIRST}"}), tmp_path
    )
    for tier in TIERS:
        said = refusal(path, tier)
        assert "FileNotFoundError: [Errno 2] No such file or directory: " in said
        assert f"/book.json' in main.py:{3 if late else 1}" in said


@pytest.mark.parametrize("late", [False, True])
def test_compiled_code_finds_the_path_in_a_container_alone(*, late: bool, tmp_path: Path) -> None:
    database = tmp_path / "book.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE book (move INTEGER)")
    connection.close()
    opening = f'book = sqlite3.connect("file:{PLACE}/book.db?mode=ro&immutable=1", uri=True)'
    asking = 'book.execute("SELECT move FROM book")'
    load, play = ("", f"{opening}; {asking}") if late else (f"{opening}; {asking}", "")
    source = f"import sqlite3\n{load}\ndef agent(obs, conf):\n  {play}\n  return {FIRST}"
    path = write_submission(
        Submission({"main.py": source, "book.db": database.read_bytes()}, ".zip"), tmp_path
    )
    told = {tier: refusal(path, tier) for tier in TIERS}
    for tier, text in told.items():
        if tier is Tier.T3:
            assert text == ""
        else:
            assert f"compiled code can open {PLACE} only in tier T3" in text
            assert "OperationalError: unable to open database file" in text
