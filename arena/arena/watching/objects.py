"""Stored data as objects for JSON and CSV, shared by commands and server; their keys are an interface."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.config import refusals
from arena.naming import match_address
from arena.results.tournament_states import holder_of, refusal_of, state_of
from arena.watching.json_rows import utc
from arena_db.records import StoredMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.live.opening_views import OpeningsView
    from arena_db.changes import ChangeRecord
    from arena_db.owner import LeaseRecord
    from arena_db.records import BotRecord, Entrant, MatchRecord, TournamentRecord
    from arena_db.store import Store

RESULT = {"first": "1-0", "second": "0-1", "draw": "1/2-1/2", "void": "*"}
"""Written form of outcomes."""
_RENAMED = {"tournament_name", "first_label", "second_label"}
_PACKED = {"remarks"}
"""Encoded fields that are left out."""
_ADDED = ("first_identity", "second_identity", "result", "plies", "address")

MATCH_KEYS = (
    tuple(field.name for field in dataclasses.fields(StoredMatch) if field.name not in _RENAMED | _PACKED)
    + _ADDED
)
"""The keys of a stored match."""


def match_object(record: MatchRecord, tournament: str, first: str, second: str) -> dict[str, object]:
    """Return a match as an object with the names of its tournament and its two bots."""
    values = {
        key: value for key, value in dataclasses.asdict(record).items() if key not in _RENAMED | _PACKED
    }
    return {
        **values,
        "tournament": tournament,
        "first": first,
        "second": second,
        "started_at": utc(record.started_at),
        "fault": msgspec.json.decode(record.fault) if record.fault else None,
        "versions": msgspec.json.decode(record.versions) if record.versions else None,
        "limits": record.limits or None,
        "runtime_first": record.runtime_first or None,
        "runtime_second": record.runtime_second or None,
        "first_identity": record.first,
        "second_identity": record.second,
        "result": RESULT[record.outcome],
        "plies": len(record.actions),
        "address": match_address(tournament, record.number, record.attempt, record.outcome),
    }


def stored_match_object(match: StoredMatch) -> dict[str, object]:
    """Return a stored match as an object."""
    return match_object(match, match.tournament_name, match.first_label, match.second_label)


def tournament_object(
    record: TournamentRecord, entrants: Sequence[Entrant], changes: Sequence[ChangeRecord]
) -> dict[str, object]:
    """Return a tournament with its bots, refused bots and later decisions.

    The key `pairing` holds the type of the tournament.
    """
    return {
        "name": record.name,
        "pairing": record.type,
        "game": record.game,
        "pool": record.pool.name,
        "seed": record.seed,
        "state": record.state,
        "refusal": refusal_of(record) or None,
        "num_planned": record.num_total,
        "num_done": record.num_done,
        "created_at": utc(record.created_at),
        "event": record.event,
        "site": record.site,
        "config": record.config,
        "refused": [{"bot": bot, "cause": why} for bot, why in refusals(record.config)],
        "bots": [entrant_object(entrant) for entrant in entrants],
        "changes": [change_object(change) for change in changes],
    }


def entrant_object(entrant: Entrant) -> dict[str, object]:
    """Return a bot with its seat in a tournament."""
    return {"seat": entrant.seat, "label": entrant.label, "limit": entrant.limit or None} | bot_object(
        entrant.bot
    )


def change_object(change: ChangeRecord) -> dict[str, object]:
    """Return a decision about a tournament."""
    names = ("kind", "subject", "reason", "who")
    return {**{name: getattr(change, name) for name in names}, "made_at": utc(change.made_at)}


def holder_object(lease: LeaseRecord | None) -> dict[str, object] | None:
    """Return the process that runs a tournament, or None; `silent_s` is the time since its last heartbeat."""
    if lease is None or not lease.is_alive:
        return None
    owner = lease.owner
    return {
        "pid": owner.pid,
        "host": owner.host_name,
        "heard_at": utc(lease.beat_at),
        "silent_s": round(lease.silent_s, 1),
        "is_silent": lease.is_silent,
    }


def bot_object(bot: BotRecord) -> dict[str, object]:
    """Return a competitor; `files` maps file names to SHA-256, `content` is None if no code was hashed."""
    return {
        **dataclasses.asdict(bot),
        "files": msgspec.json.decode(bot.files),
        "content": bot.content or None,
    }


def listed_object(store: Store, record: TournamentRecord) -> dict[str, object]:
    """Return a tournament as an object in a list."""
    return {
        "name": record.name,
        "pairing": record.type,
        "game": record.game,
        "pool": record.pool.name,
        "state": state_of(store, record),
        "num_done": record.num_done,
        "num_planned": record.num_total,
        "created_at": utc(record.created_at),
        "held_by": holder_of(store.leases.find(record.id)),
        "refusal": refusal_of(record) or None,
        "archived_at": None if record.archived_at is None else utc(record.archived_at),
        "num_bots": len(store.tournaments.entrants(record.id)),
    }


def next_move_objects(view: OpeningsView) -> Iterator[dict[str, object]]:
    """Yield the next moves in a position, each with the position."""
    for row in view.rows:
        yield {
            "game": view.game,
            "line": list(view.line),
            "matches": view.games,
            "transposed": view.transposed,
            "ended": view.ended,
            **msgspec.to_builtins(row),
        }
