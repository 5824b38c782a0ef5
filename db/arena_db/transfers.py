"""Moves tournaments between stores: merges another store into this one, moves one out to a new file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import delete, func, insert, select, text

from arena_db import numbering, rescue
from arena_db.access import Access
from arena_db.backend.choice import prepare, settings_of
from arena_db.backend.places import find_place
from arena_db.checking import find_faults
from arena_db.clock import now
from arena_db.cold.thawing import require_warm
from arena_db.corrections import origins, removals
from arena_db.counted import COUNTS, CountedMatch
from arena_db.errors import AccessError, DamagedError, TakenError
from arena_db.failures import translated
from arena_db.files import part_of, sync_file, sync_folder, take_name
from arena_db.merging import MergedTournament, merge
from arena_db.models import matches, tournaments
from arena_db.naming import metadata
from arena_db.summed import recompute, sum_up
from arena_db.voiding import refuse_running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from arena_db.backend.places import Place
    from arena_db.rescue import RescueMerge

__all__ = ["Origin", "Removal", "StoreTransfers"]

_COUNTED: Final = [
    getattr(matches.c, "tournament_id" if name == "tournament" else name)
    for name in CountedMatch._fields
    if name not in {"id", "encounter", "match_no"}
]


class Origin(NamedTuple):
    """The store that a merged tournament came from; it can continue only there."""

    source: str
    """The file of the other store, as named at the time of the merge."""
    merged_at: float
    """UTC seconds."""


class Removal(NamedTuple):
    """A tournament that was moved out of a store."""

    name: str
    uid: str
    file: str
    """The store it was moved to."""
    who: str
    """Author of the removal, user@host."""
    removed_at: float
    """UTC seconds."""


class StoreTransfers:
    """The exchange of tournaments between this store and others, and the rescue of results to a file."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def merge_rescue(self, path: Path) -> RescueMerge:
        """Store the results of a rescue file that are missing here; return what was done.

        A run writes such a file when its store was moved away during the run. Merging it twice changes
        nothing.

        Raises:
            ForeignError: a line of the file is not a result.
            RefusedError: the tournament is not in this store, is a copy or is being run, or a match is stored
                here with other moves.
            AccessError: the file cannot be read.
        """
        try:
            lines = rescue.read(path)
        except OSError as error:
            raise AccessError(f"cannot read {path}: {error}") from error
        with self._access.write() as connection:
            found = rescue.merge(connection, lines, path)
        if found.num_new:
            self._access.has_saved = True
            sum_up(self._access)
        return found

    def merge(self, other: str | Place) -> list[MergedTournament]:
        """Copy the tournaments of another store in one transaction; return what was done to each.

        The other store is opened read-only, and checked in full before anything is copied. Rows that are here
        already (by uid of the tournament, number and attempt of the match) stay unchanged. A tournament that
        is new here is a copy: it cannot be resumed here, and follows the other store when that is merged
        again.

        Raises:
            TakenError: it is this store.
            DamagedError: the check of the other store found a fault.
            RefusedError: a tournament, plan or match is stored here with other content, or is being run here.
            DatabaseError: the other store cannot be read.
        """
        place = find_place(other)
        if self._is_at(place):
            raise TakenError(f"{place} is this store itself; give another one")
        settings = settings_of(place, read_only=True)
        with translated(place):
            prepare(settings, create=False)
        with Access(settings) as opened:
            return self._merge(opened, str(place))

    def rescue(self, target: Path) -> int:
        """Write all matches of the tournament of a fenced store to a file, unsaved ones included.

        It reads the file that was opened, even if it has been moved or removed since. Each result is a line
        in the format of the files that wait beside a store, so a store with the plan of the tournament can
        import them.

        Returns:
            The number of matches written.

        Raises:
            DatabaseError: the store cannot be read, or the file cannot be written.
        """
        with translated(target), self._access.read() as connection:
            return rescue.write(connection, self._access.held_fence(), self._access.unsaved, target)

    def rescue_unsaved(self, target: Path, uid: str) -> int:
        """Write the records of a fenced store's last save to a file if that save failed; nothing is read.

        Args:
            target: a new file in the format of `rescue`; not created if nothing is missing.
            uid: `uid` of the tournament.

        Returns:
            The number of results written.

        Raises:
            DatabaseError: the file cannot be written.
        """
        if not self._access.unsaved:
            return 0
        with translated(target):
            return rescue.write_unsaved(uid, self._access.held_fence(), self._access.unsaved, target)

    def _is_at(self, place: Place) -> bool:
        here = self._access.place
        if isinstance(here, Path) and isinstance(place, Path):
            return place.exists() and place.samefile(here)
        return here == place

    def _merge(self, opened: Access, where: str) -> list[MergedTournament]:
        with opened.read() as source:
            # In the snapshot that is merged.
            faults = find_faults(source, quick=False)
            if faults:
                raise DamagedError(
                    f"{where} is damaged ({faults[0]}); nothing was merged; arena db check --db {where} "
                    "shows more"
                )
            with self._access.write() as target:
                merged = merge(source, target, where)
        # The sums follow in transactions of their own, so that other writers wait less.
        if any(each.num_matches for each in merged):
            self._access.has_saved = True
            sum_up(self._access)
        return merged

    def remove(self, tournament: int, target: Path, *, who: str) -> None:
        """Move a tournament to a store of its own, which `merge` can merge back.

        The file is complete, checked and synced before anything is removed here. After a crash in between,
        the tournament is in both.

        Args:
            tournament: its id.
            target: the new file.
            who: author of the removal, user@host.

        Raises:
            TakenError: the target exists.
            RefusedError: no such tournament, or it is being run.
            DamagedError: the moved data contradicts its seals or hashes.
        """
        target = target.absolute()
        if target.exists():
            raise TakenError(f"{target} exists; give a removed tournament a new file")
        part = part_of(target)
        # Results that wait in files beside the store move out with the others.
        self._access.store_waiting(self._access.settings)
        try:
            with (
                translated(self._access.place, self._access.backend.driver_error),
                self._access.backend.removing(self._access.settings) as connection,
            ):
                refuse_running(connection, tournament)
                require_warm(connection, tournament)
                self._move_out(connection, tournament, part)
                _put_in_place(part, target)
                _note_removal(connection, tournament, target, who)
                _delete(connection, tournament)
        finally:
            # After the rename only what was beside the part is left; after an error also the part.
            for suffix in ("", "-wal", "-shm", "-lock"):
                part.with_name(part.name + suffix).unlink(missing_ok=True)

    def _move_out(self, source: Connection, tournament: int, part: Path) -> None:
        """Create a store of one tournament, and check it."""
        settings = settings_of(part)
        prepare(settings, create=True)
        num = source.scalar(select(func.count()).where(matches.c.tournament_id == tournament))
        with Access(settings) as made:
            with made.write() as target:
                (moved,) = merge(source, target, str(self._access.place), only=tournament, moves=True)
            sum_up(made)
            with made.read() as connection:
                faults = find_faults(connection, quick=False)
        if faults or moved.num_matches != num:
            what = faults[0] if faults else "matches are missing"
            raise DamagedError(f"{self._access.place} is damaged: {what}; nothing was removed")

    def origin(self, tournament: int) -> Origin | None:
        """Return the store that a tournament came from; None if it was planned here."""
        own = select(origins.c.source, origins.c.merged_at).where(origins.c.tournament_id == tournament)
        with self._access.read() as connection:
            row = connection.execute(own).first()
        return None if row is None else Origin._make(row)

    def removals(self) -> list[Removal]:
        """Return the tournaments that were moved out, newest first."""
        names = ("name", "uid", "file", "who", "removed_at")
        query = select(*(removals.c[name] for name in names)).order_by(removals.c.id.desc())
        with self._access.read() as connection:
            return [Removal(*row) for row in connection.execute(query)]


def _put_in_place(part: Path, target: Path) -> None:
    """Rename a complete file to its final name, unless another file has that name by now."""
    try:
        sync_file(part)
        take_name(part, target)
        sync_folder(target.parent)
    except FileExistsError as error:
        raise TakenError(f"{target} exists; give a removed tournament a new file") from error
    except OSError as error:
        raise AccessError(f"cannot write {target}: {error}") from error


def _note_removal(connection: Connection, tournament: int, target: Path, who: str) -> None:
    own = select(tournaments.c.uid, tournaments.c.name).where(tournaments.c.id == tournament)
    row = connection.execute(own).one()
    values = {
        "uid": row.uid,
        "name": row.name,
        "file": str(target),
        "tournament_id": tournament,
        "last_match": numbering.last_match(connection),
        "who": who,
    }
    connection.execute(insert(removals).values(values | {"removed_at": now()}))


def _delete(connection: Connection, tournament: int) -> None:
    """Delete all rows of a tournament; afterwards the sums of its bots are those of their other matches."""
    counted = list(_one_of_each_encounter(connection, tournament))
    own = select(matches.c.id).where(matches.c.tournament_id == tournament)
    for table in reversed(metadata.sorted_tables):
        # Not every table about matches refers to them: those of a cold tournament are in files.
        if "match_id" in table.c:
            connection.execute(delete(table).where(table.c.match_id.in_(own)))
    connection.execute(delete(matches).where(matches.c.tournament_id == tournament))
    # Its matches are gone, so the sums of its bots are those of the others; its row is still there, which
    # names the pool.
    recompute(connection, counted)
    for table in reversed(metadata.sorted_tables):
        # The note of this removal, which was just written, stays.
        if table is not removals and "tournament_id" in table.c:
            connection.execute(delete(table).where(table.c.tournament_id == tournament))
    connection.execute(delete(tournaments).where(tournaments.c.id == tournament))


def _one_of_each_encounter(connection: Connection, tournament: int) -> Iterator[CountedMatch]:
    """Yield one counted match per encounter; they identify the sums that change."""
    own = matches.c.tournament_id == tournament
    seats = (matches.c.first_seat, matches.c.second_seat)
    first = select(func.min(matches.c.id)).where(own, text(COUNTS)).group_by(*seats)
    query = select(*_COUNTED, matches.c.id).where(matches.c.id.in_(first))
    for row in connection.execute(query):
        *values, number = row
        # The encounter within the plan matters only to pairs.
        yield CountedMatch(*values, encounter=0, match_no=0, id=number)
