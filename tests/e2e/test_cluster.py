"""Worker machines from the command line: immediate refusals, and a run on slots of this machine."""

from __future__ import annotations

import json
import operator
import socket
import sys
import time
from typing import TYPE_CHECKING

import pytest

from children import arena_environment, run_child

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

NOWHERE = "tls://127.0.0.1:1"
MATCH = (
    "match",
    "random",
    "random",
    "--game",
    "tic-tac-toe",
    "--rounds",
    "2",
    "--nodes",
    "10",
    "--srand",
    "3",
)
BOUND_S = 6.0
"""Maximum wall time of a refusal in seconds; multiplied by ten on a busy machine."""


def arena(folder: Path, *words: str, deadline: float = 10 * BOUND_S) -> CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "arena", *words]
    return run_child(command, cwd=folder, env=arena_environment(folder), deadline=deadline, check=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the key of a machine, and one that others may read."""
    folder = tmp_path_factory.mktemp("cluster")
    made = arena(folder, "cluster", "keys", "lab", "open")
    assert made.returncode == 0, made.stderr
    assert "wrote lab.key, open.key (valid until" in made.stdout
    assert "can run code on every machine of this cluster" in made.stdout
    (folder / "open.key").chmod(0o644)
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*MATCH, "--executor", "spark"), "is none of local, inline and dask:tls://HOST:PORT"),
        (
            (*MATCH, "--executor", "dask:http://127.0.0.1:1"),
            "not the address of a scheduler; write tls://HOST:PORT",
        ),
        ((*MATCH, "--executor", f"dask:{NOWHERE}"), "needs --keys FILE"),
        ((*MATCH, "--executor", "dask:tcp://10.0.0.1:1"), "write tls://10.0.0.1:1"),
        (
            (*MATCH, "--executor", f"dask:{NOWHERE}", "--keys", "lab.key"),
            "nothing answers at tls://127.0.0.1:1",
        ),
        ((*MATCH, "--executor", f"dask:{NOWHERE}", "--keys", "open.key"), "chmod 600 open.key"),
        ((*MATCH, "--executor", f"dask:{NOWHERE}", "--keys", "ca.key"), "is not the key of a machine"),
        ((*MATCH, "--speed", "scale"), "--speed scale is about worker machines"),
        (
            (
                *MATCH,
                "--executor",
                f"dask:{NOWHERE}",
                "--keys",
                "lab.key",
                "--speed",
                "scale",
                "--isolation",
                "none",
            ),
            "needs each bot in a process of its own",
        ),
        ((*MATCH, "--keys", "lab.key"), "--keys is for worker machines; add --executor dask:"),
        ((*MATCH, "--cluster", "local:999"), "--cluster local:999 is more than the"),
        (("worker", NOWHERE, "--keys", "lab.key", "--disk", "nan"), "--disk nan is no room for bots"),
        ((*MATCH, "--cluster", "local:0"), "is not valid; write local:N"),
        ((*MATCH, "--cluster", "local:1", "--executor", f"dask:{NOWHERE}"), "name two clusters"),
        (("worker", NOWHERE, "--keys", "lab.key", "--slots", "0"), "--slots 0 plays nothing; use 1 or more"),
        (("worker", NOWHERE, "--keys", "lab.key"), "nothing answers at tls://127.0.0.1:1"),
        (("worker", "10.0.0.1:1", "--keys", "lab.key"), "write tls://HOST:PORT"),
        (("cluster", "status"), "no cluster was started here"),
        (("cluster", "keys", "lab"), "lab.key exists already; name only new machines"),
        (("cluster", "start", "--bind", "10.0.0.1:1"), "only be reached on this machine"),
    ],
)
def test_what_cannot_be_is_refused_with_the_next_step(place: Path, words: tuple[str, ...], said: str) -> None:
    began = time.process_time()
    done = arena(place, *words)
    assert time.process_time() - began < BOUND_S
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (place / "arena.db").exists(), "nothing was stored"


def test_a_taken_port_is_told(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        bind = f"127.0.0.1:{server.getsockname()[1]}"
        done = arena(place, "cluster", "start", "--bind", bind, "--keys", "lab.key")
    assert done.returncode == 2, done.stderr
    assert f"cannot listen at tls://{bind}" in done.stderr


def test_a_run_on_slots_of_this_machine_is_that_of_this_process(tmp_path: Path) -> None:
    found: list[list[dict[str, object]]] = []
    for number, where in enumerate(
        (("--executor", "inline"), ("--cluster", "local:2", "--force-concurrency"))
    ):
        store = ("--db", str(tmp_path / f"{number}.db"))
        done = arena(tmp_path, *MATCH, *where, *store, "--isolation", "none", deadline=300)
        assert done.returncode == 0, done.stderr
        assert "arena worker" not in done.stdout + done.stderr, "it starts its slots itself"
        listed = arena(tmp_path, "matches", "--format", "json", *store)
        # The list is in the order in which matches ended, which may differ with two slots.
        found.append(sorted(json.loads(listed.stdout), key=operator.itemgetter("number")))
    for one, other in zip(*found, strict=True):
        for key in ("number", "outcome", "moves", "hash"):
            assert one.get(key) == other.get(key)
    stored = (tmp_path / "1.db").read_bytes()
    assert b"PRIVATE KEY" not in stored
    assert list((tmp_path / "home").glob("logs/*")) == []
