"""The pool of a run on worker machines: sends batches to chosen slots, and checks their results."""

from __future__ import annotations

import dataclasses
import secrets
import threading
import time
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from arena.errors import ArenaError
from arena.executor.channel import drain
from arena.executor.cluster.checking import find_wrong, logs_of
from arena.executor.cluster.contents import read_piece
from arena.executor.cluster.link import CoordinatorLink
from arena.executor.cluster.messages import (
    Begun,
    ContentPiece,
    FromSlot,
    JobRow,
    JoinRun,
    MachineRemark,
    Over,
    PlayBatch,
    ResultPart,
    RunOrder,
    SlotJoined,
    SlotLeft,
    Streamed,
    Taken,
    ToSlot,
    Want,
    Withdraw,
    decode_records,
    encode,
    of_slot,
)
from arena.executor.cluster.roster import Roster
from arena.executor.logs import LogPart, write_part
from arena.executor.slots import PoolLostError, WorkerLostError, WrongResultError
from arena.executor.streaming import decode_events
from arena.executor.worker import BATCH_S, Began
from arena_db.records import MatchRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.executor.cluster.facts import Wanted
    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.cluster.messages import HubTellsCoordinator
    from arena.executor.cluster.private import PrivateCluster
    from arena.executor.cluster.roster import RefusedMachine
    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena_db.records import LiveEvent

GONE_S: Final = 600.0
"""Seconds without a scheduler after which the run stops."""
_CLOCK_S: Final = 0.05
"""Seconds; smaller differences between clocks are not corrected."""


class _Batch(Future[list[MatchRecord]]):
    """A batch at a slot; `cancel` asks the slot to return it unplayed, if it has not started."""

    def __init__(self, pool: ClusterPool, number: int, slot: Slot, jobs: Sequence[Job]) -> None:
        super().__init__()
        self.number, self.slot, self.jobs = number, slot, jobs
        self.num_played = 0
        self._pool = pool
        self._is_withdrawn = False

    def cancel(self) -> bool:
        """Ask the slot to return the batch; return False, as it is not known yet whether it started."""
        if not self._is_withdrawn:
            self._is_withdrawn = True
            self._pool.withdraw(self)
        return False


class _Part(NamedTuple):
    """Accepted results that the coordinator has not yet taken."""

    records: list[MatchRecord]
    logs: list[LogPart]
    size: int
    """Bytes of the message that brought them."""


class ClusterPool:
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
        """Connect in the background.

        Args:
            place: where the scheduler is.
            wanted: requirements of the run on machines.
            cluster: processes that serve this run only and end with this pool.
            expected: minimum number of slots that will join.
        """
        self._cluster = cluster
        self._expected = expected
        self._where = place.address
        self._run = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._roster = Roster(wanted)
        self._batches: dict[int, _Batch] = {}
        self._num_batches = 0
        self._templates: dict[tuple[int, int, bool], tuple[int, Job, bytes]] = {}
        self._sent: dict[Slot, set[int]] = {}
        self._contents: set[str] = set()
        self._order = ""
        self._gone_since: float | None = time.monotonic()
        self._ahead = 0.0
        self._parts: SimpleQueue[_Part] = SimpleQueue()
        self._news: SimpleQueue[Began] = SimpleQueue()
        self._events: SimpleQueue[LiveEvent] = SimpleQueue()
        self._notes: SimpleQueue[str] = SimpleQueue()
        self._link = CoordinatorLink(place, hear=self._hear, up=self._up, down=self._down)

    @property
    def num_workers(self) -> int:
        """Number of slots that can play now, or are expected."""
        return max(self._expected, len(self._roster.eligible))

    def slots(self) -> list[Slot]:
        """Return the slots that can play now.

        Raises:
            ArenaError: the scheduler has been gone for ten minutes, or the processes of this run have ended.
        """
        death = "" if self._cluster is None else self._cluster.find_death()
        if death:
            raise ArenaError(f"{death}; arena resume continues the run")
        gone = self._gone_since
        if gone is not None and time.monotonic() - gone > GONE_S:
            raise ArenaError(
                f"the scheduler at {self._where} has been gone for {GONE_S / 60:.0f} min; start it again "
                "with arena cluster start, then continue with arena resume"
            )
        with self._lock:
            return list(self._roster.eligible)

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Send a batch to a slot; if that is gone, the future fails with `WorkerLostError`."""
        del tick
        with self._lock:
            self._roster.settle()
            self._num_batches += 1
            batch = _Batch(self, self._num_batches, slot, list(jobs))
            if slot not in self._roster:
                batch.set_exception(WorkerLostError(slot))
                return batch
            self._batches[batch.number] = batch
            self._link.send(ToSlot(slot, encode(self._play(batch))))
        return batch

    def withdraw(self, batch: _Batch) -> None:
        """Ask a slot to return a batch unplayed."""
        self._link.send(ToSlot(batch.slot, encode(Withdraw(self._run, batch.number))))

    def results(self) -> list[list[MatchRecord]]:
        """Return the results of running batches, and report to the hub that there is room for more."""
        found: list[list[MatchRecord]] = []
        size = 0
        for part in drain(self._parts):
            for log in part.logs:
                write_part(log)
            found.append(part.records)
            size += part.size
        if size:
            self._link.send(Taken(self._run, size))
        return found

    def news(self) -> list[Began]:
        """Return the matches that started since the last call."""
        return drain(self._news)

    def events(self) -> list[LiveEvent]:
        """Return the events of running matches since the last call."""
        return drain(self._events)

    def notes(self) -> list[str]:
        """Return the notes on machines since the last call."""
        found = drain(self._notes)
        with self._lock:
            news = self._roster.news() if self._gone_since is None else ""
        return [*found, news] if news else found

    def stop(self) -> None:
        """Start no further match of any batch."""
        self._ask("stop")

    def go(self) -> None:
        """Start matches again."""
        self._ask("go")

    def abort(self) -> None:
        """End all running matches; slots that cannot do so within a second kill themselves."""
        self._ask("abort")

    def rebuild(self) -> None:
        """Do nothing: each machine restarts its own slots."""

    def put_aside(self, machine: str, why: str) -> str:
        """Report to `arena cluster status` that a machine is put aside; return its display name."""
        self._link.send(MachineRemark(machine, why, is_aside=True))
        with self._lock:
            return self._roster.name_of(machine)

    def close(self) -> None:
        """Disconnect; the slots serve other runs, or end if the cluster is private."""
        self._link.close()
        if self._cluster is not None:
            self._cluster.close()

    def _ask(self, order: str) -> None:
        self._order = order
        self._link.send(RunOrder(self._run, order))

    def _play(self, batch: _Batch) -> PlayBatch:
        sent = self._sent.setdefault(batch.slot, set())
        templates: dict[int, bytes] = {}
        rows: list[JobRow] = []
        for job in batch.jobs:
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
        return PlayBatch(self._run, batch.number, templates, tuple(rows))

    def _template(self, job: Job) -> tuple[int, Job, bytes]:
        """Return the encoded fields that a job shares with others of these two bots in this run."""
        key = id(job.first), id(job.second), job.rated
        found = self._templates.get(key)
        if found is None:
            # The folder of a content differs by machine.
            first, second = (
                msgspec.structs.replace(bot, place="", state="") for bot in (job.first, job.second)
            )
            common = msgspec.structs.replace(job, first=first, second=second, opening=())
            self._contents |= {bot.content for bot in (first, second)}
            # Keeping the job alive ensures that no other bot gets the same id().
            found = len(self._templates), job, msgspec.msgpack.encode(common)
            self._templates[key] = found
        return found

    def _up(self) -> None:
        if self._gone_since is not None and self._num_batches:
            self._notes.put(f"the scheduler at {self._where} is back")
        self._gone_since = None
        self._link.send(JoinRun(self._run))
        if self._order:
            self._link.send(RunOrder(self._run, self._order))

    def _down(self) -> None:
        """Fail all batches, since their results can no longer arrive."""
        self._gone_since = time.monotonic()
        self._notes.put(
            f"the scheduler at {self._where} is gone; the run waits {GONE_S / 60:.0f} min for it, and "
            "matches in progress are played again"
        )
        with self._lock:
            self._roster.clear()
            self._sent.clear()
            lost = list(self._batches.values())
            self._batches.clear()
        for batch in lost:
            batch.set_exception(PoolLostError(f"the scheduler at {self._where} is gone"))

    def _hear(self, message: HubTellsCoordinator) -> None:
        match message:
            case FromSlot():
                self._hear_slot(message)
            case SlotJoined():
                self._ahead = message.now - time.time()
                with self._lock:
                    changed = self._roster.add(message.slot, message.facts)
                self._remark(changed)
            case SlotLeft():
                self._left(message)
            case Want():
                self._link.in_background(lambda: self._piece(message))
            case _:
                pass

    def _left(self, left: SlotLeft) -> None:
        with self._lock:
            changed = self._roster.remove(left.slot)
            self._sent.pop(left.slot, None)
            gone = [batch for batch in self._batches.values() if batch.slot == left.slot]
            for batch in gone:
                del self._batches[batch.number]
        for batch in gone:
            if left.is_lost:
                batch.set_exception(WorkerLostError(left.slot))
            else:
                batch.set_result([])
        self._remark(changed)

    def _remark(self, changed: Sequence[RefusedMachine]) -> None:
        for machine, why in changed:
            self._link.send(MachineRemark(machine, why, is_aside=False))

    def _piece(self, want: Want) -> ContentPiece:
        if want.content not in self._contents:
            return ContentPiece(want.content, want.piece, b"", "it belongs to no bot of this run")
        try:
            return ContentPiece(want.content, want.piece, read_piece(want.content, want.piece))
        except (ArenaError, OSError) as error:
            return ContentPiece(want.content, want.piece, b"", str(error))

    def _hear_slot(self, message: FromSlot) -> None:
        try:
            said = of_slot(message.data)
        except msgspec.MsgspecError:
            return
        match said:
            case Streamed():
                for event in decode_events(said.data):
                    self._events.put(event)
            case Begun() | ResultPart() | Over():
                batch = self._batches.get(said.batch)
                # Messages about batches that were lost or rejected are ignored.
                if batch is not None and batch.slot == message.slot and said.run == self._run:
                    self._hear_of(batch, said, len(message.data))
                elif isinstance(said, ResultPart):
                    self._link.send(Taken(self._run, len(message.data)))
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
                self._batches.pop(batch.number, None)
                if said.lack:
                    with self._lock:
                        changed = self._roster.lacks_bot(batch.slot.machine, said.lack)
                    self._remark(changed)
                batch.set_result([])

    def _take(self, batch: _Batch, part: ResultPart, size: int) -> None:
        """Accept results if they belong to the next jobs of their batch."""
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
            self._batches.pop(batch.number, None)
            self._link.send(Taken(self._run, size))
            self.withdraw(batch)
            batch.set_exception(WrongResultError(batch.slot, wrong))
            return
        batch.num_played += len(records)
        if abs(self._ahead) > _CLOCK_S:
            records = [
                dataclasses.replace(record, started_at=record.started_at - self._ahead) for record in records
            ]
        self._parts.put(_Part(records, logs_of(part.logs, batch.jobs), size))
