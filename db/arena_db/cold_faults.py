"""Checks the files of cold tournaments, with the checks for stored matches."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from arena_db import analyses, plan_faults, points, remarks, replays, seals
from arena_db.cold import archive
from arena_db.cold.thawing import list_cold, thawed, told_damage
from arena_db.cold_tables import cold_ends, cold_tournaments
from arena_db.errors import DamagedError
from arena_db.kept import rating_points
from arena_db.models import matches
from arena_db.points import end_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from arena_db.cold.thawing import ColdTournament
    from arena_db.match_faults import MatchReading

_MOST: Final = 20
"""Faults named of one tournament."""


def find_faults(connection: Connection, reading: MatchReading) -> Iterator[str]:
    """Yield a sentence for each fault of the files of cold tournaments, or of what is in them.

    Args:
        connection: only read from.
        reading: a pass over all matches, to which those in files are added.
    """
    of_warm = cold_ends.c.tournament_id.not_in(select(cold_tournaments.c.tournament_id))
    if connection.scalar(select(cold_ends.c.match_id).where(of_warm).limit(1)) is not None:
        yield "the end of a match is stored as if its tournament were archived, which it is not"
    for cold in list_cold(connection):
        try:
            found = _faults_of(connection, cold, reading)
        except DamagedError as error:
            reading.is_lacking = True
            found = [str(error)]
        yield from found


def _faults_of(connection: Connection, cold: ColdTournament, reading: MatchReading) -> list[str]:
    with told_damage(cold):
        manifest, _ = archive.read_manifest(cold.folder)
        archive.check_files(cold.folder, manifest)
    # A list: a generator that is not exhausted would leave the stored tables hidden.
    with thawed(connection, cold):
        found = list(islice(_looks(connection, cold, reading), _MOST + 1))
    if len(found) > _MOST:
        reading.is_lacking = True
        found[-1] = "more of the same kind"
    return found


def _looks(connection: Connection, cold: ColdTournament, reading: MatchReading) -> Iterator[str]:
    counted = select(func.count(), func.min(matches.c.id), func.max(matches.c.id))
    if tuple(connection.execute(counted).one()) != (cold.num_matches, cold.first_match, cold.last_match):
        yield f"the number or the ids of the archived matches of {cold.name} are not those of its files"
    dated = select(rating_points.c.match_id).where(rating_points.c.tournament_id == cold.id)
    ended = select(matches.c.id, end_of(matches)).where(matches.c.id.in_(dated))
    kept = select(cold_ends.c.match_id, cold_ends.c.ended_at).where(cold_ends.c.tournament_id == cold.id)
    if set(map(tuple, connection.execute(ended))) != set(map(tuple, connection.execute(kept))):
        yield f"the dates of the ratings over time of {cold.name} are not those of its archived matches"
    yield from reading.read(connection)
    yield from plan_faults.wrong_counts(connection, cold.id)
    yield from plan_faults.wrong_matches(connection)
    yield from seals.wrong_plan(connection, cold.id, whole=True)
    yield from remarks.find_faults(connection)
    yield from analyses.find_faults(connection)
    yield from points.find_unmatched(connection, cold.id)
    yield from replays.find_unmatched(connection, cold.id)
