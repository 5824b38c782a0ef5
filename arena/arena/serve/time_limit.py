"""Interrupts answers that take too long, because other requests wait for their thread."""

from __future__ import annotations

from threading import Timer
from typing import TYPE_CHECKING, Final, TypeVar

from arena.serve.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.serve.reading import Reading

_Found = TypeVar("_Found")

LONGEST_S: Final = 10.0
"""Seconds after which queries of the store are interrupted."""


def within_time_limit(reading: Reading, make: Callable[[], _Found]) -> _Found:
    """Call a function and return its result; its queries of the store are interrupted after `LONGEST_S`.

    Args:
        reading: the store as the function reads it.
        make: the function; called in this thread.

    Raises:
        ProblemError: 503, it took too long.
    """
    timer = Timer(LONGEST_S, reading.query.cancel)
    timer.daemon = True
    timer.start()
    try:
        with reading.store.while_wanted(reading.query.is_wanted):
            return make()
    except Exception as error:
        if reading.query.is_cancelled:
            raise ProblemError(
                503,
                f"This query took longer than {LONGEST_S:.0f} s and was ended; ask for fewer matches "
                "(tournament, date, limit), or run the command on the server's machine.",
                retry_after=30,
            ) from error
        raise
    finally:
        timer.cancel()
