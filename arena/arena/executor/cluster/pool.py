"""The pool of a run on worker machines: sends batches to chosen slots, and checks the records they return."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from typing_extensions import override

from arena.errors import ArenaError
from arena.executor.channel import drain
from arena.executor.cluster.contents import read_piece
from arena.executor.cluster.messages import (
    Begun,
    ContentPiece,
    JobRow,
    Over,
    PlayBatch,
    ResultPart,
    Streamed,
    ToSlot,
    Want,
    Withdraw,
    decode_records,
    encode,
    shifted,
    shifted_events,
)
from arena.executor.cluster.run_link import ClusterRun
from arena.executor.cluster.sent_work import SentWork
from arena.executor.job import cached_game
from arena.executor.logs import LogPart, match_file, write_part
from arena.executor.prints import file_name
from arena.executor.slots import WorkerLostError, WrongResultError
from arena.executor.streaming import decode_events
from arena.executor.worker import BATCH_S, Began
from arena.games.symmetry import match_hash
from arena_db.records import MatchRecord
from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from arena.executor.cluster.facts import Wanted
    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.cluster.messages import SlotSays
    from arena.executor.cluster.private import PrivateCluster
    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena_db.records import LiveEvent


class _Batch(SentWork):
    """A batch at a slot; `cancel` asks the slot to return it unplayed, if it has not started."""

    def __init__(self, pool: ClusterPool, number: int, slot: Slot, jobs: Sequence[Job]) -> None:
        super().__init__(number, slot)
        self.jobs = jobs
        self.num_played = 0
        self._pool = pool
        self._is_withdrawn = False

    @override
    def cancel(self) -> bool:
        """Ask the slot to return the batch; return False, as it is not known yet whether it started."""
        if not self._is_withdrawn:
            self._is_withdrawn = True
            self._pool.withdraw(self)
        return False

    @override
    def give_back(self) -> None:
        self.set_result([])


class _AcceptedPart(NamedTuple):
    """Accepted results that the coordinator has not yet taken."""

    records: list[MatchRecord]
    logs: list[LogPart]
    size: int
    """Bytes of the message that contained the results."""


class ClusterPool(ClusterRun):
    """Plays on worker machines; their results are only accepted if they are consistent with their jobs."""

    batch_s = BATCH_S

    def __init__(
        self,
        place: SchedulerPlace,
        wanted: Wanted,
        *,
        cluster: PrivateCluster | None = None,
        expected: int = 1,
    ) -> None:
        """Connect in the background; see `ClusterRun` for the arguments."""
        super().__init__(place, wanted, cluster=cluster, expected=expected)
        self._templates: dict[tuple[int, int, bool], tuple[int, Job, bytes]] = {}
        self._sent: dict[Slot, set[int]] = {}
        self._contents: set[str] = set()
        self._suspects: set[int] = set()
        """Numbers of matches that a slot had received and not finished when it ended."""
        self._parts: SimpleQueue[_AcceptedPart] = SimpleQueue()
        self._news: SimpleQueue[Began] = SimpleQueue()
        self._events: SimpleQueue[LiveEvent] = SimpleQueue()
        self._connect()

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Send a batch to a slot; if that is gone, the future fails with `WorkerLostError`."""
        del tick
        with self._lock:
            self._roster.settle()
            # Numbers are never reused, so late messages of a slot about lost work refer to no batch.
            self._num_sent += 1
            batch = _Batch(self, self._num_sent, slot, list(jobs))
            # Atomic for the other thread: a slot that leaves is either missing here, or its loss fails the
            # batch.
            if slot not in self._roster:
                batch.set_exception(WorkerLostError(slot))
                return batch
            self._work[batch.number] = batch
            self._link.send(ToSlot(slot, encode(self._play(batch))))
        return batch

    def withdraw(self, batch: _Batch) -> None:
        """Ask a slot to return a batch unplayed."""
        self._link.send(ToSlot(batch.slot, encode(Withdraw(self._run, batch.number))))

    def results(self) -> list[list[MatchRecord]]:
        """Return the results of running batches, and report to the hub that there is room for more."""
        found: list[list[MatchRecord]] = []
        size = 0
        # Results are reported to the hub as taken only here: if the run is slow, the hub then holds slots
        # back, and results do not pile up in this process.
        for part in drain(self._parts):
            for log in part.logs:
                write_part(log)
            found.append(part.records)
            size += part.size
        self._taken(size)
        return found

    def news(self) -> list[Began]:
        """Return the matches that started since the last call."""
        return drain(self._news)

    def events(self) -> list[LiveEvent]:
        """Return the events of running matches since the last call."""
        return drain(self._events)

    def _play(self, batch: _Batch) -> PlayBatch:
        sent = self._sent.setdefault(batch.slot, set())
        templates: dict[int, bytes] = {}
        rows: list[JobRow] = []
        for job in batch.jobs:
            # A slot keeps what it was sent until it disconnects, after which `_forget` is called.
            number, _, data = self._template(job)
            if number not in sent:
                sent.add(number)
                templates[number] = data
            rows.append(
                JobRow(
                    number,
                    job.number,
                    job.attempt,
                    job.match,
                    job.opening,
                    job.seed_first,
                    job.seed_second,
                    job.stalls_count,
                )
            )
        is_suspect = any(job.number in self._suspects for job in batch.jobs)
        return PlayBatch(self._run, batch.number, templates, tuple(rows), is_suspect)

    def _template(self, job: Job) -> tuple[int, Job, bytes]:
        """Return the encoded fields that a job shares with others of these two bots in this run."""
        key = id(job.first), id(job.second), job.rated
        found = self._templates.get(key)
        if found is None:
            # Removed, because each machine keeps the content in a folder of its own.
            first, second = (
                msgspec.structs.replace(bot, place="", state="") for bot in (job.first, job.second)
            )
            common = msgspec.structs.replace(job, first=first, second=second, opening=())
            self._contents |= {bot.content for bot in (first, second)}
            # Keeping the job alive ensures that no other bot gets the same id().
            found = len(self._templates), job, msgspec.msgpack.encode(common)
            self._templates[key] = found
        return found

    @override
    def _forget(self, slot: Slot | None) -> None:
        if slot is None:
            self._sent.clear()
        else:
            self._sent.pop(slot, None)
        # The slot may have died before it reported the match that killed it, so all its matches are suspects.
        for work in self._work.values():
            if isinstance(work, _Batch) and slot in {None, work.slot}:
                self._suspects |= {job.number for job in work.jobs[work.num_played :]}

    @override
    def _piece(self, want: Want) -> ContentPiece:
        if want.content not in self._contents:
            return ContentPiece(want.content, want.piece, b"", "it belongs to no bot of this run")
        try:
            return ContentPiece(want.content, want.piece, read_piece(want.content, want.piece))
        except (ArenaError, OSError) as error:
            return ContentPiece(want.content, want.piece, b"", str(error))

    @override
    def _said(self, slot: Slot, message: SlotSays, size: int) -> None:
        match message:
            case Streamed():
                events = decode_events(message.data)
                for event in shifted_events(events, message.ahead - self._clock.ahead):
                    self._events.put(event)
            # Without the lock: only this thread removes work, and `submit` adds it in one step.
            case Begun() | ResultPart() | Over():
                batch = self._work.get(message.batch)
                # Messages about batches that were lost or rejected are ignored.
                if isinstance(batch, _Batch) and batch.slot == slot and message.run == self._run:
                    self._hear_of(batch, message, size)
                # The hub has counted these bytes, too, and would hold back other results for them.
                elif isinstance(message, ResultPart):
                    self._taken(size)
            case _:
                pass

    def _hear_of(self, batch: _Batch, said: Begun | ResultPart | Over, size: int) -> None:
        match said:
            case Begun():
                for number in said.numbers:
                    self._news.put(Began(batch.slot, number))
            case ResultPart():
                self._take(batch, said, size)
            case Over():
                self._work.pop(batch.number, None)
                if said.lack:
                    self._lacks(batch.slot, said.lack)
                batch.set_result([])

    def _take(self, batch: _Batch, part: ResultPart, size: int) -> None:
        """Accept results if they belong to the next jobs of their batch."""
        # A slot sends its results in the order of the jobs, each once.
        jobs = batch.jobs[batch.num_played :]
        try:
            records = decode_records(part.records)
        except msgspec.MsgspecError as error:
            records, wrong = list[MatchRecord](), f"results cannot be read: {error}"
        else:
            wrong = "more results than matches" if len(records) > len(jobs) else ""
            for job, record in zip(jobs, records, strict=False):
                wrong = wrong or find_wrong(job, record)
        if wrong:
            self._work.pop(batch.number, None)
            self._taken(size)
            # The rest of the batch is not wanted, and its results would be ignored.
            self.withdraw(batch)
            batch.set_exception(WrongResultError(batch.slot, wrong))
            return
        batch.num_played += len(records)
        # From the clock of the hub, which all slots use, to that of this machine.
        records = shifted(records, -self._clock.ahead)
        # The logs are written with the results, in the thread of the run: a slow disk must not delay
        # messages.
        self._parts.put(_AcceptedPart(records, logs_of(part.logs, batch.jobs), size))


_BY_RULES = frozenset({Termination.RULES})


def find_wrong(job: Job, record: MatchRecord) -> str:
    """Return how a record contradicts its job or the rules; empty if it does not.

    This protects against faulty machines, not against an attacker who holds a key. Bots, opening and seeds
    must be as planned, the actions legal, and the result and the hash must follow from them.

    Args:
        job: the planned match.
        record: the record that was received.
    """
    planned = (
        ("tournament", job.tournament, record.tournament),
        ("number", job.number, record.number),
        ("attempt", job.attempt, record.attempt),
        ("first bot", job.first.record.identity, record.first),
        ("second bot", job.second.record.identity, record.second),
        ("seed", (job.seed_first, job.seed_second), (record.seed_first, record.seed_second)),
        ("opening", job.opening, tuple(record.actions[: record.num_opening])),
        ("tier", job.tier, record.tier),
    )
    for what, wanted, found in planned:
        if wanted != found:
            return f"the {what} of match {job.number} is {found}, not {wanted}"
    # The reverse is no contradiction: some endings are not rated.
    if record.rated and not job.rated:
        return f"match {job.number} is rated, which it was not planned to be"
    num = len(record.actions)
    if len(record.times_ms) != num or len(record.values) != num:
        return f"match {job.number} has {num} actions and {len(record.times_ms)} times"
    return _find_illegal(job, record)


def logs_of(parts: Sequence[LogPart], jobs: Sequence[Job]) -> list[LogPart]:
    """Return the logs for files of these jobs and their bots; a slot may name no other file."""
    if not parts:
        return []
    files = {
        (job.tournament_name, name)
        for job in jobs
        for name in (
            match_file(job.number, job.attempt),
            file_name(job.first.label),
            file_name(job.second.label),
        )
    }
    return [part for part in parts if (part.tournament, part.name) in files]


def _find_illegal(job: Job, record: MatchRecord) -> str:
    game = cached_game(job.game)
    state = game.initial_state()
    for ply, action in enumerate(record.actions):
        if action not in state.legal_actions:
            return f"action {action} at ply {ply} of match {job.number} is illegal"
        state = state.child(action)
    try:
        outcome, termination = Outcome(record.outcome), Termination(record.termination)
    except ValueError:
        return f"match {job.number} ended {record.outcome} by {record.termination}, which is no valid result"
    # Any other ending (time, a crash) is what the referee of that machine saw, which nothing here can check.
    if termination in _BY_RULES:
        if not state.is_terminal:
            return f"match {job.number} ended by the rules, but its last position is not final"
        first = state.returns[0]
        by_rules = Outcome.DRAW if not first else Outcome.FIRST if first > 0 else Outcome.SECOND
        if outcome is not by_rules:
            return f"match {job.number} ended {outcome.value}, but by the rules it is {by_rules.value}"
    try:
        right = match_hash(game, record.actions)
    except ArenaError as error:
        return f"match {job.number}: {error}"
    return "" if right == record.match_hash else f"the hash of match {job.number} is not that of its actions"
