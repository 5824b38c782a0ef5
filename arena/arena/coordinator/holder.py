"""Texts about the process that holds a tournament: which it is, when it last wrote, how to replace it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.live.plain import duration_text
from arena_db.owner import SILENT_S

if TYPE_CHECKING:
    from arena_db.owner import LeaseRecord
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def heard_of(lease: LeaseRecord) -> str:
    """Return the holder of a lease and its last sign: `pid 4711 on lab3, silent for 12 min`."""
    silence = duration_text(lease.silent_s)
    return f"{lease.owner.called}, {f'silent for {silence}' if lease.is_silent else f'heard {silence} ago'}"


def held_by(record: TournamentRecord, lease: LeaseRecord) -> str:
    """Return which process holds a tournament, and the command that changes that.

    Examples:
        `cup is held by pid 4711 on lab3, silent for 9 min; arena resume cup --take-over continues without it`
    """
    name = record.name
    sentence = f"{name} is {'held' if lease.is_silent else 'being run'} by {heard_of(lease)}; "
    if not lease.is_silent or record.type == "play":
        return f"{sentence}arena stop {name} stops it"
    return f"{sentence}arena resume {name} --take-over continues without it"


def check_free(store: Store, record: TournamentRecord, *, take_over: bool) -> None:
    """Check that this process could claim a tournament now.

    Raises:
        ConfigError: another process holds it; the text says which, and what to do.
    """
    lease = store.leases.find(record.id)
    if lease is None or not lease.is_alive or (take_over and lease.is_silent):
        return
    text = held_by(record, lease)
    if take_over:
        text += f"; --take-over replaces it after {SILENT_S:.0f} s of silence"
    raise ConfigError(text)


def nobody_runs(record: TournamentRecord) -> str:
    """Return a text that says that a tournament is not being run, and the command that runs it."""
    again = "play --attach" if record.type == "play" else "resume"
    return f"{record.name} is not being run; arena {again} {record.name} continues it"
