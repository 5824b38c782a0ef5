"""Begins and steers tournaments that other processes play; it takes a while and belongs in a thread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.coordinator.holder import nobody_runs, request
from arena.coordinator.launch import Launched, start_tournament
from arena.errors import ArenaError
from arena.home import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOOK_S: Final = 0.1
"""Seconds between two looks."""
_STARTED: Final[list[Launched]] = []
"""Processes that were started from here and may still run; asking after those that ended lets them go."""


class Begun(NamedTuple):
    """What became of a process that was to play a tournament."""

    tournament: int
    """Its id; 0 where there is none."""
    name: str
    trouble: str
    """Why there is none; else empty."""


def begin(words: Sequence[str], option: str | None, is_wanted: Callable[[], bool]) -> Begun:
    """Start a process that plays a tournament, and wait until its plan is stored.

    Args:
        words: of its command line, without `arena`.
        option: path of the store; None for the usual place.
        is_wanted: whether anybody still waits; the process goes on without.

    Raises:
        ArenaError: no process can be started, or the store cannot be read.
    """
    started = start_tournament(words, db=option)
    _STARTED[:] = [*(one for one in _STARTED if one.poll() is None), started]
    while is_wanted():
        status = started.poll()
        name = started.tournament()
        if name:
            with open_store(option, read_only=True, create=False) as store:
                record = store.tournament(name)
            return Begun(record.id, name, "") if record else Begun(0, "", f"{name} is not in the store")
        if status is not None:
            why = started.complaint() or f"it ended with {status}; {started.log} may tell more"
            return Begun(0, "", why)
        time.sleep(_LOOK_S)
    return Begun(0, "", "nobody waited for it")


def ask(
    option: str | None, tournament: int, kind: str, tell: Callable[[str], None], is_wanted: Callable[[], bool]
) -> None:
    """Leave a command for whoever runs a tournament, and tell what becomes of it; takes up to 5 s.

    Raises:
        ArenaError: the store cannot be read or written, or nobody answered; says who holds the tournament.
    """
    with open_store(option, read_only=True, create=False) as store:
        record = store.tournament(tournament)
        if record is None:
            raise ArenaError(f"tournament {tournament} is no longer in {store.path}")
        tell(f"asked to {kind}")
        answer = request(store, record, kind, is_wanted)
    tell(answer)


def ask_named(
    option: str | None, tournament: str, kind: str, tell: Callable[[str], None], is_wanted: Callable[[], bool]
) -> None:
    """Do the same for the tournament of a name; one that nobody runs is asked nothing.

    Raises:
        ArenaError: the store cannot be read or written, or nobody would answer.
    """
    with open_store(option, read_only=True, create=False) as store:
        record = store.tournament(tournament)
        if record is None:
            raise ArenaError(f"{tournament} is no longer in {store.path}")
        lease = store.lease(record.id)
    if lease is None or not lease.is_alive:
        raise ArenaError(nobody_runs(record))
    ask(option, record.id, kind, tell, is_wanted)
