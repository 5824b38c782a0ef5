"""An interrupt that arrives where Python suppresses exceptions still ends the command."""

from __future__ import annotations

import signal
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from arena.own_python import own_python

if TYPE_CHECKING:
    from collections.abc import Sequence

END_S = 60.0
FINALISER = """
import signal, sys, time
from arena.__main__ import main
from arena.cli import main as commands
from arena.interrupts import interruptible

class Held:
    def __del__(self):
        try:
            print("finalising", flush=True)
            time.sleep(60)
        finally:
            print("swallowed", flush=True)

def run():
    try:
        with interruptible():
            held = Held()
            del held
            time.sleep(60)
    except KeyboardInterrupt:
        print("stopped")

commands.main = run
main()
"""
IGNORED = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
FAULT = """
from arena.interrupts import repeat_lost_interrupts

class Faulty:
    def __del__(self):
        raise ValueError("of a finaliser")

repeat_lost_interrupts()
faulty = Faulty()
del faulty
"""


def _lines_after(program: str, kind: signal.Signals) -> Sequence[str]:
    with subprocess.Popen(  # noqa: S603 - our own code
        own_python("-c", program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        late = threading.Timer(END_S / 2, process.kill)
        late.start()
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "finalising\n"
        process.send_signal(kind)
        said, complaints = process.communicate()
        late.cancel()
    assert not complaints
    return said.splitlines()


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_within_a_finaliser_is_raised_again(kind: signal.Signals) -> None:
    assert _lines_after(FINALISER, kind) == ["swallowed", "stopped"]


def test_it_is_raised_again_in_the_background_where_interrupts_are_ignored() -> None:
    assert _lines_after(IGNORED + FINALISER, signal.SIGTERM) == ["swallowed", "stopped"]


def test_other_faults_of_finalisers_are_told_as_python_tells_them() -> None:
    done = subprocess.run(own_python("-c", FAULT), capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert "ValueError: of a finaliser" in done.stderr
