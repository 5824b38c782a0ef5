"""The program of an adapter: lines reach it whole, and it does not outlive its bot."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from arena.own_python import own_python
from arena_bots.adapters import child

DEADLINE_S = 120.0
HOST = """
import sys
from arena_bots.adapters.child import open_child
code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
engine = open_child([sys.executable, "-I", "-S", "-c", code])
print(engine.read().decode(), flush=True)
sys.stdin.read()
"""


def test_a_line_that_the_pipe_takes_in_parts_is_sent_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def write_part(file: int, content: bytes) -> int:
        return write(file, content[:5])

    reader, writer = os.pipe()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_part)
        child.EngineProcess("engine", reader, writer, None).send(b"one two three four\n")
    assert os.read(reader, 100) == b"one two three four\n"
    os.close(reader)
    os.close(writer)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a program with its parent")
def test_a_program_ends_with_a_bot_that_is_killed() -> None:
    with subprocess.Popen(own_python("-c", HOST), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:  # noqa: S603 - our own
        assert host.stdout
        engine = os.pidfd_open(int(host.stdout.readline()))
        try:
            host.kill()
            # The descriptor becomes readable when the process has ended.
            has_ended = bool(select.select([engine], [], [], DEADLINE_S)[0])
            if not has_ended:
                signal.pidfd_send_signal(engine, signal.SIGKILL)
            assert has_ended
        finally:
            os.close(engine)
