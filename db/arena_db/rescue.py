"""Writes the results of a tournament to a file, when the file of its store is not where it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from arena_db.files import written_durably
from arena_db.queries import list_tournament_matches
from arena_db.remarks import find_packed
from arena_db.spool_lines import encode, uid_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from arena_db.fence import Fence
    from arena_db.records import MatchRecord

_BEFORE_ALL: Final = (0, -1)


def write(connection: Connection, fence: Fence, unsaved: Sequence[MatchRecord], target: Path) -> int:
    """Write all stored matches of a tournament, and then those that were not saved; return how many.

    Args:
        connection: of the file that was opened.
        fence: of the run, which the lines name as that they were played for.
        unsaved: of the same tournament; those that are stored as well are written once.
        target: is there whole at the end, or not at all.

    Raises:
        FileExistsError: there is such a file.
        OSError: it cannot be written.
        DatabaseError: the store cannot be read.
    """
    uid, num = uid_of(connection, fence.tournament), 0
    with written_durably(target) as file:
        # A save may have been committed, and failed only when its file was found to be gone.
        left = {(record.number, record.attempt): record for record in unsaved}
        for record in _stored(connection, fence.tournament):
            file.write(encode(record, fence.epoch, uid))
            left.pop((record.number, record.attempt), None)
            num += 1
        for record in left.values():
            file.write(encode(record, fence.epoch, uid))
    return num + len(left)


def _stored(connection: Connection, tournament: int) -> Iterator[MatchRecord]:
    after = _BEFORE_ALL
    while page := list_tournament_matches(connection, tournament, after):
        said = find_packed(connection, [match.id for match in page])
        for match in page:
            yield replace(match, remarks=said.get(match.id, b""))
        after = (page[-1].number, page[-1].attempt)
