"""Messages of a bot that the referee accepts before a match: greeting, readiness, pings."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import pytest

from arena.referee.connection import Connection
from arena.referee.dialogue import check_time, get_ready, greet, is_awake
from arena.referee.seats import SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.referee.verdict import FaultError
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.tier import Tier
from arena_plugins import load_game
from arena_plugins.contract import Termination
from arena_plugins.wire import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answers = Callable[..., Connection]

PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = dict(TOLD)
    for name, value in answer.items():
        if isinstance(value, list) and value:
            answer[name] = asked[value[0]] + value[1]
    print(json.dumps(answer), flush=True)
"""
"""Answers each message with the same fields; `[NAME, MORE]` stands for the message's field NAME plus MORE."""
HELLO = {"type": "hello", "protocol": 1, "name": "a", "version": "1", "games": [], "nonce": ["nonce", ""]}


@pytest.fixture
def answers() -> Iterator[Answers]:
    """Yield a function that starts a program which gives the same answer to every message."""
    connections: list[Connection] = []

    def start(told: dict[str, object], **more: object) -> Connection:
        script = PROGRAM.replace("TOLD", f"json.loads({json.dumps({**told, **more})!r})")
        process = spawn(ProcessSettings([sys.executable, "-I", "-S", "-c", script], Tier.T1))
        connections.append(Connection(process, Limits()))
        return connections[-1]

    yield start
    for connection in connections:
        connection.process.kill()
        connection.close()
        connection.process.close()


def soon() -> float:
    return time.monotonic() + 20


def fault_of(call: Callable[[], object]) -> FaultError:
    with pytest.raises(FaultError) as fault:
        call()
    return fault.value


def test_a_greeting_repeats_the_nonce(answers: Answers) -> None:
    assert greet(answers(HELLO), Limits(), soon()).name == "a"
    stale = answers(HELLO, nonce=["nonce", "0"])
    fault = fault_of(lambda: greet(stale, Limits(), soon()))
    assert (fault.termination, fault.cause) == (Termination.PROTOCOL_ORDER, "its hello has a wrong nonce")


def test_another_version_of_the_protocol_is_named(answers: Answers) -> None:
    later = answers(HELLO, protocol=2)
    fault = fault_of(lambda: greet(later, Limits(), soon()))
    assert fault.termination is Termination.NO_COMMON_PROTOCOL
    assert "it speaks arena-bot/2, the arena arena-bot/1" in fault.cause


@pytest.mark.parametrize(
    ("code", "termination"),
    [
        ("no_common_protocol", Termination.NO_COMMON_PROTOCOL),
        ("oom", Termination.OOM),
        ("bad_option", Termination.INIT_CRASH),
    ],
)
def test_an_error_at_the_start_says_what_it_is(answers: Answers, code: str, termination: Termination) -> None:
    refusing = answers({"type": "error", "code": code, "message": "no"})
    fault = fault_of(lambda: greet(refusing, Limits(), soon()))
    assert (fault.termination, fault.cause) == (termination, f"it reported {code}: no")


def test_another_message_is_no_greeting(answers: Answers) -> None:
    early = answers({"type": "ready", "match": "m"})
    fault = fault_of(lambda: greet(early, Limits(), soon()))
    assert (fault.termination, fault.cause) == (Termination.PROTOCOL_ORDER, "it sent Ready, not hello")


def test_it_must_be_ready_for_this_match(answers: Answers) -> None:
    setup = SeatSetup(
        match="m1",
        game=load_game("tic-tac-toe"),
        player=0,
        seed=1,
        control=TimeControl.parse(None, None, None),
    )
    ready = {"type": "ready", "match": ["match", ""]}
    assert not get_ready(answers(ready), setup, 20)
    assert get_ready(answers(ready, deterministic=True), setup, 20)
    other = answers(ready, match=["match", "2"])
    fault = fault_of(lambda: get_ready(other, setup, 20))
    assert (fault.termination, fault.cause) == (
        Termination.PROTOCOL_ORDER,
        "it is ready for another match",
    )
    assert fault.offending == b"'m12'"


def test_a_bot_is_awake_if_it_repeats_the_number(answers: Answers) -> None:
    assert is_awake(answers({"type": "pong", "n": ["n", 0]}), soon())
    assert not is_awake(answers({"type": "pong", "n": ["n", 1]}), soon())
    assert not is_awake(answers({"type": "error", "code": "a", "message": "b"}), soon())


def test_an_answer_may_take_what_is_allowed_and_no_more() -> None:
    check_time(1.5, 1.5, Termination.TIME_MOVE)
    fault = fault_of(lambda: check_time(1.501, 1.5, Termination.TIME_GAME))
    assert (fault.termination, fault.cause) == (Termination.TIME_GAME, "its answer came too late")
