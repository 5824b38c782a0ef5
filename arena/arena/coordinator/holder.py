"""Whoever runs a tournament: who that is, when it was last heard of, and how it is asked for something."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from arena.errors import ArenaError, ConfigError
from arena.live.plain import duration_text
from arena_db.owner import SILENT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_db.owner import LeaseRecord
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

ANSWER_S: Final = 5.0
"""Seconds that a command waits for its answer."""
_LOOK_S: Final = 0.1
"""Seconds between two looks for it."""


def heard_of(lease: LeaseRecord) -> str:
    """Return who holds a lease, and its last sign: `pid 4711 on lab3, silent for 12 min`."""
    silence = duration_text(lease.silent_s)
    return f"{lease.owner.called}, {f'silent for {silence}' if lease.is_silent else f'heard {silence} ago'}"


def held_by(record: TournamentRecord, lease: LeaseRecord) -> str:
    """Return who keeps others from a tournament, and the command that changes it.

    Examples:
        `cup is held by pid 4711 on lab3, silent for 12 min; arena resume cup --take-over goes on without it`
    """
    name = record.name
    sentence = f"{name} is {'held' if lease.is_silent else 'being run'} by {heard_of(lease)}; "
    if not lease.is_silent or record.type == "play":
        return f"{sentence}arena stop {name} stops it"
    return f"{sentence}arena resume {name} --take-over goes on without it"


def check_free(store: Store, record: TournamentRecord, *, take_over: bool) -> None:
    """Return if this process could claim a tournament now.

    Raises:
        ConfigError: another process has it; says which, and what can be done.
    """
    lease = store.lease(record.id)
    if lease is None or not lease.is_alive or (take_over and lease.is_silent):
        return
    text = held_by(record, lease)
    if take_over:
        text += f"; --take-over replaces it after {SILENT_S:.0f} s of silence"
    raise ConfigError(text)


def nobody_runs(record: TournamentRecord) -> str:
    """Return that a tournament has no process, and the command that gives it one."""
    return f"nobody runs {record.name}; arena resume {record.name} goes on with it"


def request(
    store: Store, record: TournamentRecord, kind: str, is_wanted: Callable[[], bool] = lambda: True
) -> str:
    """Leave a command for whoever runs a tournament, and return the answer, or that there is none after 5 s.

    Args:
        store: may be opened to read only.
        record: the tournament.
        kind: pause, resume, stop or abort.
        is_wanted: whether somebody still waits for the answer.

    Raises:
        ArenaError: there was no answer, and nobody runs it, or the process that holds it is silent; says who
            that is, and what can be done.
        DatabaseError: the store cannot be read or written.
    """
    command = store.ask(record.id, kind)
    end = time.monotonic() + ANSWER_S
    while is_wanted() and time.monotonic() < end:
        found = store.command(command)
        if found is not None and found.answered_at is not None:
            return found.answer
        time.sleep(_LOOK_S)
    lease = store.lease(record.id)
    if lease is None or not lease.is_alive:
        raise ArenaError(nobody_runs(record))
    if lease.is_silent:
        raise ArenaError(held_by(record, lease))
    return f"no answer yet from {heard_of(lease)}, which looks for commands before its next move"
