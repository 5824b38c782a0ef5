from __future__ import annotations

import os
import select
import sys
import time
from typing import TYPE_CHECKING

import pytest

from arena.referee.connection import Connection
from arena.referee.verdict import FaultError
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.tier import Tier
from arena_plugins.contract import Termination
from arena_plugins.wire import Error, Limits, Pong, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONG_AGO = 0.0


@pytest.fixture
def connect() -> Iterator[Callable[[str], Connection]]:
    connections: list[Connection] = []

    def make(script: str) -> Connection:
        process = spawn(ProcessSettings([sys.executable, "-I", "-S", "-c", script], Tier.T1))
        connections.append(Connection(process, Limits()))
        return connections[-1]

    yield make
    for connection in connections:
        connection.process.kill()
        connection.process.close()


def wait_for_exit(connection: Connection) -> None:
    os.waitid(os.P_PID, connection.process.pid, os.WEXITED | os.WNOWAIT)


def test_the_last_look_finds_what_has_come(connect: Callable[[str], Connection]) -> None:
    connection = connect('import os; os.write(1, b\'{"type":"pong","n":1}\\n\')')
    wait_for_exit(connection)

    assert connection.receive(LONG_AGO) == Pong(n=1)
    assert connection.received_at > LONG_AGO


def test_the_clock_goes_before_the_end(connect: Callable[[str], Connection]) -> None:
    connection = connect("pass")
    wait_for_exit(connection)

    assert connection.receive(LONG_AGO) is None
    with pytest.raises(FaultError, match="closed its output"):
        connection.receive(time.monotonic() + 20)


def test_a_bot_may_close_its_stderr(connect: Callable[[str], Connection]) -> None:
    connection = connect('import os; os.close(2); os.read(0, 1); os.write(1, b\'{"type":"pong","n":1}\\n\')')
    assert connection.receive(time.monotonic() + 0.2) is None
    connection.send(Pong(n=1))
    assert connection.receive(time.monotonic() + 20) == Pong(n=1)


class SlowPoll:
    """A poll that waits too long, as on a busy machine."""

    def __init__(self, late_s: float) -> None:
        self._late_s = late_s

    def poll(self, wait_ms: float) -> list[tuple[int, int]]:
        time.sleep(wait_ms / 1000 + self._late_s)
        return []


@pytest.mark.parametrize(("share", "is_late"), [(0.0, True), (1.0, True), (1.5, False), (2.0, False)])
def test_a_delay_counts_unless_the_bot_had_the_processor(
    connect: Callable[[str], Connection], share: float, *, is_late: bool
) -> None:
    process = connect("import time; time.sleep(60)").process
    connection = Connection(process, Limits(), cores={0, 1})
    connection.cpu_s = lambda: share * time.monotonic()
    connection._poll = SlowPoll(0.03)  # type: ignore[assignment]  # noqa: SLF001

    connection.send(Pong(n=1))
    connection.starts_to_use(connection.cpu_s())
    assert connection.receive(time.monotonic() + 0.005) is None
    assert (connection.lag_s >= 0.03) == is_late
    assert is_late or connection.lag_s < 0.001
    connection.close()


def test_what_the_bot_computed_before_a_delay_is_not_its_cause(connect: Callable[[str], Connection]) -> None:
    process = connect("import time; time.sleep(60)").process
    connection = Connection(process, Limits(), cores={0})
    began, used_s = time.monotonic(), 0.1
    # The bot computes first and then sleeps, so it uses no CPU in the last wait.
    connection.cpu_s = lambda: min(used_s, time.monotonic() - began)

    connection.send(Pong(n=1))
    connection.starts_to_use(0.0)
    assert connection.receive(began + 0.15) is None
    connection._poll = SlowPoll(0.03)  # type: ignore[assignment]  # noqa: SLF001
    assert connection.receive(time.monotonic() + 0.005) is None
    assert connection.lag_s >= 0.03
    connection.close()


def test_the_end_of_stderr_is_kept(connect: Callable[[str], Connection]) -> None:
    connection = connect("import os; os.write(2, b'a' * 100000 + b'z'); os.close(1)")
    with pytest.raises(FaultError, match="closed its output"):
        connection.receive(time.monotonic() + 20)
    connection.read_last_stderr()
    assert connection.stderr == b"a" * 65_535 + b"z"


def test_without_a_descriptor_for_its_life_the_process_is_asked(
    connect: Callable[[str], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> int:
        raise OSError

    monkeypatch.setattr(os, "pidfd_open", refuse)
    # The program lives until it gets a message, and its child keeps its output open.
    connection = connect("import os; os.read(0, 99); os.fork() and os._exit(0); os.read(0, 9)")
    connection.refuse_leftovers()
    connection.send(Pong(n=1))
    wait_for_exit(connection)
    with pytest.raises(FaultError, match="its process ended"):
        connection.refuse_leftovers()
    connection.close()


def test_elsewhere_the_process_is_asked(
    connect: Callable[[str], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = connect("import os; os.fork() and os._exit(0); os.read(0, 9)").process
    monkeypatch.setattr(sys, "platform", "darwin")
    connection = Connection(process, Limits())
    wait_for_exit(connection)
    with pytest.raises(FaultError, match="its process ended"):
        connection.refuse_leftovers()


def test_the_last_words_of_a_process_with_a_child_are_heard(connect: Callable[[str], Connection]) -> None:
    script = (
        'import os; os.fork() and (os.write(1, b\'{"type":"pong","n":1}\\n\'), os._exit(0)); os.read(0, 9)'
    )
    connection = connect(script)
    wait_for_exit(connection)

    assert connection.receive(time.monotonic() + 20) == Pong(n=1)
    with pytest.raises(FaultError, match="its process ended"):
        connection.receive(time.monotonic() + 20)


class OnlyItsEnd:
    """A poll that reports the end of a process, but not its output."""

    def __init__(self, life: int | None) -> None:
        self._life = life

    def poll(self, _wait_ms: float) -> list[tuple[int, int]]:
        return [(self._life or -1, select.POLLIN)]

    def unregister(self, fd: int) -> None:
        assert fd == self._life


def test_the_last_answer_is_read_though_only_the_end_was_reported(
    connect: Callable[[str], Connection],
) -> None:
    script = (
        'import os; os.fork() and (os.write(1, b\'{"type":"pong","n":1}\\n\'), os._exit(0)); os.read(0, 9)'
    )
    connection = connect(script)
    wait_for_exit(connection)
    connection._poll = OnlyItsEnd(connection._life)  # type: ignore[assignment]  # noqa: SLF001

    assert connection.receive(time.monotonic() + 20) == Pong(n=1)


def test_what_is_no_message_is_a_fault_with_its_evidence(connect: Callable[[str], Connection]) -> None:
    connection = connect("import os; os.write(1, b'hello\\n'); os.read(0, 9)")
    with pytest.raises(FaultError, match="not an arena-bot/1 message") as fault:
        connection.receive(time.monotonic() + 20)
    assert (fault.value.termination, fault.value.offending) == (Termination.MALFORMED, b"hello")


def test_what_the_pipe_cannot_hold_is_sent_while_waiting(connect: Callable[[str], Connection]) -> None:
    message = Error(code="a", message="b" * 1_000_000)
    script = 'import sys; print(\'{"type":"pong","n":%d}\' % len(sys.stdin.buffer.readline()), flush=True)'
    connection = connect(script)
    connection.send(message)
    assert connection.has_unsent

    assert connection.receive(time.monotonic() + 20) == Pong(n=len(encode(message)))
    assert not connection.has_unsent


def test_too_many_processes_end_a_bot_at_once(connect: Callable[[str], Connection]) -> None:
    connection = connect("import os; os.fork(); os.read(0, 9)")
    connection.process.max_tasks = 1
    with pytest.raises(FaultError, match="more than 1 threads and processes") as fault:
        connection.receive(time.monotonic() + 20)
    assert fault.value.termination is Termination.CRASH
    assert connection.process.has_exited()


def test_too_much_memory_is_a_fault() -> None:
    process = spawn(ProcessSettings([sys.executable, "-I", "-S", "-c", "import os; os.read(0, 9)"], Tier.T1))
    connection = Connection(process, Limits(memory_bytes=1_000_000))
    with pytest.raises(FaultError, match="more than 1000000 bytes") as fault:
        connection.receive(time.monotonic() + 20)
    assert fault.value.termination is Termination.OOM
    connection.close()
    process.kill()
    process.close()


def test_a_slow_pulse_is_a_lag(connect: Callable[[str], Connection]) -> None:
    connection = connect("import os; os.read(0, 1000)")

    def pulse() -> None:
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass

    connection.receive(time.monotonic() + 0.01, pulse)
    assert connection.lag_s >= 0.05


class OnceSlowPoll:
    """A poll that waits 200 ms too long the first time, on a simulated clock without other delays."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._late_s = 0.2

    def monotonic(self) -> float:
        return self.now

    def poll(self, wait_ms: float) -> list[tuple[int, int]]:
        self.now += wait_ms / 1000 + self._late_s
        self._late_s = 0.0
        return []


@pytest.mark.parametrize(
    ("used_part", "expected_s"),
    # CPU time that the bot used meanwhile does not count; a bot that used most of its core caused the wait.
    [(0.0, 0.2), (0.4, 0.126), (0.7, 0.0)],
)
def test_a_delay_of_the_referee_near_a_deadline_is_given_back(
    connect: Callable[[str], Connection], monkeypatch: pytest.MonkeyPatch, used_part: float, expected_s: float
) -> None:
    process, clock = connect("import time; time.sleep(60)").process, OnceSlowPoll()
    connection = Connection(process, Limits(), cores={0})
    connection.cpu_s = lambda: used_part * clock.now
    # A busy machine delays the test itself by more than the measured time.
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", clock.monotonic)
        connection.send(Pong(n=1))
        began = clock.now
        # Counting begins two margins before the deadline: 10 ms after the request.
        connection.starts_to_use(connection.cpu_s(), began + 0.11, 0.05)
        connection._poll = clock  # type: ignore[assignment]  # noqa: SLF001
        assert connection.receive(began + 0.11) is None
        found_s = connection.given_back_s()
    assert found_s == pytest.approx(expected_s, abs=0.001)
    assert clock.now >= began + 0.11 + expected_s - 0.001
    # The next message is not a request.
    connection.send(Pong(n=1))
    assert connection.given_back_s() == 0
    connection.close()


def test_no_more_is_given_back_than_the_most(connect: Callable[[str], Connection]) -> None:
    connection = connect("import time; time.sleep(60)")
    connection.send(Pong(n=1))
    began = time.monotonic()
    connection.starts_to_use(0.0, began + 0.01, 0.0)
    connection._poll = SlowPoll(1.5)  # type: ignore[assignment]  # noqa: SLF001
    assert connection.receive(began + 0.01) is None
    # Without a margin at most a second is given back.
    assert connection.given_back_s() == 1.0
    assert connection.kept_s() > 1.4
    connection.close()
