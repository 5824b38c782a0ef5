from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.trials.canary import Canary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Places = dict[str, str]


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    with closing(Canary(tmp_path)) as canary:
        yield canary


def places(canary: Canary) -> Places:
    return dict(pair.split(":", 1) for pair in canary.argument.removeprefix("canaries=").split(","))


def append(at: Places) -> None:
    with open(at["store"], "a", encoding="utf-8") as file:  # noqa: PTH123 - as a bot would
        file.write("x")


def connect(at: Places) -> None:
    socket.create_connection(("127.0.0.1", int(at["port"]))).close()


def send_datagram(at: Places) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", int(at["port"])))


def connect_locally(at: Places) -> None:
    with socket.socket(socket.AF_UNIX) as local:
        local.connect("\0" + at["abstract"])


def send_signal(at: Places) -> None:
    os.kill(int(at["pid"]), signal.SIGURG)


def kill(at: Places) -> None:
    os.kill(int(at["pid"]), signal.SIGKILL)


def open_up(at: Places) -> None:
    Path(at["folder"]).chmod(0o755)


@pytest.mark.parametrize(
    ("attack", "harm"),
    [
        (open_up, "the folder private was changed"),
        (append, "store.db was changed"),
        (connect, "a socket was reached"),
        (send_datagram, "a socket was reached"),
        (connect_locally, "a socket was reached"),
        (send_signal, "the process got a signal"),
        (kill, "the process was ended"),
    ],
)
def test_harm_is_found(attack: Callable[[Places], None], harm: str, canary: Canary) -> None:
    assert canary.find_harm() == ""
    attack(places(canary))
    deadline = time.monotonic() + 10
    # Signals and datagrams take a moment.
    while not (found := canary.find_harm()) and time.monotonic() < deadline:
        pass
    assert found == harm
