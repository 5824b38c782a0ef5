"""Early ends of a run: signals to its own process, and stop orders from another process.

An order is a file in the run's folder, because a run has no row in a store. The training process deletes the
file as its answer, so the sender needs neither a process id nor a lock. An order that no process takes is
withdrawn by its sender.
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
"""Seconds that an order waits to be taken: a kernel may block all threads of the process for some time."""
_LOOK_S: Final = 0.05
"""Seconds between two looks of the training process, and of the waiting one."""


def ask_to_stop(folder: Path, *, at_once: bool, patience_s: float = _ANSWER_S) -> bool:
    """Leave a stop order for the process that trains a run; return whether it was taken.

    Args:
        folder: of the run.
        at_once: True loses what was learned since the last checkpoint; otherwise a checkpoint is written at
            the next
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
    """Yield an object that says whether the run must stop at its next step.

    The first Ctrl-C, SIGTERM or stop order requests that; a second Ctrl-C, or an order to stop at once,
    raises `KeyboardInterrupt` in the main thread, as usual. Call it from the main thread of the process that
    holds the run.
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

    # A leftover order that came too late for the previous process.
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
        # Unlike `interrupt_main`, a signal also interrupts a blocking system call.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main(signal.SIGINT)
