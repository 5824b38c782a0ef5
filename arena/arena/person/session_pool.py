"""The pool of a session: plays in a thread of this process, with a bot that is already running."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from typing_extensions import override

from arena.executor.pools import InlinePool
from arena.executor.worker import play_batch
from arena.executor.worker_seats import WarmSeats, make_seat
from arena.person.session_config import PERSON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from arena.entrants import Competitor
    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena.person.session_commands import SessionCommands
    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena_db.records import MatchRecord


class SessionSeats(WarmSeats):
    """The seats of a person and of a bot that is already running."""

    def __init__(self, person: Seat, bot: Seat) -> None:
        """Keep both seats until the first match."""
        super().__init__()
        self._person = person
        self._started = [bot]

    @override
    def make(self, competitor: Competitor, game_name: str, tier: Tier) -> Seat:
        if competitor.label == PERSON:
            return self._person
        if self._started:
            return self._started.pop()
        # The temporary files of the bot were deleted, and its process was stopped because of that.
        return make_seat(competitor, game_name, tier, keeps_compiled=True)


class SessionPool(InlinePool):
    """Plays in a thread, so that the coordinator can process commands while the bot thinks."""

    def __init__(self, commands: SessionCommands, person: Seat, bot: Seat) -> None:
        """Set up the seats.

        Args:
            commands: reports when a match must end at once.
            person: seat of the person.
            bot: seat of the bot, started; the pool closes it.
        """
        # Every event is streamed at once, since the person waits for it.
        super().__init__(SessionSeats(person, bot), quiet_s=0.0)
        self._commands = commands
        # One thread serves all matches, since a process ends with the thread that started it.
        self._thread = ThreadPoolExecutor(1, "session")

    @override
    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        del slot, tick
        return self._thread.submit(self._play, list(jobs))

    @override
    def abort(self) -> None:
        super().abort()
        self._commands.abort()

    @override
    def close(self) -> None:
        self._thread.submit(super().close).result()
        self._thread.shutdown()

    @override
    def _must_abort(self) -> bool:
        return super()._must_abort() or self._commands.must_end

    def _play(self, jobs: Sequence[Job]) -> list[MatchRecord]:
        # An interrupted match of a person is never repeated.
        return [dataclasses.replace(record, is_final=True) for record in play_batch(jobs, self._control)]
