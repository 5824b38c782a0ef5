"""Simulates finished tournaments that were paired by their own results, and stores corrected ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.config import parse_toml
from arena.coordinator.kinds import swiss_of
from arena.coordinator.plan_view import seats_of
from arena.results.tournament_states import REPLAYED_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_TRIES = 3
"""Number of attempts if matches become void, or count again, during a replay."""
_PAGE = 100
"""Number of tournaments per query: each row brings its whole configuration."""


def keep_replays(store: Store, tournament: int) -> bool:
    """Replay a finished tournament, and store its ratings; return whether they are new.

    Nothing is done while matches are left to play, for other types, if the ratings are stored already, and if
    no ratings can be replayed: no match is rated, or the bots are not connected.

    Args:
        store: contains it, open for writing.
        tournament: its id.

    Raises:
        ArenaError: its fit does not converge.
        ConfigError: its stored configuration cannot be parsed.
    """
    record = store.tournaments.find(tournament)
    if record is None or record.type not in REPLAYED_TYPES or not record.is_complete:
        return False
    for _ in range(_TRIES):
        if store.ratings.replay_of(tournament) is not None:
            return False
        if _keep(store, record):
            return True
    return False


def keep_all_replays(store: Store) -> list[str]:
    """Replay all finished tournaments without stored replays; return their names.

    Raises:
        ArenaError: a fit does not converge.
    """
    return [record.name for record in _tournaments(store) if keep_replays(store, record.id)]


def _tournaments(store: Store) -> Iterable[TournamentRecord]:
    last: int | None = None
    while page := store.tournaments.newest(before=last, limit=_PAGE, archived=True):
        yield from page
        last = page[-1].id


def _keep(store: Store, record: TournamentRecord) -> bool:
    """Replay a tournament as it is now; return whether nothing changed meanwhile."""
    # Imported here, because they import NumPy, which would delay the first matches of a run.
    from arena.results.history import rate_now
    from arena.results.replays import is_connected, rate_event, weight_of
    from arena.results.stored_sums import encounters_of
    from arena.schedules.simulation import replayed
    from arena_db.replays import ReplayRecord

    # One snapshot of sums and last match. `add_replay` refuses the result if any of them has changed since.
    moment = store.sums.moment(record.id)
    if moment is None:
        return False
    entrants = store.tournaments.entrants(record.id)
    seats = seats_of(store, record.id, entrants)
    sums = encounters_of(moment.sums, {seat: seat for seat in range(len(seats))})
    ratings = rate_event(sums, len(seats), None)
    if not is_connected(ratings):
        return False
    config = parse_toml(record.config, f"the stored configuration of {record.name}")
    # A replay draws results from strengths alone, so any distinct openings will do.
    num_meetings = -(-config.rounds // max(len(seats) - 1, 1))
    openings = [(place,) for place in range(config.encounter_pairs * num_meetings)]
    found = replayed(swiss_of(config, openings), seats, ratings, config.srand or 0)
    is_kept = store.ratings.add_replay(
        record.id,
        ReplayRecord(
            moment.num_matches,
            moment.last_match,
            found.slope,
            weight_of(ratings, found),
            tuple(found.strength.tolist()),
            tuple(tuple(map(float, row)) for row in found.away),
        ),
    )
    if is_kept:
        point = rate_now(store, record.id, len(seats))
        if point is not None:
            store.ratings.add_point(record.id, point)
    return is_kept
