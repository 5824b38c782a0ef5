"""`arena serve` as a process: its output, the modules it loads, its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from arena_db.store import Store
from children import arena_environment

if TYPE_CHECKING:
    from pathlib import Path

_RUN = """
import sys
from arena.__main__ import main
sys.argv[:] = ["arena", "serve", "--bind", "127.0.0.1:0"]
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), flush=True)
    print(*sorted(name for name in sys.modules if name.startswith("arena.")), flush=True)
"""
FOREIGN = {"arena_bots", "textual", "numba", "onnxruntime", "torch", "tensorflow", "keras"}


@pytest.mark.parametrize("has_store", [True, False])
def test_a_server_from_its_link_to_its_end(tmp_path: Path, *, has_store: bool) -> None:
    # A server may be started before the first tournament exists.
    if has_store:
        Store.open(tmp_path / "arena.db").close()
    with subprocess.Popen(  # noqa: S603 - this Python
        [sys.executable, "-c", _RUN],
        cwd=tmp_path,
        env=arena_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"Serving arena\.db at (http://127\.0\.0\.1:\d+)/\?token=(arena_h_\S+)\n", line)
        assert found is not None, line + process.stderr.read()
        address, token = found.groups()
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/html"}
        for path in ("/", "/leaderboard"):
            with urlopen(Request(address + path, headers=headers), timeout=60) as answer:  # noqa: S310 - http
                assert answer.status == 200
                assert b"</html>" in answer.read()
        assert os.getpriority(os.PRIO_PROCESS, process.pid) >= os.getpriority(os.PRIO_PROCESS, 0) + 5
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        words = process.stdout.read()
        errors = process.stderr.read()
        process.wait(120)
    assert process.returncode == 0, errors
    # Far above a second: only waiting for a connection could take longer, not a busy machine.
    assert time.monotonic() - began < 20
    assert errors == "", "the log is quiet"
    loaded = set(words.split())
    assert "starlette" in loaded
    assert loaded & FOREIGN == set()
    assert not any(name.startswith(("arena.tui", "arena.executor.worker")) for name in loaded)


def test_a_store_that_is_named_and_not_there_is_refused(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "arena", "serve", "--bind", "127.0.0.1:0", "--db", "leage.db"]
    process = subprocess.run(  # noqa: S603 - this Python
        words,
        cwd=tmp_path,
        env=arena_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 2
    assert "leage.db" in process.stderr
    assert not (tmp_path / "leage.db").exists()
