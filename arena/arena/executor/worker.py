"""Worker: plays batches of matches. It receives and returns plain data and has no access to the store."""

from __future__ import annotations

import functools
import time
import traceback
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ArenaError
from arena.executor.job import cached_adjudicator, cached_game
from arena.executor.logs import LogPart, match_log, write_part
from arena.executor.prints import listen, match_output
from arena.executor.record import record_of, void_record
from arena.executor.streaming import MatchStreamer, controls_of
from arena.executor.worker_seats import WarmSeats
from arena.executor.workspace import recreate_workspace
from arena.match import MatchSetup, play_match
from arena.sandbox.limits.exact import check_limits
from arena.sandbox.tier import Tier
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.executor.cores import Core
    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena_db.records import MatchRecord

BATCH_S = 2.0
"""Seconds after which a batch starts no further match: long enough to hide the cost of sending it, short
enough that losing it costs little."""
PART_S = 0.25
"""Seconds of play after which results are delivered while their batch continues, so that viewers see them
early."""
SEEN_S = 0.25
"""Replaces `BATCH_S` where results come only at the end of a batch, as soon as a match was slow enough to be
watched."""


class Began(NamedTuple):
    """A slot has started a match."""

    slot: Slot
    """The slot that plays it."""
    number: int
    """The number of the match."""


class SlotCallbacks(NamedTuple):
    """The functions that connect a slot to its pool, in both directions."""

    slot: Slot
    """The slot."""
    tell: Callable[[Began], None] = lambda _: None
    """Called for every match that starts."""
    must_stop: Callable[[], bool] = lambda: False
    """Polled before each match; if true, no further match starts."""
    must_abort: Callable[[], bool] = lambda: False
    """Polled before each move; if true, the running match ends."""
    deliver: Callable[[list[MatchRecord]], None] | None = None
    """Receives results while their batch continues; None returns all of them at its end."""
    must_deliver: Callable[[], bool] = lambda: False
    """Polled before each match; if true, the results of earlier ones are delivered before it starts."""
    publish: Callable[[bytes], bool] | None = None
    """Receives messages of a `MatchStreamer` and never blocks; None streams no match."""
    keep: Callable[[LogPart], None] = write_part
    """Receives logs of a match before its result; by default they are written on this machine."""


class Control:
    """The connection of a slot to the coordinator (news up, orders down) and the bots it keeps warm."""

    def __init__(
        self, callbacks: SlotCallbacks, seats: WarmSeats, streamer: MatchStreamer | None = None
    ) -> None:
        """Connect a slot; pools call `make_control`, which builds the parts.

        Args:
            callbacks: functions that reach the coordinator.
            seats: seats of the bots that play.
            streamer: streams matches while they are played; None publishes only their results.
        """
        self.callbacks = callbacks
        self.seats = seats
        self.streamer = streamer

    @property
    def is_watched(self) -> bool:
        """Whether the last match was slow enough to be streamed."""
        return self.streamer is not None and self.streamer.has_streamed

    def close(self) -> None:
        """Stop all bots, and the thread that streams matches."""
        self.seats.close()
        if self.streamer is not None:
            self.streamer.close()


def make_control(
    callbacks: SlotCallbacks,
    core: Core | None = None,
    *,
    seats: WarmSeats | None = None,
    quiet_s: float | None = None,
    is_threaded: bool = True,
) -> Control:
    """Connect a slot of any pool; `play_batch` then plays there what the coordinator submits.

    Args:
        callbacks: functions that reach the coordinator.
        core: the core to which the slot and its bots are pinned; None leaves the choice to the system.
        seats: seats of the bots that play; None starts bots when they are needed.
        quiet_s: seconds at the start of a match that are not streamed; None for the default.
        is_threaded: whether a thread streams matches; if not, the pool calls `streamer.send_new` itself.
    """
    streamer = None if callbacks.publish is None else MatchStreamer(callbacks.publish, quiet_s)
    if streamer is not None and is_threaded:
        streamer.run()
    return Control(callbacks, WarmSeats(core) if seats is None else seats, streamer)


def play_batch(jobs: Sequence[Job], control: Control) -> list[MatchRecord]:
    """Play matches one after the other; return the results that were not delivered meanwhile, in order.

    There are fewer records than jobs if the run was stopped or the batch took too long; they are always those
    of the first jobs.
    """
    callbacks = control.callbacks
    records: list[MatchRecord] = []
    began = delivered_at = time.monotonic()
    ends_at = began + BATCH_S
    for job in jobs:
        now = time.monotonic()
        is_due = control.is_watched or now - delivered_at >= PART_S or callbacks.must_deliver()
        if records and callbacks.deliver is not None and is_due:
            # Before the next match, not after each one: quick matches are delivered together, four times a
            # second.
            callbacks.deliver(records)
            records, delivered_at = [], now
        if callbacks.must_stop() or now >= ends_at:
            break
        _renew(control)
        # Before the match: if this process dies, the coordinator knows which match it was playing.
        callbacks.tell(Began(callbacks.slot, job.number))
        record = play_job(job, control)
        if _renew(control) and Termination(record.termination).is_fault:
            # The folder vanished while a bot was started or wrote to it, so no bot is to blame.
            record = void_record(job, Termination.ARENA_ERROR, "its temporary files were removed")
        records.append(record)
        # Viewers see the end of a streamed match only with the results of its batch.
        if callbacks.deliver is None and control.is_watched:
            ends_at = min(ends_at, began + SEEN_S)
    return records


def _renew(control: Control) -> bool:
    """Restart the bots if the folder for temporary files was deleted; return whether it was."""
    is_new = recreate_workspace()
    if is_new:
        control.seats.close()
    return is_new


def play_job(job: Job, control: Control) -> MatchRecord:
    """Play one match with warm bots; an error of the arena makes it void.

    Raises:
        PluginError: there is no such game.
    """
    game = cached_game(job.game)
    try:
        check_limits(job.require_limits, Tier(job.tier))
        seats = (
            control.seats.of(job.first, game.name, job.tier),
            control.seats.of(job.second, game.name, job.tier),
        )
        adjudicate = cached_adjudicator(job.game, job.adjudicate)
    except ArenaError as error:
        return void_record(job, Termination.ARENA_ERROR, str(error))
    except Exception:  # noqa: BLE001 - a bug of the arena must cost this match only
        return void_record(job, Termination.ARENA_ERROR, traceback.format_exc())
    listen(job, seats)
    setup = MatchSetup(
        id=job.match,
        labels=(job.first.label, job.second.label),
        seeds=(job.seed_first, job.seed_second),
        controls=controls_of(job),
        opening=job.opening,
        init_s=job.init_s,
    )
    streamer = control.streamer
    try:
        result = play_match(
            game,
            seats,
            setup,
            on_ready=None if streamer is None else functools.partial(streamer.begin, job),
            on_info=None if streamer is None else streamer.think,
            abort=control.callbacks.must_abort,
            adjudicate=adjudicate,
            stalls_count=job.stalls_count,
        )
    finally:
        if streamer is not None:
            # Even after an error, so that the thread no longer reads a record that is not growing.
            streamer.end()
    # Before the result is returned, so that no stored result lacks its log.
    for part in (*match_log(job, seats, result), *match_output(job, seats, result)):
        control.callbacks.keep(part)
    return record_of(job, result)
