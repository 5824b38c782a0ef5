"""Moves the matches of ended tournaments to Parquet files, and back.

The files are written, synced, read back and compared before one transaction removes the rows. Whenever it is
killed, the rows are in the store, or the files are complete and the store refers to them; repeating the call
finishes it.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from arena_db import seals
from arena_db.clock import now
from arena_db.cold import archive
from arena_db.cold.thawing import (
    ColdTournament,
    base_of,
    find_cold,
    insert_rows,
    list_cold,
    require_warm,
    told_damage,
)
from arena_db.cold_tables import cold_ends, cold_tournaments
from arena_db.errors import AccessError, DamagedError, RefusedError, TakenError
from arena_db.failures import translated
from arena_db.files import part_of, sweep_parts, sync_folder
from arena_db.kept import rating_points
from arena_db.models import (
    REVISION,
    analyses,
    bots,
    entrants,
    leases,
    live_events,
    matches,
    planned,
    remarks,
    tournaments,
    versions,
)
from arena_db.points import end_of
from arena_db.pruning import prune
from arena_db.resumming import first_unsummed, list_pruned, restore
from arena_db.row_hash import from_row, row_hash
from arena_db.voiding import Why, add_change, refuse_running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Select, Table

    from arena_db.access import Access
    from arena_db.cold.parquet import Row

__all__ = ["ColdTournaments", "Frozen"]

_AT_ONCE: Final = 5_000
"""Rows fetched at once: a tournament of a million matches need not fit into memory."""
_MAX_FOLDERS: Final = 99
"""Maximum number of folders of one tournament within a folder."""
_POINTERS: Final = from_row("first_bot", "second_bot", "versions_id", "record_hash")
_TOLD: Final = ("uid", "name", "type", "game", "num_actions", "seed", "event", "site", "created_at", "config")
"""Columns of a tournament that its manifest contains, for readers without the store."""


class Frozen(NamedTuple):
    """The result of moving matches to files."""

    folder: Path
    num_matches: int
    num_bytes: int
    """Size of all files."""


class ColdTournaments:
    """The cold tournaments of a store: those whose matches are in files."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def tournaments(self) -> list[ColdTournament]:
        """Return the tournaments whose matches are in files, by id."""
        with self._access.read() as connection:
            return list_cold(connection)

    def require_warm(self, tournament: int) -> None:
        """Check that the matches of a tournament are stored, for work that cannot be done on files.

        Raises:
            RefusedError: they are in files.
        """
        with self._access.read() as connection:
            require_warm(connection, tournament)

    def freeze(self, tournament: int, parent: Path, *, who: str) -> Frozen | None:
        """Move the plan, matches, remarks and analyses of an ended tournament to files.

        The tournament is archived, too. All tables about it stay as they are, and every reader of its matches
        reads the files. Nothing is removed before the files have been read back and compared.

        Args:
            tournament: its id.
            parent: folder in which a folder of the tournament is made.
            who: author of the change, user@host.

        Returns:
            What was written; None if its matches were in files before.

        Raises:
            RefusedError: no such tournament, it is being run or has not ended, or it changed meanwhile.
            DamagedError: the store or the files that were written contradict themselves.
            UnsupportedError: pyarrow is not installed.
            AccessError: the files cannot be written.
        """
        parent = parent.absolute()
        with translated(self._access.place):
            self._access.store_waiting(self._access.settings)
            with self._access.read() as connection:
                if find_cold(connection, tournament) is not None:
                    return None
                _require_ended(connection, tournament)
                # Writing the files may take minutes, so it holds no write lock. What has changed meanwhile is
                # found by comparing this value below, under the lock.
                before = _state(connection, tournament)
                try:
                    folder = _written(connection, tournament, parent)
                except OSError as error:
                    raise AccessError(f"cannot write to {parent}: {error}") from error
            # Read back from the disk: its hash is what the store will expect.
            manifest, manifest_hash = archive.read_manifest(folder)
            with self._access.backend.removing(self._access.settings) as connection:
                _require_ended(connection, tournament)
                if _state(connection, tournament) != before:
                    raise RefusedError(
                        f"{manifest['tournament']['name']} changed while its matches were written to "
                        f"{folder}; nothing was removed; run the command again"
                    )
                # First, because it reads the matches that are removed next.
                _refer(connection, tournament, folder, manifest_hash, who)
                _remove(connection, tournament)
                prune(connection, tournament)
        num = manifest["files"][archive.file_of(folder, matches).name]["num_rows"]
        return Frozen(folder, num, sum(file.stat().st_size for file in folder.iterdir()))

    def thaw(self, tournament: int, *, who: str) -> ColdTournament | None:
        """Store the matches of a cold tournament again, with their ids, and show it in lists.

        The files stay, because a backup of the store may refer to them.

        Args:
            tournament: its id.
            who: author of the change, user@host.

        Returns:
            Where its matches were; None if they are stored.

        Raises:
            DamagedError: the files are missing or damaged.
            UnsupportedError: pyarrow is not installed.
        """
        with self._access.write() as connection:
            cold = find_cold(connection, tournament)
            if cold is None:
                return None
            with told_damage(cold):
                manifest, manifest_hash = archive.read_manifest(cold.folder)
                if manifest_hash != cold.manifest_hash:
                    raise DamagedError(f"{cold.folder / archive.MANIFEST} is not as it was written")
                archive.check_files(cold.folder, manifest)
                for table in archive.TABLES:
                    insert_rows(connection, table, archive.rows_in(cold.folder, manifest, table))
            for table in (cold_ends, cold_tournaments):
                connection.execute(delete(table).where(table.c.tournament_id == tournament))
            # A stored tournament can change again, and its sums with it, for which its clusters are needed.
            if tournament in list_pruned(connection):
                restore(connection, tournament, first_unsummed(connection) - 1)
            # Before the commit: if what came from the files contradicts its seals, the transaction is rolled
            # back.
            seals.require_sound(connection, tournament)
            shown = update(tournaments).where(tournaments.c.id == tournament)
            connection.execute(shown.values(archived_at=None))
            with seals.amending(connection, tournament):
                subject = f"matches from {cold.folder}"
                add_change(connection, tournament, "unarchive", subject, Why(who))
        return cold


def _require_ended(connection: Connection, tournament: int) -> None:
    """Check that nothing of a tournament can change any more.

    Raises:
        RefusedError: it is being run, or has not ended.
    """
    refuse_running(connection, tournament)
    own = tournaments.c.id == tournament
    name, state = connection.execute(select(tournaments.c.name, tournaments.c.state).where(own)).one()
    if state != "finished":
        raise RefusedError(
            f"{name} is {state}, and only matches of finished tournaments can be archived in files; arena "
            f"resume {name} finishes it"
        )
    newest = connection.scalar(select(func.max(matches.c.id)).where(matches.c.tournament_id == tournament))
    if (newest or 0) >= first_unsummed(connection):
        raise RefusedError(f"the sums do not hold all matches of {name} yet; run the command again")


def _state(connection: Connection, tournament: int) -> tuple[Any, ...]:
    """Return a value that changes with everything that is about to be removed."""
    row = tournaments.c.id == tournament
    graded = matches.c.id.in_(select(matches.c.id).where(matches.c.tournament_id == tournament))
    judged = select(func.count(), func.max(analyses.c.made_at))
    judged = judged.join_from(analyses, matches, matches.c.id == analyses.c.match_id).where(graded)
    sizes = [
        connection.scalar(select(func.count()).where(table.c.tournament_id == tournament))
        for table in (planned, matches, remarks)
    ]
    # Each claim of the lease raises its epoch, so no run can have come and gone in between.
    epoch = connection.scalar(select(leases.c.epoch).where(leases.c.tournament_id == tournament))
    fields = connection.execute(select(tournaments.c.num_done, tournaments.c.is_planned).where(row)).one()
    return (*sizes, epoch, *fields, *connection.execute(judged).one())


def _written(connection: Connection, tournament: int, parent: Path) -> Path:
    """Return a folder with the rows of a tournament, compared with them; write it if there is none."""
    seals.require_sound(connection, tournament)
    row = connection.execute(
        select(*(tournaments.c[name] for name in _TOLD)).where(tournaments.c.id == tournament)
    ).one()
    parent.mkdir(parents=True, exist_ok=True)
    sweep_parts(parent)
    for folder in _names(parent, f"{row.name}-{row.uid[:8]}"):
        if folder.exists():
            # Left by a call that was killed, or by an earlier archive of the same matches.
            if _is_same(connection, tournament, folder):
                return folder
            continue
        part = part_of(folder)
        part.mkdir()
        try:
            archive.write(
                part,
                lambda table: _rows(connection, tournament, table),
                {"revision": REVISION, "tournament": dict(zip(_TOLD, row, strict=True))}
                | _legend(connection, tournament),
            )
            _compare(connection, tournament, part)
            # Only a complete and compared folder gets this name.
            part.rename(folder)
            sync_folder(parent)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return folder
    raise TakenError(f"{parent} has too many folders of {row.name}; remove those that no store refers to")


def _names(parent: Path, name: str) -> Iterator[Path]:
    yield parent / name
    for number in range(2, _MAX_FOLDERS + 1):
        yield parent / f"{name}-{number}"


def _legend(connection: Connection, tournament: int) -> dict[str, object]:
    """Return what the numbers in the files refer to."""
    seats = select(entrants.c.seat, entrants.c.label, bots.c.id, bots.c.identity, bots.c.spec, bots.c.version)
    seats = seats.join_from(entrants, bots, bots.c.id == entrants.c.bot_id)
    seats = seats.where(entrants.c.tournament_id == tournament).order_by(entrants.c.seat)
    used = select(matches.c.versions_id).where(matches.c.tournament_id == tournament).distinct()
    known = select(versions.c.id, versions.c.content).where(versions.c.id.in_(used)).order_by(versions.c.id)
    names = ("seat", "label", "bot_id", "identity", "spec", "version")
    return {
        "entrants": [dict(zip(names, row, strict=True)) for row in connection.execute(seats)],
        "versions": {str(number): content for number, content in connection.execute(known)},
    }


def _is_same(connection: Connection, tournament: int, folder: Path) -> bool:
    try:
        _compare(connection, tournament, folder)
    except DamagedError:
        return False
    return True


def _compare(connection: Connection, tournament: int, folder: Path) -> None:
    """Read files back and compare them with the store, file by file and row by row.

    Raises:
        DamagedError: they differ, or a match in the store contradicts its hash.
    """
    manifest, _ = archive.read_manifest(folder)
    archive.check_files(folder, manifest)
    for table in archive.TABLES:
        stored = _rows(connection, tournament, table)
        if table is matches:
            stored = _sound(connection, stored)
        read = archive.rows_in(folder, manifest, table)
        while True:
            # Row by row, so that neither side is in memory as a whole; None stands for the end.
            ours, theirs = next(stored, None), next(read, None)
            if ours != theirs:
                raise DamagedError(
                    f"{archive.file_of(folder, table)} differs from the store; nothing was removed"
                )
            if ours is None:
                break


def _sound(connection: Connection, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the given matches, each compared with its hash.

    Raises:
        DamagedError: one is not as it was stored.
    """
    identities = dict(map(tuple, connection.execute(select(bots.c.id, bots.c.identity))))
    texts = dict(map(tuple, connection.execute(select(versions.c.id, versions.c.content))))
    for row in rows:
        first, second, number, stored = _POINTERS(row)
        if row_hash(row, (identities[first], identities[second]), texts[number]) != stored:
            raise DamagedError(f"match #{row[0]} is not as it was stored; `arena db check` shows more")
        yield row


def _rows(connection: Connection, tournament: int, table: Table) -> Iterator[Row]:
    """Yield the rows of a tournament in the order of their key."""
    query: Select[*tuple[Any, ...]] = select(table)
    if table is analyses:
        own = select(matches.c.id).where(matches.c.tournament_id == tournament)
        query = query.where(analyses.c.match_id.in_(own))
    else:
        query = query.where(table.c.tournament_id == tournament)
    streamed = {"yield_per": _AT_ONCE}
    query = query.order_by(*table.primary_key)
    # Closed also if the caller stops in between: on a server the rest of the rows would wait.
    with connection.execute(query, execution_options=streamed) as found:
        yield from map(tuple, found)


def _refer(connection: Connection, tournament: int, folder: Path, manifest_hash: bytes, who: str) -> None:
    """Refer to the files of a tournament, and archive it."""
    own = matches.c.tournament_id == tournament
    num, first, last = connection.execute(
        select(func.count(), func.min(matches.c.id), func.max(matches.c.id)).where(own)
    ).one()
    base = base_of(connection)
    # Relative to a store beside it, so that both can be moved together.
    is_beside = base is not None and folder.is_relative_to(base)
    values = {
        "tournament_id": tournament,
        "folder": str(os.path.relpath(folder, base)) if is_beside else str(folder),
        "manifest_hash": manifest_hash,
        "num_matches": num,
        "first_match": first or 0,
        "last_match": last or 0,
        "frozen_at": now(),
    }
    connection.execute(insert(cold_tournaments).values(values))
    dated = select(rating_points.c.match_id).where(rating_points.c.tournament_id == tournament)
    ends = select(matches.c.tournament_id, matches.c.id, end_of(matches)).where(own, matches.c.id.in_(dated))
    connection.execute(insert(cold_ends).from_select(["tournament_id", "match_id", "ended_at"], ends))
    hidden = update(tournaments).where(tournaments.c.id == tournament)
    connection.execute(hidden.values(archived_at=func.coalesce(tournaments.c.archived_at, now())))
    with seals.amending(connection, tournament):
        add_change(connection, tournament, "archive", f"matches in {folder}", Why(who))


def _remove(connection: Connection, tournament: int) -> None:
    """Delete the rows that are in files."""
    own = select(matches.c.id).where(matches.c.tournament_id == tournament)
    connection.execute(delete(analyses).where(analyses.c.match_id.in_(own)))
    # Referring rows first, for a server, which checks foreign keys.
    for table in (remarks, live_events, matches, planned):
        connection.execute(delete(table).where(table.c.tournament_id == tournament))
