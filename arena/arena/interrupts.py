"""Interrupts: signals that end a command by `KeyboardInterrupt`, and the rare ones that Python would lose."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Generator

_KINDS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_AGAIN_S: Final = 0.01
"""Seconds until a lost interrupt is repeated: by then the code that swallowed it has usually returned."""


def repeat_lost_interrupts() -> None:
    """From now on, repeat an interrupt that was raised where Python does not propagate exceptions.

    Python calls a signal's handler between any two instructions of the main thread, also in the middle of a
    finaliser or of a callback of a weak reference. An exception there is only reported as ignored, so the
    command would continue as if it had not been interrupted. Imports alone cause hundreds of such callbacks.
    """
    report = sys.unraisablehook
    main = threading.main_thread().ident or 0

    def is_hearing() -> bool:
        """Return whether the main thread is within `hear`, where an interrupt would be lost for good."""
        frame = sys._current_frames().get(main)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - documented
        while frame is not None and frame.f_code is not hear.__code__:
            frame = frame.f_back
        return frame is not None

    def repeat() -> None:
        time.sleep(_AGAIN_S)
        # On a busy machine `hear` may still be in the call that started this thread.
        while is_hearing():
            time.sleep(_AGAIN_S)
        _repeat()

    def hear(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            report(lost)
        elif threading.current_thread() is threading.main_thread():
            # Repeated by another thread, since an interrupt raised here would be lost as well. An interpreter
            # that is shutting down starts no threads and raises RuntimeError.
            with suppress(RuntimeError):
                threading.Thread(target=repeat, name="interrupt", daemon=True).start()

    sys.unraisablehook = hear


def _repeat() -> None:
    # Send the first signal that has a handler, ours or Python's: a process in the background ignores SIGINT.
    for kind in _KINDS:
        if callable(signal.getsignal(kind)):
            interrupt_main_thread(kind)
            return


def interrupt_main_thread(kind: signal.Signals = signal.SIGINT) -> None:
    """Deliver a signal to the main thread."""
    if hasattr(signal, "pthread_kill"):
        # Unlike `interrupt_main`, a signal also interrupts a blocking system call.
        signal.pthread_kill(threading.main_thread().ident or 0, kind)
    else:
        import _thread

        _thread.interrupt_main(kind)


@contextmanager
def interruptible() -> Generator[None]:
    """Make SIGTERM and SIGHUP raise `KeyboardInterrupt`, as Ctrl-C does, so that a command can clean up."""

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {kind: signal.signal(kind, stop) for kind in _KINDS if kind != signal.SIGINT}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
