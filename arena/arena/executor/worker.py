"""What a worker does: plays batches of matches; pure data in, pure data out, no store in sight."""

from __future__ import annotations

import functools
import time
import traceback
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ArenaError
from arena.executor.job import cached_adjudicator, cached_game
from arena.executor.logs import keep_log
from arena.executor.prints import keep_output, listen
from arena.executor.record import record_of, void_record
from arena.executor.seats import WarmSeats
from arena.executor.telling import Teller, controls_of
from arena.executor.workspace import mend
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
"""Seconds until a batch begins no match: long enough to hide the cost of sending, short enough to lose."""
PART_S = 0.25
"""Seconds of play after which results are delivered while their batch goes on, so that viewers see them."""
SEEN_S = 0.25
"""The same as `BATCH_S` where all results come at the end of the batch, once a match could be watched."""


class Began(NamedTuple):
    """A slot begins a match."""

    slot: Slot
    """Where it is played."""
    number: int
    """The number of the match."""


class Ways(NamedTuple):
    """How a pool reaches one of its slots, and the slot the pool."""

    slot: Slot
    """The slot."""
    tell: Callable[[Began], None] = lambda _: None
    """Hears of every match that begins."""
    must_stop: Callable[[], bool] = lambda: False
    """Asked before each match; then no further one begins."""
    must_abort: Callable[[], bool] = lambda: False
    """Asked before each move; then the match ends."""
    deliver: Callable[[list[MatchRecord]], None] | None = None
    """Takes results while their batch goes on; None leaves them all to its end."""
    publish: Callable[[bytes], bool] | None = None
    """Takes messages of a `Teller` without waiting; None streams no match."""


class Control:
    """What ties a slot to the coordinator, news up and orders down, and the bots it keeps warm."""

    def __init__(self, ways: Ways, seats: WarmSeats, teller: Teller | None = None) -> None:
        """Connect a slot; `make_control` does so for a pool.

        Args:
            ways: to the coordinator.
            seats: of those who play.
            teller: streams matches while they are played; None leaves it at their results.
        """
        self.ways = ways
        self.seats = seats
        self.teller = teller

    @property
    def is_watched(self) -> bool:
        """Whether the last match was slow enough to be streamed."""
        return self.teller is not None and self.teller.has_told

    def close(self) -> None:
        """End all bots."""
        self.seats.close()
        if self.teller is not None:
            self.teller.close()


def make_control(
    ways: Ways,
    core: Core | None = None,
    *,
    seats: WarmSeats | None = None,
    quiet_s: float | None = None,
    is_threaded: bool = True,
) -> Control:
    """Connect a slot of any pool; `play_batch` then plays there what the coordinator submits.

    Args:
        ways: to the coordinator.
        core: what the slot and its bots may settle on; None lets the system choose.
        seats: of those who play; None for bots that are started when they are needed.
        quiet_s: seconds of a match that are not streamed; None for the usual ones.
        is_threaded: whether a thread streams; else the pool calls `teller.tell` itself.
    """
    teller = None if ways.publish is None else Teller(ways.publish, quiet_s)
    if teller is not None and is_threaded:
        teller.run()
    return Control(ways, WarmSeats(core) if seats is None else seats, teller)


def play_batch(jobs: Sequence[Job], control: Control) -> list[MatchRecord]:
    """Play matches one after the other; return the results that were not delivered meanwhile, in order.

    Fewer records than jobs come in all when the run was stopped meanwhile, or when the batch took too long;
    they are those of the first jobs.
    """
    ways = control.ways
    records: list[MatchRecord] = []
    began = delivered_at = time.monotonic()
    ends_at = began + BATCH_S
    for job in jobs:
        now = time.monotonic()
        if records and ways.deliver is not None and (control.is_watched or now - delivered_at >= PART_S):
            ways.deliver(records)
            records, delivered_at = [], now
        if ways.must_stop() or now >= ends_at:
            break
        _renew(control)
        ways.tell(Began(ways.slot, job.number))
        record = play_job(job, control)
        if _renew(control) and Termination(record.termination).is_fault:
            # No bot is to blame for a folder that went while it was started, or while it wrote to it.
            record = void_record(job, Termination.ARENA_ERROR, "its temporary files were removed")
        records.append(record)
        if ways.deliver is None and control.is_watched:
            ends_at = min(ends_at, began + SEEN_S)
    return records


def _renew(control: Control) -> bool:
    """Start bots anew once somebody cleared the temporary files away; return whether that was so."""
    is_new = mend()
    if is_new:
        control.seats.close()
    return is_new


def play_job(job: Job, control: Control) -> MatchRecord:
    """Play one match with the bots that are warm; an error of the arena makes it void.

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
    teller = control.teller
    try:
        result = play_match(
            game,
            seats,
            setup,
            on_ready=None if teller is None else functools.partial(teller.begin, job),
            on_info=None if teller is None else teller.think,
            abort=control.ways.must_abort,
            adjudicate=adjudicate,
            stalls_count=job.stalls_count,
        )
    finally:
        if teller is not None:
            teller.end()
    keep_log(job, seats, result)
    keep_output(job, seats, result)
    return record_of(job, result)
