"""Jobs of a run: their source, the size of batches, and the batches in flight."""

from __future__ import annotations

import math
from collections import Counter, deque
from contextlib import suppress
from itertools import zip_longest
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypedDict

from arena.analysis import ADJUDICATION_NODES
from arena.executor.channel import drain
from arena.executor.job import Job
from arena.match import match_seed
from arena.naming import match_address
from arena.schedules.protocol import RATED_ENCOUNTER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from typing import Required

    from typing_extensions import Unpack

    from arena.coordinator.plan import Plan
    from arena.coordinator.run_events import BotWithdrawn
    from arena.entrants import Competitor
    from arena.executor.job import BotOutput
    from arena.executor.slots import Slot
    from arena.referee.timecontrol import TimeControl
    from arena.sandbox.limits.exact import Limits
    from arena_db.records import MatchRecord, PlannedMatch, TournamentRecord

MAX_LOGGED = 50
"""Number of planned matches up to which the output of bots is kept for every match by default."""


class JobSource(Protocol):
    """Source of the jobs of a tournament; a match is stored in the plan before its job is returned."""

    total: int | None
    """Number of matches of the whole tournament; None while it cannot be known."""
    decision: str
    """The decision of the tournament; empty before there is one."""
    is_open: bool
    """Whether bots join and leave while it is played."""
    is_urgent: bool
    """Whether the jobs returned last go before all queued ones."""
    batch_size: int
    """Maximum number of matches per batch; set by the run as it learns how long matches take."""
    num_workers: int
    """Number of slots; set by the run, because worker machines come and go."""

    @property
    def is_exhausted(self) -> bool:
        """Whether no more jobs will be returned."""
        ...

    def more(self, num_queued: int, running: Collection[int]) -> list[Job]:
        """Return further jobs, if it is time for some.

        Args:
            num_queued: number of jobs that were returned and have not begun.
            running: numbers of the running matches.

        Raises:
            ArenaError: the next matches cannot be planned.
            DatabaseError: the plan cannot be stored.
        """
        ...

    def renew(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Return the queued jobs, with their bots resolved again, after one could not be played.

        Files of a bot may have been removed meanwhile.
        """
        ...

    def withdraw(self, label: str, why: str) -> None:
        """Withdraw a bot from a tournament that bots may leave at any time; its matches are dropped."""
        ...

    def take_gone(self) -> Sequence[int]:
        """Return the numbers of returned jobs that are no longer needed, each number once."""
        ...

    def take_withdrawn(self) -> Sequence[BotWithdrawn]:
        """Return the bots that the source has withdrawn, each bot once."""
        ...


class JobSettings(TypedDict, total=False):
    """The common settings of a tournament's matches; see `Job`, which has defaults for omitted ones."""

    limit: Required[TimeControl]
    init_s: Required[float]
    tier: Required[str]
    require_limits: Limits | None
    log: bool
    bot_output: BotOutput
    shows_clock: bool
    scales_time: bool
    adjudicate: int


def make_jobs(tournament: TournamentRecord, plan: Plan, matches: Sequence[PlannedMatch]) -> list[Job]:
    """Return the jobs of planned matches; facts about the whole plan come from `tournament`."""
    config = plan.config
    # A tournament whose end is not known yet may become long.
    is_short = tournament.num_total is not None and tournament.num_total <= MAX_LOGGED
    settings = JobSettings(
        limit=plan.limit,
        init_s=config.init_time,
        tier=plan.tier,
        require_limits=config.require_limits,
        log=config.log,
        bot_output=config.bot_output or ("all" if is_short else "faults"),
        adjudicate=ADJUDICATION_NODES if config.adjudicate == "solver" else 0,
        scales_time=config.speed == "scale",
    )
    return [
        make_job(
            tournament,
            match,
            plan.competitors,
            rated=config.is_rated_by_itself or match.encounter == RATED_ENCOUNTER,
            **settings,
        )
        for match in matches
    ]


def make_job(
    tournament: TournamentRecord,
    match: PlannedMatch,
    bots: Sequence[Competitor],
    *,
    rated: bool,
    **settings: Unpack[JobSettings],
) -> Job:
    """Return the job of a planned match; its seeds depend only on the tournament and its place in the plan.

    Args:
        tournament: the tournament.
        match: the planned match.
        bots: competitors by seat.
        rated: whether it counts for ratings.
        **settings: the common settings of all its matches.
    """
    return Job(
        tournament=tournament.id,
        number=match.number,
        attempt=match.attempt,
        match=match_address(tournament.name, match.number),
        game=tournament.game,
        first=bots[match.first],
        second=bots[match.second],
        opening=match.opening,
        seed_first=match_seed(tournament.seed, match.encounter, match.match_no, 0),
        seed_second=match_seed(tournament.seed, match.encounter, match.match_no, 1),
        rated=rated,
        **settings,
    )


MAX_BATCH = 1000
"""Maximum number of matches of one batch, however short they are."""
_NUM_RECENT = 32
"""Number of recent matches of an encounter whose mean predicts the duration of the next."""


class Mean:
    """The mean of the newest values of a series."""

    def __init__(self) -> None:
        self._values: deque[float] = deque()
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Add a value; beyond `_NUM_RECENT` values the oldest is removed."""
        self._values.append(value)
        self._sum += value
        if len(self._values) > _NUM_RECENT:
            self._sum -= self._values.popleft()

    @property
    def value(self) -> float:
        """The mean; 0 without values."""
        # Adding and subtracting floats may leave a little less than 0.
        return max(0.0, self._sum / len(self._values)) if self._values else 0.0


class Lengths:
    """Durations of recent matches, by encounter."""

    def __init__(self) -> None:
        self._encounters: dict[tuple[str, str], Mean] = {}
        self._all = Mean()

    def note(self, records: Sequence[MatchRecord]) -> None:
        """Record matches that one slot played one after the other.

        The time from one start to the next is longer than the match: it includes starting bots and writing
        logs.
        """
        for record, after in zip_longest(records, records[1:]):
            seconds = record.duration_ms / 1000
            if after is not None:
                # Never less than the match itself: the clock may have been set.
                seconds = max(seconds, after.started_at - record.started_at)
            key = _key(record.first, record.second)
            self._encounters.setdefault(key, Mean()).add(seconds)
            self._all.add(seconds)

    def expected(self, job: Job) -> float:
        """Return the expected seconds of a match: the mean of its encounter.

        Before the first match of its encounter, this is the mean of all encounters.
        """
        known = self._encounters.get(_key(job.first.record.identity, job.second.record.identity), self._all)
        return known.value

    def num_in(self, seconds: float) -> int:
        """Return how many matches of recent length fit into this time, at most `MAX_BATCH`."""
        # The divisor is never 0, which the mean is before the first match.
        return min(MAX_BATCH, math.ceil(seconds / max(self._all.value, seconds / MAX_BATCH)))


def _key(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)


def are_pair(first: Job, second: Job) -> bool:
    """Return whether the second match is the first with sides swapped, from the same opening."""
    return (
        second.number == first.number + 1
        and first.opening == second.opening
        and first.first.label == second.second.label
        and first.second.label == second.first.label
    )


def batch_size(expected: Iterable[tuple[float, bool]], most: int, batch_s: float) -> int:
    """Return how many of the next matches make a batch; at least 1 if there is one.

    A pair is kept together even if that exceeds the number of matches, unless `most` is 1: near the end two
    slots should play one match of it each.

    Args:
        expected: for each match in turn its expected seconds, and whether it is the second of its pair.
        most: maximum number of matches.
        batch_s: intended duration of the batch in seconds.
    """
    size, total = 0, 0.0
    for seconds, is_second in expected:
        total += seconds
        # A pair that takes longer than a batch is better played on two slots at once.
        stays = is_second and most > 1 and 2 * seconds <= batch_s
        if size and not stays and (size >= most or total > batch_s):
            break
        size += 1
    return size


def share(num_left: int, num_slots: int) -> int:
    """Return the maximum size of the next batch of the remaining matches, so that all slots end together."""
    # Half of an even share, so that enough is left for slots that happen to get short matches.
    return min(MAX_BATCH, math.ceil(num_left / (2 * num_slots)))


def first_size(num_batches: int, num_slots: int) -> int:
    """Return the maximum size of the batch after `num_batches` others: small at first, for early results."""
    # Four times as large after every two batches of each slot; 4 ** 5 is above `MAX_BATCH`.
    return min(MAX_BATCH, 4 ** min(5, num_batches // (2 * num_slots)))


class Flight(NamedTuple):
    """A batch that was submitted to a slot."""

    slot: Slot
    jobs: dict[int, Job]
    """Its matches that are not known to be played, by number and in order."""


class Flights:
    """The batches in flight, in the order of submission; the first one of a slot is the one that it plays.

    With a thousand slots two thousand batches are in flight, so the steps for each batch must not iterate
    over them.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._flights: dict[Future[list[MatchRecord]], Flight] = {}
        self._by_number: dict[int, Flight] = {}
        self._load: Counter[Slot] = Counter()
        self._news: SimpleQueue[Future[list[MatchRecord]]] = SimpleQueue()
        """Futures of ended batches, put here by the threads that end them."""
        self._ended: set[Future[list[MatchRecord]]] = set()
        """Ended batches that `wait` has not returned yet."""

    def __bool__(self) -> bool:
        """Return whether any batch is in flight."""
        return bool(self._flights)

    def __getitem__(self, future: Future[list[MatchRecord]]) -> Flight:
        """Return the batch of a future."""
        return self._flights[future]

    def items(self) -> Iterator[tuple[Future[list[MatchRecord]], Flight]]:
        """Return all batches; some may be removed meanwhile."""
        return iter(list(self._flights.items()))

    def waiting(self) -> Iterator[tuple[Future[list[MatchRecord]], Flight]]:
        """Yield the batches that wait behind another one, the oldest first; some may be removed meanwhile."""
        playing: set[Slot] = set()
        for future, flight in self.items():
            # The first batch of a slot is the running one.
            if flight.slot in playing:
                yield future, flight
            playing.add(flight.slot)

    @property
    def numbers(self) -> Collection[int]:
        """The numbers of all matches in flight that are not known to be played."""
        return self._by_number.keys()

    @property
    def load(self) -> Mapping[Slot, int]:
        """Number of batches of each slot; 0 for a slot without one."""
        return self._load

    @property
    def has_ended(self) -> bool:
        """Whether a batch has ended that `wait` has not returned yet."""
        self._hear()
        return bool(self._ended)

    def add(self, future: Future[list[MatchRecord]], slot: Slot, jobs: Sequence[Job]) -> None:
        """Add a batch that was submitted."""
        flight = self._flights[future] = Flight(slot, {job.number: job for job in jobs})
        self._by_number.update(dict.fromkeys(flight.jobs, flight))
        self._load[slot] += 1
        # The callback runs in the thread that ends the future, perhaps within another `put`, which a
        # `SimpleQueue` permits.
        future.add_done_callback(self._news.put)

    def remove(self, future: Future[list[MatchRecord]]) -> Flight:
        """Remove a batch; its remaining jobs are no longer in flight."""
        flight = self._flights.pop(future)
        # The batches of a dead slot are removed together, some before `wait` has returned them.
        self._ended.discard(future)
        for number in flight.jobs:
            del self._by_number[number]
        self._load[flight.slot] -= 1
        if not self._load[flight.slot]:
            del self._load[flight.slot]
        return flight

    def land(self, records: Sequence[MatchRecord]) -> None:
        """Remove played matches from their batches; matches that are not in flight are ignored."""
        for record in records:
            flight = self._by_number.pop(record.number, None)
            if flight is not None:
                del flight.jobs[record.number]

    def wait(self, timeout_s: float) -> set[Future[list[MatchRecord]]]:
        """Wait until a batch has ended; return all that have, or none after the timeout."""
        if not self.has_ended:
            with suppress(Empty):
                self._note(self._news.get(timeout=timeout_s))
            self._hear()
        found, self._ended = self._ended, set()
        return found

    def _hear(self) -> None:
        for future in drain(self._news):
            self._note(future)

    def _note(self, future: Future[list[MatchRecord]]) -> None:
        # A cancelled batch was removed before it ended, and so was one that ended together with its slot.
        if future in self._flights:
            self._ended.add(future)
