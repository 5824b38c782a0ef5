"""Orders to a training run: signals of its own process, and files that another process leaves in its folder.

An order is a file, since a run has no row in a store. The process that trains removes the file, which is its
answer: the sender needs neither a process id nor a lock, and withdraws an order that nobody takes.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NoReturn, TypeAlias

from arena.interrupts import interrupt_main_thread
from arena.live.run_views import PAUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

ORDER: Final = "order"
"""The name of the file of an order."""
RunOrder: TypeAlias = Literal["stop", "abort", "pause", "resume"]
"""`stop` ends with a checkpoint at the next step, `abort` at once; `pause` waits with a checkpoint at the
next step, `resume` trains again."""
_ANSWER_S: Final = 15.0
"""Seconds that an order waits to be taken: a kernel may block all threads of the process for some time."""
_LOOK_S: Final = 0.05
"""Seconds between two polls by the training process, and by a sender that waits."""
_DEAF_S: Final = 5.0
"""Seconds that the main thread has to notice that it must end at once, before the process is ended."""
_SHOW_CURSOR: Final = b"\x1b[?25h"
"""Shows the cursor of the terminal, which the live view of a run hides."""
_TOUCH_S: Final = 1.0
"""Seconds between two updates of the file by which a paused run shows that it is alive."""


class Stopped(BaseException):
    """The user stopped the run after a checkpoint. No `Exception`, because a trainer may suppress those."""


def leave_order(folder: Path, order: RunOrder, *, patience_s: float = _ANSWER_S) -> bool:
    """Write an order for the process that trains a run; return whether it was taken.

    Args:
        folder: folder of the run.
        order: what to do.
        patience_s: seconds to wait; then the order is withdrawn.

    Raises:
        OSError: the folder cannot be written.
    """
    left = folder / ORDER
    ends_at = time.monotonic() + patience_s
    # A file of its own, since several senders may come at once: the next order must neither replace one that
    # was not taken, nor be mistaken for it.
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{ORDER}-")
    own = Path(name)
    try:
        os.write(descriptor, order.encode())
        os.close(descriptor)
        mark = own.stat()
        while not _is_placed(own, left):
            if time.monotonic() >= ends_at:
                return False
            time.sleep(_LOOK_S)
        while _is_same(mark, left):
            if time.monotonic() >= ends_at:
                try:
                    left.unlink()
                except FileNotFoundError:
                    break
                return False
            time.sleep(_LOOK_S)
        return True
    finally:
        own.unlink(missing_ok=True)


def _is_placed(own: Path, left: Path) -> bool:
    """Give a file the name of an order, unless another order has it; return whether it was given."""
    try:
        left.hardlink_to(own)
    except FileExistsError:
        return False
    except OSError:  # this file system has no hard links
        if left.exists():
            return False
        own.rename(left)
    return True


def _is_same(mark: os.stat_result, left: Path) -> bool:
    """Return whether an order is still the file with this mark."""
    with suppress(FileNotFoundError):
        return os.path.samestat(mark, left.stat())
    return False


class OrderAnswer(NamedTuple):
    """The result of an order."""

    is_taken: bool
    text: str
    """The result in words, with what the user can do next."""


def order_run(folder: Path, order: RunOrder, *, patience_s: float = _ANSWER_S) -> OrderAnswer:
    """Write an order for the process that trains a run, and return the result.

    Args:
        folder: folder of the run.
        order: what to do.
        patience_s: seconds to wait for a process that takes it.

    Raises:
        OSError: the folder cannot be written.
    """
    name = folder.name
    later = f"to continue later: arena train --resume {name}"
    if not leave_order(folder, order, patience_s=patience_s):
        return OrderAnswer(
            is_taken=False,
            text=f"no process trains {name}, or it is suspended: the order was not taken; {later}",
        )
    told = {
        "stop": f"{name} writes a checkpoint at its next step and ends; {later}",
        "abort": f"{name} ends at once, without another checkpoint; {later}",
        "pause": (
            f"{name} writes a checkpoint at its next step and waits there; to continue: arena resume {name}"
        ),
        "resume": f"{name} continues",
    }
    return OrderAnswer(is_taken=True, text=told[order])


class RunOrders:
    """The orders to the run that this process trains."""

    def __init__(self, folder: Path) -> None:
        """Discard orders, and the sign of a pause, that were meant for an earlier process."""
        self._folder = folder
        # Plain flags instead of a `threading.Event`: a signal handler that sets an event for which the main
        # thread is about to wait would wait for the event's lock for ever.
        self.is_stopping = False
        """Whether the run must end at its next step."""
        self._is_paused = False
        for name in (ORDER, PAUSED):
            (folder / name).unlink(missing_ok=True)

    @property
    def is_pausing(self) -> bool:
        """Whether the run must wait at its next step."""
        return self._is_paused and not self.is_stopping

    def stop(self) -> None:
        """End the run at its next step; a paused one ends at once."""
        self.is_stopping = True

    def wait(self) -> None:
        """Wait until a paused run may continue or must end; a file in its folder marks the pause."""
        paused = self._folder / PAUSED
        next_touch = 0.0
        try:
            while self.is_pausing:
                if time.monotonic() >= next_touch:
                    with suppress(OSError):
                        paused.touch()
                    next_touch = time.monotonic() + _TOUCH_S
                time.sleep(_LOOK_S)
        finally:
            paused.unlink(missing_ok=True)

    def take(self) -> bool:
        """Obey the order in the folder; return whether it is one to end at once.

        The file of such an order stays until `drop` is called, after the main thread has been interrupted.

        Raises:
            OSError: there is none.
        """
        order = (self._folder / ORDER).read_bytes()
        if order == b"abort":
            return True
        if order == b"pause":
            self._is_paused = True
        elif order == b"resume":
            self._is_paused = False
        else:
            self.stop()
        self.drop()
        return False

    def drop(self) -> None:
        """Remove the order, which tells its sender that it was taken."""
        (self._folder / ORDER).unlink(missing_ok=True)


@contextmanager
def run_orders(folder: Path) -> Generator[RunOrders]:
    """Yield the orders to a run.

    The first Ctrl-C, SIGTERM or order to stop ends the run at its next step; a second Ctrl-C, or an order to
    stop at once, raises `KeyboardInterrupt` in the main thread. If that does not notice the order to stop at
    once within some seconds, the process is ended. Call it from the main thread, and in the one process that
    holds the run.
    """
    orders = RunOrders(folder)
    must_end = threading.Event()
    is_over = threading.Event()
    has_noticed = False

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        nonlocal has_noticed
        has_noticed = True
        raise KeyboardInterrupt

    def hear(number: int, frame: FrameType | None) -> None:
        orders.stop()
        # From now on Ctrl-C ends the run at once: it may be long until the trainer's next step.
        signal.signal(signal.SIGINT, end)
        if must_end.is_set():
            end(number, frame)

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            with suppress(OSError):
                if orders.take():
                    # In this order: the flag makes the handler raise, and the file goes last, since its end
                    # is the answer.
                    must_end.set()
                    interrupt_main_thread()
                    orders.stop()
                    orders.drop()
                    if not _comes_true(lambda: has_noticed or is_over.is_set(), _DEAF_S):
                        _end_process()

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    looking = threading.Thread(target=look, name="orders", daemon=True)
    looking.start()
    try:
        yield orders
    finally:
        is_over.set()
        looking.join()
        for number, handler in before.items():
            signal.signal(number, handler)


def _comes_true(is_true: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition is true, at most so many seconds; return whether it is."""
    ends_at = time.monotonic() + seconds
    while not is_true() and time.monotonic() < ends_at:
        time.sleep(_LOOK_S)
    return is_true()


def _end_process() -> NoReturn:
    """End this process although its main thread may be anywhere; its slots end with it.

    Libraries that compute may block signals or replace handlers: a slot that had computed on a GPU never
    noticed SIGTERM. Or the main thread is in compiled code for long.
    """
    # Not through `sys.stderr`, whose lock the main thread may hold.
    with suppress(OSError):
        os.write(2, _SHOW_CURSOR * os.isatty(2) + b"arena: aborted\n")
    os._exit(1)
