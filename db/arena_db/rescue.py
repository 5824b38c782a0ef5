"""Writes the results of a tournament to a file, when the file of its store is not where it was."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
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
        unsaved: of the same tournament; one that is stored as well is no harm, as nothing is stored twice.
        target: is there whole at the end, or not at all.

    Raises:
        FileExistsError: there is such a file.
        OSError: it cannot be written.
        DatabaseError: the store cannot be read.
    """
    uid, num = uid_of(connection, fence.tournament), 0
    with written_durably(target) as file:
        for record in chain(_stored(connection, fence.tournament), unsaved):
            file.write(encode(record, fence.epoch, uid))
            num += 1
    return num


def _stored(connection: Connection, tournament: int) -> Iterator[MatchRecord]:
    after = _BEFORE_ALL
    while page := list_tournament_matches(connection, tournament, after):
        said = find_packed(connection, [match.id for match in page])
        for match in page:
            yield replace(match, remarks=said.get(match.id, b""))
        after = (page[-1].number, page[-1].attempt)
