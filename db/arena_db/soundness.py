"""Checks a store for damage, and rebuilds derived data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_db import mending
from arena_db.access import Access
from arena_db.checking import find_faults, find_run_faults
from arena_db.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable


class Soundness(Access):
    """The part of a store that checks and repairs it."""

    def check(self, *, quick: bool = False) -> list[str]:
        """Return the faults of the store, one sentence each; empty if it is sound.

        Args:
            quick: leave out the checks that read every match: indexes, hashes of records, seals, recounts.
        """
        refused = [] if self._spool is None else self._spool.refused()
        with self._read() as connection:
            faults = find_faults(connection, quick=quick)
        return faults + [f"{file} has results that the store refuses" for file in refused]

    def check_run(self, tournament: int) -> None:
        """Check before a run continues that schema, tournament and unplayed matches are undamaged.

        Raises:
            DamagedError: they are damaged; the text names the first fault.
        """
        with self._read() as connection:
            faults = find_run_faults(connection, tournament)
        if faults:
            raise DamagedError(
                f"{self.place} is damaged: {faults[0]}; nothing is played; `arena db check` shows more, "
                "`arena db restore` puts a backup in its place"
            )

    def repair(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Rebuild what is derived from plans and matches, in one transaction; these stay unchanged.

        Rebuilt are indexes, marks of the plan, counts, tallies and sums. Ratings over time that contradict
        the matches or their seals are removed.

        Args:
            tell: called with one sentence for each change, after all of it is stored.

        Raises:
            DamagedError: the file, the schema or the plan has damage that rebuilding cannot repair; then
                nothing is changed.
        """
        with self._reading(), self._write() as connection:
            done = mending.repair(connection)
        for text in done:
            tell(text)
