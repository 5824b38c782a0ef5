"""Loads one stored match for a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.errors import ArenaError
from arena.home import open_store
from arena.live.replay import Recorded, Replay
from arena.tui.feed.stored import labels_of, recorded_of

if TYPE_CHECKING:
    from arena_db.records import StoredMatch
    from arena_db.store import Store

_MOST_GAPS = 50
"""Numbers in a row that may lack a match."""


class OneMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match, and what stands around it."""

    recorded: Recorded
    tournament: str
    """Name of its tournament."""


def load_match(option: str | None, number: int, step: int = 0) -> OneMatch:
    """Load the match of a number, or with `step` -1 or 1 the nearest one before or after it.

    Raises:
        ArenaError: there is none, or the store cannot be read.
    """
    with open_store(option, read_only=True, create=False) as store:
        match = _found(store, number, step)
        if match is None:
            where = {0: "no", -1: "no older match than", 1: "no newer match than"}[step]
            raise ArenaError(f"{where} match {number}" if step == 0 else f"{where} {number}")
        record = store.tournament(match.tournament)
        recorded = recorded_of(match, labels_of(store, match.tournament), record.pool if record else "")
    return OneMatch(recorded=recorded, tournament=match.tournament_name)


def replay_of(match: OneMatch) -> Replay:
    """Give the replay of a match with all its views made, which takes a while for a long one."""
    replay = Replay(match.recorded)
    replay.at(0)
    return replay


def _found(store: Store, number: int, step: int) -> StoredMatch | None:
    if step == 0:
        return store.match(number) if 0 < number < 1 << 63 else None
    if step < 0:
        from arena_db.records import MatchFilter

        older = store.matches(MatchFilter(rated_only=False), before=number, limit=1)
        return older[0] if older else None
    near = (store.match(number + gap) for gap in range(1, _MOST_GAPS))
    return next((match for match in near if match is not None), None)
