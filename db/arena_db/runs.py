"""The runs of tournaments: their leases, the commands to them, and the events that they publish."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arena_db import coordination, live, planning
from arena_db.checking import find_faults
from arena_db.cold.thawing import require_warm
from arena_db.errors import DamagedError
from arena_db.fence import Fence, beat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_db.access import Access
    from arena_db.owner import LeaseRecord, Owner
    from arena_db.records import CommandRecord, EventPage, LiveEvent, Snapshot, TournamentRecord

__all__ = ["StoredCommands", "StoredEvents", "StoredLeases"]

_ASK_MS: Final = 5000
"""Milliseconds to wait for the write lock when a command is sent: a person is waiting at a screen."""


class StoredLeases:
    """The leases of the tournaments of a store.

    `Store.claim` returns a *fenced* store: the same connections, but every transaction first checks that the
    tournament has not been claimed again, and compares the file with the one that was opened.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    def beat(self) -> None:
        """Renew the lease of a fenced store.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file was removed, moved or replaced.
        """
        with self._access.write(alone=False) as connection:
            beat(connection, self._access.held_fence())

    def release(self) -> None:
        """Release the lease of a fenced store, unless another process has taken it over."""
        with self._access.write(alone=False) as connection:
            coordination.release(connection, self._access.held_fence())

    def find(self, tournament: int) -> LeaseRecord | None:
        """Return the lease of a tournament, whether its holder is alive or not; None if nobody holds it."""
        with self._access.read() as connection:
            return coordination.find(connection, tournament)

    def last_claim(self, owner: Owner) -> TournamentRecord | None:
        """Return the tournament that a process claimed last, whether or not it still holds it.

        Args:
            owner: the process; its `uuid` is ignored.
        """
        with self._access.read() as connection:
            found = coordination.last_claim(connection, owner)
            return None if found is None else planning.find_tournament(connection, found)


class StoredCommands:
    """The commands to runs of tournaments, and their answers."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def send(self, tournament: int, kind: str, payload: str = "") -> int:
        """Store a command for the process that runs a tournament; return the command's id.

        It uses a connection of its own, so that a store opened read-only can send commands, too, as long as
        the file itself is writable.

        Raises:
            RefusedError: no such tournament, no such kind of command, or a payload of over 4,096 characters.
            LockedError: the store stays locked for 5 s.
        """
        return self._access.beside(
            lambda raw: coordination.send_command(raw, self._access.dialect, tournament, kind, payload),
            _ASK_MS,
        )

    def take(self, tournament: int) -> list[CommandRecord]:
        """Return the commands left for a tournament, oldest first, each only once; call `answer` next."""
        with self._access.read() as connection:
            is_waiting = coordination.has_waiting_command(connection, tournament)
        # This is polled often and rarely finds anything: take the write lock only when there is a command.
        if not is_waiting:
            return []
        with self._access.write() as connection:
            return coordination.take_commands(connection, tournament)

    def answer(self, command: int, text: str) -> None:
        """Answer a command with a text for its sender.

        Raises:
            RefusedError: it does not exist or has an answer already; or the answer has over 4,096 characters.
        """
        with self._access.write() as connection:
            coordination.answer_command(connection, command, text)

    def find(self, command: int) -> CommandRecord | None:
        """Return the command with this id, with its answer if there is one.

        None if there is no such command.
        """
        with self._access.read() as connection:
            return coordination.find_command(connection, command)


class StoredEvents:
    """The live events of tournaments, numbered by tournament."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def append(self, events: Sequence[LiveEvent]) -> dict[int, int]:
        """Publish events of running matches, in one transaction.

        The events of a tournament are numbered from 1 in the order of their commits, so a reader that asks
        for later events misses none, even with several writers.

        A power cut may take the last events, but never a match. The same call removes old events of matches
        that have a result; a new owner of the lease starts without any events.

        Returns:
            The number of the newest event of each tournament in `events`.

        Raises:
            RefusedError: no such planned match or kind, or a payload of over 4,096 characters.
        """
        # Results that wait beside the store are not stored by this call: it commits without a sync and must
        # be short. On a server the commit is synced: viewers outlive a killed server, so a number that one of
        # them has seen must never be used again.
        fast = self._access.settings.fast or isinstance(self._access.place, Path)
        settings = replace(self._access.in_a_hurry(), fast=fast)
        with self._access.transaction(settings, alone=False) as connection:
            return live.append(connection, events)

    def after(self, seq: int, limit: int = 500, *, tournament: int) -> EventPage:
        """Return up to `limit` events of a tournament with a number above `seq`."""
        with self._access.looking() as raw, self._access.backend.looking(raw):
            return live.page(raw, self._access.dialect, tournament, seq, limit)

    def snapshot(self, tournament: int) -> Snapshot:
        """Return the running matches of a tournament, and the event number from which to follow them."""
        with self._access.read() as connection:
            return live.snapshot(connection, tournament)

    def newest_state(self, tournament: int) -> LiveEvent | None:
        """Return the last event about the whole run; None before the first."""
        with self._access.read() as connection:
            return live.newest_state(connection, tournament)


def claim(
    access: Access, tournament: int, owner: Owner, *, expires_s: float, take_over: bool
) -> Access | None:
    """Claim a tournament's lease; return fenced access for its run, or None if another process keeps it.

    Raises:
        DamagedError: the last holder ended suddenly, and a quick check finds damage.
        RefusedError: its matches are in files.
        MovedError: the file was removed, moved or replaced since it was opened.
    """
    with access.read() as connection:
        is_left = coordination.is_left(connection, tournament, owner, take_over=take_over)
        # A holder that ended suddenly may have left damage; check before the run continues with it.
        faults = find_faults(connection, quick=True) if is_left else []
    if faults:
        raise DamagedError(
            f"{access.place} was left by a process that ended suddenly, and is damaged: {faults[0]}; "
            "`arena db check` shows more, `arena db restore` replaces it with a backup"
        )
    with access.write() as connection:
        require_warm(connection, tournament)
        # The check above was another transaction, so the claim decides again, with the write lock held.
        epoch = coordination.claim(connection, tournament, owner, expires_s, take_over=take_over)
    if not epoch:
        return None
    # From here on each transaction also checks that the log is the one opened now.
    access.backend.hold_place()
    fenced = access.behind(Fence(tournament, epoch))
    # The last holder may have left results beside the store after `write` stored those it found, but before
    # the claim.
    fenced.store_waiting(access.settings, claimed=tournament)
    return fenced
