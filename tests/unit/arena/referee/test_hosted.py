from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arena_plugins
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.seats import Answer, Forfeit, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.resources import Resources
from arena_plugins.command import host_command, host_path
from arena_plugins.contract import Outcome, Termination
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOSTILE = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")
GAME = load_game("connect-four")
CONTROL = TimeControl.parse(None, 20, None)


@pytest.fixture
def make_seat() -> Iterator[Callable[..., HostedSeat]]:
    seats: list[HostedSeat] = []

    def make(mode: str, move: int = 1, *, ponders: bool = False) -> HostedSeat:
        command = [sys.executable, "-I", "-S", HOSTILE, mode, str(move)]
        resources = Resources(memory_bytes=1 << 27)
        seats.append(HostedSeat(ProcessSettings(command, resources=resources), name="bot", version="1"))
        seats[-1].ponders = ponders
        return seats[-1]

    yield make
    for seat in seats:
        seat.close()


def start(seat: HostedSeat, control: TimeControl = CONTROL, init_s: float = 20.0) -> Forfeit | None:
    return seat.start(SeatSetup(match="m", game=GAME, player=0, seed=1, control=control, init_s=init_s))


def ask(seat: HostedSeat, control: TimeControl = CONTROL) -> object:
    return seat.ask(GAME.initial_state(), 0, GameClock((control, control)))


def end(seat: HostedSeat) -> None:
    seat.finish(Outcome.FIRST, Termination.RULES)


def test_the_process_stays_warm(make_seat: Callable[..., HostedSeat]) -> None:
    seat, pids = make_seat("good"), set[int | None]()
    for _ in range(3):
        assert start(seat) is None
        assert isinstance(ask(seat), Answer)
        assert seat.check() is None
        end(seat)
        pids.add(seat.pid)
    assert len(pids) == 1


def test_a_fault_ends_the_process_and_the_next_match_has_another(
    make_seat: Callable[..., HostedSeat],
) -> None:
    seat = make_seat("act-99")
    for _ in range(2):
        assert start(seat) is None
        pid = seat.pid
        assert pid is not None
        fault = ask(seat)
        assert isinstance(fault, Forfeit)
        assert (seat.pid, seat.check()) == (None, None)
        end(seat)
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)
        with pytest.raises(RuntimeError, match="bot was asked for a move before"):
            ask(seat)


@pytest.mark.parametrize("mode", ["two-answers", "die-after-answer"])
def test_what_is_done_after_a_match_is_no_part_of_the_next(
    mode: str, make_seat: Callable[..., HostedSeat]
) -> None:
    seat = make_seat(mode, ponders=True)
    for _ in range(2):
        assert start(seat) is None
        assert isinstance(ask(seat), Answer)
        end(seat)
        if mode == "die-after-answer" and seat.pid is not None:
            os.waitid(os.P_PID, seat.pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize(
    ("mode", "termination"),
    [("two-answers", "protocol_order"), ("die-after-answer", "crash"), ("orphan-after-answer", "crash")],
)
def test_a_check_sees_what_goes_wrong_unasked(
    mode: str, termination: str, make_seat: Callable[..., HostedSeat]
) -> None:
    seat = make_seat(mode, ponders=True)
    start(seat)
    ask(seat)
    # The second line may not have arrived yet.
    while (fault := seat.check()) is None:
        pass
    assert fault.termination == termination


def test_a_bot_that_reads_nothing_is_replaced(make_seat: Callable[..., HostedSeat]) -> None:
    seat = make_seat("never-reads")
    start(seat)
    pid = seat.pid
    for _ in range(2000):
        end(seat)
    assert start(seat) is None
    assert seat.pid != pid


def test_a_bot_that_reads_nothing_gets_no_time_for_it(make_seat: Callable[..., HostedSeat]) -> None:
    seat, control = make_seat("never-reads"), TimeControl.parse(None, 0.1, None)
    start(seat, control)
    for _ in range(2000):
        end(seat)
    fault = ask(seat, control)
    assert isinstance(fault, Forfeit)
    assert fault.termination == "time_move"


def test_a_bot_may_read_late(make_seat: Callable[..., HostedSeat]) -> None:
    seat = make_seat("reads-late")
    start(seat)
    for _ in range(1200):
        end(seat)
    assert isinstance(ask(seat), Answer)


def test_a_busy_bot_is_killed_at_once(
    make_seat: Callable[..., HostedSeat], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.referee.hosted._QUIT_S", 60.0)
    seat = make_seat("sleep")
    start(seat)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(KeyboardInterrupt):
        ask(seat)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    began = time.monotonic()
    seat.close()
    assert seat.pid is None
    # A bot that is first asked to quit would get 60 seconds.
    assert time.monotonic() - began < 30


def test_a_bot_that_closed_its_input_can_be_closed(make_seat: Callable[..., HostedSeat]) -> None:
    for tell in (end, HostedSeat.close):
        seat = make_seat("close-stdin")
        start(seat)
        assert isinstance(ask(seat), Answer)
        tell(seat)
        assert seat.pid is None


def test_an_error_code_of_the_start_decides(make_seat: Callable[..., HostedSeat]) -> None:
    fault = start(make_seat("error-start"))
    assert fault is not None
    assert fault.termination == "init_crash"
    assert "bad_option: no option of that name" in str(fault.detail["cause"])


def test_a_missing_program_is_an_init_crash() -> None:
    fault = start(HostedSeat(ProcessSettings(["/nowhere/bot"]), name="bot", version="1"))
    assert fault is not None
    assert (fault.termination, fault.detail["exit_code"]) == ("init_crash", 127)
    assert "cannot run /nowhere/bot: No such file" in str(fault.detail["stderr"])


def test_a_plugin_plays_through_the_host() -> None:
    command = host_command(
        sys.executable,
        entry="arena_bots.random",
        name="random",
        version="1",
        options={},
        games={"connect-four": "arena.games.connect_four"},
        path=host_path(),
    )
    seat = HostedSeat(ProcessSettings(command), name="random", version="1")
    assert start(seat) is None
    assert isinstance(ask(seat), Answer)
    seat.close()


@pytest.mark.parametrize("name", ["good", "chatter", "dies-of-ping", "ignores-ping"])
def test_a_process_that_idled_must_answer_a_ping(
    name: str, make_seat: Callable[..., HostedSeat], monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = make_seat(name)
    start(seat)
    pid = seat.pid
    # Every pause counts as long, and the bot that ignores pings has little time to answer.
    monkeypatch.setattr("arena.referee.hosted._IDLE_S", -1.0)
    if name == "ignores-ping":
        monkeypatch.setattr("arena.referee.hosted._PING_S", 0.1)
    assert start(seat) is None
    assert (seat.pid == pid) == (name == "good")


_ONE_MATCH = """
import json, os, sys, time
PLAYS, END = int(sys.argv[1]), sys.argv[2]

def send(**message):
    print(json.dumps(message), flush=True)

def leave():
    if END == "says-something":
        print("bye", flush=True)
    if END == "hangs":
        time.sleep(1000)
    if END == "closes-first":
        os.close(1)
        time.sleep(0.4)
        os._exit(0)
    sys.exit(3 if END == "fails" else 0)

for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    if kind == "hello":
        send(type="hello", protocol=1, name="bot", version="1", games=[], nonce=message["nonce"])
    elif kind == "new_match":
        if not PLAYS:
            leave()
        PLAYS -= 1
        send(type="ready", match=message["match"])
    elif kind == "go":
        send(type="action", id=message["id"], action=message["legal"][0])
        if END == "after-its-answer":
            sys.exit(0)
    elif kind == "match_over" and not PLAYS:
        leave()
"""


def one_match_seat(num_matches: int, end: str, *, ponders: bool) -> HostedSeat:
    command = [sys.executable, "-I", "-S", "-c", _ONE_MATCH, str(num_matches), end]
    seat = HostedSeat(ProcessSettings(command), name="bot", version="1")
    seat.ponders = ponders
    return seat


@pytest.mark.parametrize("ponders", [False, True])
@pytest.mark.parametrize("way", ["at-once", "closes-first", "after-its-answer"])
def test_a_bot_may_exit_once_its_match_is_over(way: str, ponders: bool) -> None:  # noqa: FBT001 - a parameter
    seat, pids = one_match_seat(1, way, ponders=ponders), set[int | None]()
    for _ in range(4):
        assert start(seat) is None
        pids.add(seat.pid)
        assert isinstance(ask(seat), Answer)
        end(seat)
    assert len(pids) == 4
    seat.close()


@pytest.mark.parametrize("ponders", [False, True])
def test_what_is_kept_of_the_words_is_of_the_process_that_plays(ponders: bool) -> None:  # noqa: FBT001 - as above
    seat = one_match_seat(1, "at-once", ponders=ponders)
    for _ in range(2):
        start(seat)
        ask(seat)
        said = [str(line) for line in seat.wire]
        assert sum("new_match" in line for line in said) == 1
        end(seat)
    seat.close()


def test_a_bot_that_fails_after_its_match_is_at_fault() -> None:
    # The bot is stopped until it has to get ready, so that it fails at that time.
    seat = one_match_seat(1, "fails", ponders=False)
    start(seat)
    ask(seat)
    end(seat)
    fault = start(seat)
    assert isinstance(fault, Forfeit)
    assert (fault.termination, fault.detail["exit_code"]) == ("init_crash", 3)
    seat.close()


def test_a_fresh_process_that_exits_is_at_fault() -> None:
    seat = one_match_seat(0, "at-once", ponders=False)
    fault = start(seat)
    assert isinstance(fault, Forfeit)
    assert (fault.termination, fault.detail["exit_code"]) == ("init_crash", 0)
    assert seat.pid is None
    seat.close()


def test_a_bot_that_hangs_after_its_match_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.referee.hosted._PING_S", 0.3)
    seat, pids = one_match_seat(1, "hangs", ponders=False), set[int | None]()
    began = time.monotonic()
    for _ in range(3):
        assert start(seat, init_s=60.0) is None
        pids.add(seat.pid)
        assert isinstance(ask(seat), Answer)
        end(seat)
    # Three starts and two waits; a wait of the full time would take 60 seconds.
    assert (len(pids), time.monotonic() - began < 30) == (3, True)
    seat.close()


_SLOW = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    if kind == "hello":
        print(json.dumps({**message, "protocol": 1, "name": "bot", "version": "1", "games": []}), flush=True)
    elif kind == "new_match":
        time.sleep(0.6)
        print(json.dumps({"type": "ready", "match": message["match"]}), flush=True)
"""


def test_a_bot_that_takes_long_for_every_match_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.referee.hosted._PING_S", 0.1)
    seat = HostedSeat(ProcessSettings([sys.executable, "-I", "-S", "-c", _SLOW]), name="bot", version="1")
    assert start(seat) is None
    pid = seat.pid
    assert start(seat) is None
    assert seat.pid == pid
    seat.close()


_WRITER = """
import json, os, sys

def send(**message):
    print(json.dumps(message), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    if kind == "hello":
        send(type="hello", protocol=1, name="bot", version="1", games=[], nonce=message["nonce"])
    elif kind == "new_match":
        send(type="ready", match=message["match"])
    elif kind == "go":
        for _ in range(int(sys.argv[1])):
            open(f"{len(os.listdir())}", "x").close()
        while sys.argv[2] == "waits":
            pass
        send(type="action", id=message["id"], action=message["legal"][0])
"""


def writer(num_files: int, then: str) -> HostedSeat:
    command = [sys.executable, "-I", "-S", "-c", _WRITER, str(num_files), then]
    return HostedSeat(
        ProcessSettings(command, resources=Resources(scratch_entries=20)), name="bot", version="1"
    )


def test_what_a_bot_wrote_stays_and_a_process_that_wrote_much_is_replaced() -> None:
    # Home and cache count as entries: 2 + 3 matches of 3 files are over half of 20.
    seat, pids = writer(3, "answers"), list[int | None]()
    for _ in range(5):
        assert start(seat) is None
        pids.append(seat.pid)
        assert isinstance(ask(seat), Answer)
        end(seat)
    assert [pids.index(pid) for pid in pids] == [0, 0, 0, 3, 3]
    seat.close()


def test_a_full_scratch_folder_is_a_forfeit() -> None:
    seat = writer(30, "waits")
    start(seat)
    fault = ask(seat)
    assert isinstance(fault, Forfeit)
    assert fault.termination == "oom"
    assert fault.detail["scratch"] == "more than 20 files and folders"
    assert fault.detail["cause"] == "its scratch folder holds more than 20 files and folders"
    assert seat.pid is None
    seat.close()
