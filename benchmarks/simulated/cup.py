"""A tournament to write to a store, and the records of its matches."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from arena_db.pools import PoolRecord
from arena_db.records import BotRecord, Entrant, MatchRecord, NewTournament, PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_db.store import Store

LENGTH = 40
"""Number of actions of a match."""


def add_cup(store: Store, num_matches: int) -> tuple[list[Entrant], list[PlannedMatch], int]:
    """Store a tournament of three bots; return its entrants, its plan and its id."""
    entrants = [Entrant(seat=seat, label=name, bot=_bot(name), limit="") for seat, name in enumerate("abc")]
    plan = [_planned(index) for index in range(num_matches)]
    new = NewTournament(
        name="cup",
        type="round-robin",
        game="connect-four",
        num_actions=7,
        pool=PoolRecord(mode="move", move_ms=5000),
        seed=1,
        config="",
        event="",
        site="",
    )
    return entrants, plan, store.tournaments.add(new, entrants, plan).id


def match(tournament: int, planned: PlannedMatch, entrants: Sequence[Entrant]) -> MatchRecord:
    """Return the record of a planned match."""
    digest = _digest(f"match {planned.number}")
    actions = tuple(byte % 7 for byte in bytes.fromhex(digest) * 2)[:LENGTH]
    return MatchRecord(
        tournament=tournament,
        number=planned.number,
        attempt=0,
        first=entrants[planned.first].bot.identity,
        second=entrants[planned.second].bot.identity,
        outcome="first",
        termination="rules",
        reason="X wins by four in a row",
        rated=True,
        is_final=True,
        actions=actions,
        num_opening=0,
        times_ms=(3,) * LENGTH,
        values=(None,) * LENGTH,
        match_hash=digest,
        seed_first=1,
        seed_second=2,
        started_at=0.0,
        duration_ms=3 * LENGTH,
        tier="T2",
        fault="",
        versions="{}",
    )


def _planned(index: int) -> PlannedMatch:
    match_no, encounter = divmod(index, 3)
    first, second = ((0, 1), (1, 2), (2, 0))[encounter]
    return PlannedMatch(
        number=index + 1, encounter=encounter, match_no=match_no, first=first, second=second, opening=()
    )


def _bot(name: str) -> BotRecord:
    return BotRecord(
        identity=_digest(name), name=name, spec=name, distribution="bot-arena", version="0.1.0", files="{}"
    )


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
