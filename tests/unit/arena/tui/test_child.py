"""A child process of the dashboard: its output arrives line by line, and it ends when it is stopped."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, cast

import pytest

from arena.tui.shell.child import ChildProcess, Output

if TYPE_CHECKING:
    from textual.message_pump import MessagePump


class Ear:
    """Records the output of a child process."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.status: int | None = None
        self.has_heard = threading.Event()

    def post_message(self, message: Output) -> bool:
        self.lines += message.lines
        self.status = message.status
        self.has_heard.set()
        return True


def follow(child: ChildProcess, ear: Ear) -> None:
    child.follow(cast("MessagePump", ear))


def run(code: str, monkeypatch: pytest.MonkeyPatch) -> Ear:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-S", "-c", code))
    ear = Ear()
    follow(ChildProcess([]), ear)
    return ear


def test_lines_and_exit_status_come(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; print('one'); print('two', file=sys.stderr, end=''); sys.exit(5)"
    ear = run(code, monkeypatch)
    assert (ear.lines, ear.status) == (["one", "two"], 5)


def test_progress_is_lines_and_nothing_steers_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    ear = run(r"print('1%\r2%\r\x1b[31mred\n' + 'x' * 9000)", monkeypatch)
    assert ear.lines[:2] == ["1%", "2%"]
    assert all(line.isprintable() for line in ear.lines)
    assert len(ear.lines[-1]) <= 4000


def test_a_program_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", ("/no/such/program",))
    ear, child = Ear(), ChildProcess(["bots"])
    follow(child, ear)
    assert ear.lines == ["cannot be started: No such file or directory"]
    assert child.status == ear.status == 1


@pytest.mark.parametrize("habit", ["default_int_handler", "SIG_IGN"])
def test_it_ends_when_it_is_told_to(habit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        f"import signal; signal.signal(signal.SIGINT, signal.{habit}); print(1, flush=True); signal.pause()"
    )
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-S", "-c", code))
    monkeypatch.setattr("arena.tui.shell.child._PATIENCE_S", 0.2)
    ear, child = Ear(), ChildProcess([])
    thread = threading.Thread(target=follow, args=(child, ear))
    thread.start()
    assert ear.has_heard.wait(60)
    child.end()
    thread.join(60)
    assert not thread.is_alive()
    assert child.status is not None
    assert child.status < 0 or habit == "default_int_handler"
    assert child.status != 0


def test_what_is_not_wanted_any_more_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "arena.tui.shell.child.PROGRAM", (sys.executable, "-S", "-c", "import signal; signal.pause()")
    )
    monkeypatch.setattr("arena.tui.shell.child._PATIENCE_S", 0.2)
    child = ChildProcess([])
    child.end()
    follow(child, Ear())
    assert child.status is not None
