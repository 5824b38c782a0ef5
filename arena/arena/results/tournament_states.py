"""The state of a tournament and the process that runs it, computed once for all lists."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, cast

import msgspec

from arena.errors import ArenaError, ConfigError
from arena.live.events import RunState, unpack
from arena.results.tested import is_test

if TYPE_CHECKING:
    from arena.live.tournament_views import State
    from arena_db.owner import LeaseRecord
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


REPLAYED_TYPES: Final = frozenset({"swiss"})
"""Types of tournaments whose ratings are corrected by replays when they end. A knockout is paired by results,
too, but its intervals have the right coverage without replays."""


def state_of(store: Store, record: TournamentRecord) -> State:
    """Return the state: `left` if no process runs the tournament, `silent` without a heartbeat."""
    if record.state in ("finished", "refused", "stopped"):
        return cast("State", record.state)
    lease = store.leases.find(record.id)
    if lease is None or not lease.is_alive:
        return "left"
    if lease.is_silent:
        return "silent"
    if record.state == "preparing":
        return "preparing"
    told = store.events.newest_state(record.id)
    return "paused" if told is not None and _is_paused(told.payload) else "running"


def refusal_of(record: TournamentRecord) -> str:
    """Return why a tournament was refused; empty if it was not."""
    return record.decision if record.state == "refused" else ""


def holder_of(lease: LeaseRecord | None) -> str | None:
    """Return the process that runs a tournament, `pid 4711 on lab3`; None if there is none."""
    if lease is None or not lease.is_alive:
        return None
    return lease.owner.called


def refuse_copy(store: Store, record: TournamentRecord) -> None:
    """Raise if a tournament was merged from another store; otherwise it could be continued in two places.

    Raises:
        ConfigError: the tournament is such a copy; the message says where it can be continued.
    """
    origin = store.transfers.origin(record.id)
    if origin is not None:
        again = "play --attach" if record.type == "play" else "resume"
        raise ConfigError(
            f"{record.name} is a copy, merged from {origin.source}: it can only be read here; "
            f"arena {again} {record.name} --db {shlex.quote(origin.source)} continues it there"
        )


def refuse_change(store: Store, record: TournamentRecord) -> None:
    """Raise if the entrants of a tournament must not be changed.

    Raises:
        ConfigError: the tournament was played by a person, is a sequential test, has not begun, or was merged
            from another store.
    """
    name = record.name
    if record.type == "play":
        raise ConfigError(f"{name} was played by a person; arena void takes single matches out of the tables")
    if is_test(record):
        raise ConfigError(
            f"{name} is a test of exactly these two bots; arena stop {name} ends it, and "
            "arena void takes matches out"
        )
    refuse_copy(store, record)
    if not record.has_begun:
        raise ConfigError(f"{name} is {record.state} and has not begun; arena resume {name} begins it")


def _is_paused(payload: str) -> bool:
    try:
        return msgspec.convert(unpack(payload), RunState).state == "paused"
    except (ArenaError, msgspec.ValidationError):
        return False
