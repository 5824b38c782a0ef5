from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from arena.referee.pause import Pause

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = "print('x', flush=True)\nwhile True: pass"


@pytest.fixture
def busy() -> Iterator[int]:
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-I", "-S", "-c", BUSY], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def wait_until_computed(pause: Pause, seconds: float) -> None:
    until = pause.cpu_s() + seconds
    while pause.cpu_s() < until:
        pass


def test_a_stopped_process_uses_nothing(busy: int) -> None:
    pause = Pause(busy)
    pause.look_around()
    pause.stop()
    os.waitpid(busy, os.WUNTRACED)
    # A process tells that it stopped just before it leaves its core: its last microseconds are counted later.
    stopped = pause.cpu_s()
    here = sum(os.times()[:2])
    while sum(os.times()[:2]) < here + 0.05:
        pass
    settled = pause.cpu_s()
    assert settled < stopped + 0.005
    assert pause.resume() == settled
    assert pause.idle_cpu_s < 0.01
    wait_until_computed(pause, 0.01)


def test_who_may_ponder_is_measured(busy: int) -> None:
    pause = Pause(busy, is_allowed=False)
    pause.stop()
    wait_until_computed(pause, 0.02)
    pause.resume()
    pause.resume()
    assert pause.idle_cpu_s >= 0.02


def test_elsewhere_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert Pause(os.getpid(), is_allowed=False).cpu_s() == 0.0


def test_who_is_gone_is_left_alone() -> None:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""], start_new_session=True)
    process.wait()
    pause = Pause(process.pid)
    pause.stop()
    assert pause.resume() == 0.0
