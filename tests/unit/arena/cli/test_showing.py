"""The accuracy and blunders that `arena show MATCH` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from arena_db.records import Remark
from arena_db.remark_codec import pack_remarks
from arena_db.store import Store
from stores import add_cup, tamper

if TYPE_CHECKING:
    from command_line import CommandLine

# After X in the middle, O's edge move loses; X gives the win away at ply 5.
ACTIONS = (4, 1, 0, 8, 5, 2)


def add_match(arena: CommandLine, game: str, actions: tuple[int, ...], num_actions: int) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store, game=game, num_actions=num_actions)
        length = len(actions)
        times, values = (5,) * length, (None,) * length
        changes: dict[str, Any] = {"actions": actions, "times_ms": times, "values": values, "num_opening": 1}
        store.matches.save([cup.match(1, **changes)])


SAID: list[tuple[dict[str, Any], str]] = [
    ({}, "tier T2"),
    ({"limits": "polled"}, "tier T2, limits polled"),
    (
        {"idle_cpu_first_ms": 0.42, "idle_cpu_second_ms": 0.0, "limits": "kernel"}
        | dict.fromkeys(("runtime_first", "runtime_second"), "python 3.11.2"),
        "idle CPU  first 0.4 ms, second 0.0 ms     tier T2, limits kernel, runtime python 3.11.2",
    ),
    (
        {"idle_cpu_second_ms": 1145.0, "runtime_second": "node 18.19.0"},
        "idle CPU  second 1145.0 ms     tier T2, runtime second node 18.19.0",
    ),
    (
        {"runtime_first": "python 3.11.2", "runtime_second": "node 18.19.0"},
        "tier T2, runtime first python 3.11.2, second node 18.19.0",
    ),
]


@pytest.mark.parametrize(("changes", "line"), SAID)
def test_how_a_match_was_run(arena: CommandLine, changes: dict[str, Any], line: str) -> None:
    with Store.open(arena.db) as store:
        store.matches.save([add_cup(store).match(1, **changes)])
    assert line in arena("show", "1").stdout.splitlines()
    (shown,) = arena.objects("show", 1)
    keys = ("idle_cpu_first_ms", "idle_cpu_second_ms", "limits", "runtime_first", "runtime_second")
    assert {key: shown[key] for key in keys if shown[key] is not None} == changes


def test_what_the_bots_said_stands_beside_their_moves(arena: CommandLine) -> None:
    said = Remark(depth=7, nodes=4711, pv=(8, 5, 5), text="x" * 60, visits=((8, 3),))
    long = Remark(pv=(2, 6, 3, 7))
    with Store.open(arena.db) as store:
        cup = add_cup(store, game="tic-tac-toe", num_actions=9)
        changes: dict[str, Any] = {"actions": ACTIONS, "num_opening": 2, "times_ms": (0, 0, 5, 6, 7, 8)}
        packed = pack_remarks([None, None, None, said, None, long])
        store.matches.save([cup.match(1, values=(None,) * 6, remarks=packed, **changes)])
    lines = arena("show", "1").stdout.splitlines()
    begin = next(number for number, line in enumerate(lines) if "Ply" in line) + 2
    plies = [line.split() for line in lines[begin : begin + 6]]
    assert [line[3] for line in plies] == ["opening", "opening", "5", "6", "7", "8"]
    assert plies[3][5:] == ["7", "4711", "c1", "c2", "(5", "is", "not", "legal)", "x" * 60]
    assert plies[5][5:] == ["-", "-", "c3", "a1", "a2", "b1", "-"]
    (shown,) = arena.objects("show", 1)
    remarks = cast("list[dict[str, Any] | None]", shown["remarks"])
    assert [remark is None for remark in remarks] == [True, True, True, False, True, False]
    assert remarks[3] == {
        "policy": None,
        "visits": [[8, 3]],
        "pv": [8, 5, 5],
        "nodes": 4711,
        "depth": 7,
        "text": "x" * 60,
    }


def test_columns_of_what_nobody_said_are_left_out(arena: CommandLine) -> None:
    add_match(arena, "tic-tac-toe", ACTIONS, 9)
    (header,) = [line for line in arena("show", "1").stdout.splitlines() if "Ply" in line]
    assert header.split() == ["Ply", "Move", "ms", "Value"]


def test_a_traceback_keeps_its_lines_and_steers_no_terminal(arena: CommandLine) -> None:
    stderr = "Traceback (most recent call last):\n  File \"bot.py\", line 41, in play\nKeyError: \x1b[31m'd'"
    with Store.open(arena.db) as store:
        fault = json.dumps({"cause": "KeyError: 'd'", "stderr": stderr, "max_rss": None})
        store.matches.save([add_cup(store).match(1, termination="bot_error", fault=fault)])
    lines = arena("show", "1").stdout.splitlines()
    assert lines[lines.index("Evidence of the fault:") + 1 :] == [
        "  cause: KeyError: 'd'",
        "  stderr:",
        "    Traceback (most recent call last):",
        '      File "bot.py", line 41, in play',
        "    KeyError: [31m'd'",
        "  max_rss: None",
    ]


def judged(arena: CommandLine) -> list[str]:
    text = arena("show", "1").stdout
    return [line for line in text.splitlines() if "accuracy" in line or "blunder" in line]


def test_accuracy_and_first_blunder_of_each_side(arena: CommandLine) -> None:
    add_match(arena, "tic-tac-toe", ACTIONS, 9)
    assert judged(arena) == [
        "a: accuracy 50.0% (1 of 2 moves give nothing away)",
        "  first blunder: ply 5, c2 gives a win away; best: a2, a1",
        "b: accuracy 33.3% (1 of 3 moves give nothing away)",
        "  first blunder: ply 2, b3 gives a draw away; best: a3, c3, a1, c1",
    ]
    (shown,) = arena.objects("show", 1)
    analysis = cast("dict[str, Any]", shown["analysis"])
    assert (analysis["first"]["accuracy"], analysis["first"]["first_blunder"]) == (0.5, 4)
    assert [ply["loss"] for ply in analysis["plies"]] == [0, 1, 0, 0, 1, 1]


def test_what_could_not_be_solved_is_said(arena: CommandLine) -> None:
    add_match(arena, "gomoku:k=4,size=7", (24, 0, 42, 6), 49)
    assert judged(arena) == [
        "a: accuracy - (1 not solved)",
        "b: accuracy - (2 not solved)",
    ]


def test_a_game_without_a_solver_is_not_judged(arena: CommandLine) -> None:
    add_match(arena, "gomoku", (112, 0), 225)
    assert judged(arena) == []
    assert arena.objects("show", 1)[0]["analysis"] is None


def test_a_match_of_a_missing_game_or_against_the_rules_is_printed_without(arena: CommandLine) -> None:
    add_match(arena, "tic-tac-toe", (0, 0), 9)
    assert arena.objects("show", 1)[0]["analysis"] is None
    tamper(arena.db, "UPDATE tournaments SET game = 'halma'")
    assert arena.objects("show", 1)[0]["analysis"] is None
