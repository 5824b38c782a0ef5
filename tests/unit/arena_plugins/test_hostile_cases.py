"""The hostile programs as their users see them: the documented results, and how to start them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from arena_plugins import Termination
from arena_plugins.hostile import HostileCase, cases
from arena_plugins.hostile.run import BEHAVIOURS
from arena_plugins.hostile.table import TABLE, Misbehaviour

CASES = {(case.number, case.name): case for case in cases()}
TERMINATIONS = {termination.value for termination in Termination}
MESSAGES = [
    {"type": "hello", "nonce": "5a1e"},
    {"type": "new_match", "match": "m1"},
    {"type": "go", "id": "q1", "legal": [3, 5], "clock": {"you_ms": 1000}},
    {"type": "quit"},
]


def said_by(case: HostileCase, canaries: dict[str, object] | None = None) -> list[dict[str, object]]:
    text = "".join(json.dumps(message) + "\n" for message in MESSAGES)
    command = case.command(sys.executable, canaries)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - our own code
    return [json.loads(line) for line in done.stdout.splitlines()]


def named(name: str) -> HostileCase:
    return next(case for case in cases() if case.name == name)


def test_every_program_is_a_case() -> None:
    assert [(case.number, case.name) for case in cases()] == [
        (row.number, row.name) for row in TABLE if not row.is_plugin
    ]
    assert {case.name for case in cases()} >= BEHAVIOURS.keys()
    assert {case.opponent for case in cases()} <= {case.name for case in cases()}


def test_expectations_are_terminations_of_every_tier_from_the_first_promised_one() -> None:
    for case in cases():
        assert case.expected
        assert list(case.expected) == ["T1", "T2", "T3"][-len(case.expected) :]
        assert all(found and set(found) <= TERMINATIONS for found in case.expected.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exit-3", {"T1": ("crash",), "T2": ("crash",), "T3": ("crash",)}),
        ("disk", {"T1": ("oom",), "T2": ("oom",), "T3": ("rules",)}),
        ("fork-bomb", {"T1": ("rules", "crash", "oom"), "T2": ("rules",), "T3": ("rules",)}),
        ("read-store", {"T2": ("rules",), "T3": ("rules",)}),
    ],
)
def test_what_is_expected_depends_on_the_tier(name: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert dict(named(name).expected) == expected


def test_the_strongest_exception_counts() -> None:
    row = Misbehaviour(0, "x", ("a",), stronger=(("T2", ("b",)), ("T3", ("c",))))
    assert [row.expected_in(tier) for tier in ("T1", "T2", "T3")] == [("a",), ("b",), ("c",)]
    assert [row._replace(tier="T2").expected_in(tier) for tier in ("T1", "T2")] == [(), ("b",)]


def test_a_case_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        named("good").expected["T1"] = ("draw",)  # type: ignore[index]  # pyright: ignore[reportIndexIssue]


def test_a_case_is_started_by_its_command() -> None:
    hello, ready, action = said_by(named("good"))
    assert (hello["type"], hello["nonce"], ready["match"]) == ("hello", "5a1e", "m1")
    assert action == {"type": "action", "id": "q1", "action": 3}


def test_a_case_reaches_for_what_it_is_given(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = tmp_path_factory.mktemp("store") / "file"
    store.write_text("precious")
    case = named("read-store")
    assert case.needs == ("store",)
    first_move = case._replace(move=1)
    info, action = said_by(first_move, {"store": store})[2:]
    assert (info["text"], action["action"]) == ("WORKED: precious", 3)
    assert [message["type"] for message in said_by(first_move)[2:]] == ["action"]
