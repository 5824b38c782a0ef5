"""What ends a run early: signals of its own process, and orders that another process leaves in its folder.

An order is a file, since a run has no row in a store. The process that trains takes the file away, which is
its answer: who left it needs neither a process id nor a lock, and an order that nobody takes is withdrawn.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from arena.training.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from types import FrameType

ORDER: Final = "order"
"""The name of the file."""
_STOP, _ABORT = b"stop", b"abort"
_ANSWER_S: Final = 15.0
"""Seconds that an order waits for a process that takes it: a kernel may keep all threads waiting for some."""
_LOOK_S: Final = 0.05
"""Seconds between two looks of the process that trains, and of the one that waits."""


def ask_to_stop(folder: Path, *, at_once: bool, patience_s: float = _ANSWER_S) -> bool:
    """Leave an order for the process that trains a run; return whether it was taken.

    Args:
        folder: of the run.
        at_once: True loses what was learned since the last checkpoint; else a checkpoint is kept at the next
            step.
        patience_s: seconds to wait; then the order is withdrawn.

    Raises:
        OSError: the folder cannot be written.
    """
    order = write_whole(folder / ORDER, _ABORT if at_once else _STOP)
    end = time.monotonic() + patience_s
    while order.exists():
        if time.monotonic() >= end:
            try:
                order.unlink()
            except FileNotFoundError:
                break
            return False
        time.sleep(_LOOK_S)
    return True


@contextmanager
def stop_orders(folder: Path) -> Generator[Callable[[], bool]]:
    """Yield what says whether the run is to stop at its next step.

    The first Ctrl-C, SIGTERM or order to stop asks for that; a second Ctrl-C, or an order to stop at once,
    raises `KeyboardInterrupt` in the main thread, as ever. Call it from the main thread, and in the one
    process that holds the run.
    """
    asked = threading.Event()
    must_end = threading.Event()
    is_over = threading.Event()

    def hear(_number: int, _frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if must_end.is_set():
            raise KeyboardInterrupt

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            with suppress(OSError):
                order = (folder / ORDER).read_bytes()
                if order == _ABORT:
                    must_end.set()
                    _interrupt_main_thread()
                asked.set()
                (folder / ORDER).unlink()

    # One that came too late for the process before.
    (folder / ORDER).unlink(missing_ok=True)
    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    looking = threading.Thread(target=look, name="orders", daemon=True)
    looking.start()
    try:
        yield asked.is_set
    finally:
        is_over.set()
        looking.join()
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt_main_thread() -> None:
    if hasattr(signal, "pthread_kill"):
        # Unlike `interrupt_main` it also ends a call of the system that waits.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main(signal.SIGINT)
