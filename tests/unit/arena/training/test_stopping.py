"""Orders to stop at once that arrive in a destructor, where Python suppresses exceptions."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from arena.interrupts import repeat_lost_interrupts
from arena.own_python import own_python
from arena.training.stopping import RunOrders, order_run, run_orders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEADLINE_S = 60.0


@pytest.fixture(autouse=True)
def repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat suppressed interrupts, as every command does."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    repeat_lost_interrupts()


class Closing:
    """An object that calls a function when it is deleted."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __del__(self) -> None:
        self._act()


def wait_in_vain() -> None:
    """Wait for an interrupt, without end."""
    ends_at = time.monotonic() + DEADLINE_S
    while time.monotonic() < ends_at:
        time.sleep(0.01)
    pytest.fail("no interrupt")


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def delete(act: Callable[[], object]) -> None:
    Closing(act)


def drop_reference(act: Callable[[], object]) -> None:
    watched = Closing(lambda: None)
    reference = weakref.ref(watched, lambda _: act())
    del watched
    assert reference() is None


@pytest.mark.parametrize("within", [delete, drop_reference])
def test_a_second_ctrl_c_ends_a_run_though_it_came_within_a_destructor(
    tmp_path: Path, within: Callable[[Callable[[], object]], None]
) -> None:
    gone_on: list[bool] = []

    def train() -> None:
        with run_orders(tmp_path) as orders:
            interrupt()
            assert orders.is_stopping
            within(interrupt)
            gone_on.append(True)
            wait_in_vain()

    with pytest.raises(KeyboardInterrupt):
        train()
    assert gone_on, "Python dropped the first interrupt"


def test_an_interrupt_is_not_repeated_before_its_loss_is_handled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def start_slowly(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "interrupt":
            # As on a busy machine, where the new thread runs before its creator.
            time.sleep(0.2)

    monkeypatch.setattr(threading.Thread, "start", start_slowly)

    def train() -> None:
        with run_orders(tmp_path):
            interrupt()
            delete(interrupt)
            wait_in_vain()

    with pytest.raises(KeyboardInterrupt):
        train()


def test_an_order_to_end_at_once_is_obeyed_though_it_came_within_a_destructor(tmp_path: Path) -> None:
    gone_on: list[bool] = []

    def be_ordered() -> None:
        (tmp_path / "order").write_bytes(b"abort")
        wait_in_vain()

    def train() -> None:
        with run_orders(tmp_path):
            Closing(be_ordered)
            gone_on.append(True)
            wait_in_vain()

    with pytest.raises(KeyboardInterrupt):
        train()
    assert gone_on, "Python dropped the first interrupt"
    assert not (tmp_path / "order").exists()


def test_orders_that_come_at_once_are_taken_one_by_one(tmp_path: Path) -> None:
    orders = RunOrders(tmp_path)
    taken: list[bytes] = []
    with ThreadPoolExecutor(6) as senders:
        sent = [senders.submit(order_run, tmp_path, order) for order in 4 * ("stop", "pause", "resume")]
        while not all(each.done() for each in sent):
            with suppress(FileNotFoundError):
                order = (tmp_path / "order").read_bytes()
                orders.take()
                taken.append(order)
            time.sleep(0.001)
    assert all(each.result().is_taken for each in sent)
    assert sorted(taken) == sorted(4 * [b"stop", b"pause", b"resume"])
    assert list(tmp_path.iterdir()) == []


_DEAF = """
import ctypes, signal, sys, time
from pathlib import Path
from arena.training import stopping

stopping._DEAF_S = 0.2
with stopping.run_orders(Path(sys.argv[1])):
    {deafen}
    print("trains", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    "deafen",
    [
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})",
        # SIG_IGN, set where Python does not notice it.
        "ctypes.CDLL(None).signal(signal.SIGINT, ctypes.c_void_p(1))",
    ],
)
def test_an_order_to_end_at_once_ends_a_process_that_hears_no_signal(tmp_path: Path, deafen: str) -> None:
    command = own_python("-c", _DEAF.format(deafen=deafen), str(tmp_path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own script
        assert process.stdout is not None
        assert process.stdout.readline() == "trains\n"
        assert order_run(tmp_path, "abort").is_taken
        assert process.communicate(timeout=DEADLINE_S)[1] == "arena: aborted\n"
    assert process.returncode == 1
