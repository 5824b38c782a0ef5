"""Sends the shards of a training to slots, and again when slots die, fail or return wrong results."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future, InvalidStateError
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.coordinator.recovery import ASIDE_S, MAX_LOSSES, Recovery
from arena.errors import ArenaError
from arena.executor.slots import (
    HERE,
    PoolLostError,
    ShardFailedError,
    UnplayedError,
    WorkerLostError,
    WrongResultError,
)
from arena.executor.worker import Began
from arena.executor.workspace import workspace
from arena.training.stopping import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from arena.executor.shard_pools import ShardPool
    from arena.executor.shards import ShardCall
    from arena.executor.slots import Slot

_TICK_S: Final = 0.1
"""Seconds between two checks for new slots and notes."""
_FORGET: Final = 50
"""A slot that computed nothing for this many times its own time is tried again: its machine may have been
busy. That makes one step longer, by its time at most, so it costs 2 %."""
_OVERDUE: Final = 2.0
"""A slot that takes more than this multiple of its time is not counted on: it may be stopped, or about to be
lost."""
_JUMP: Final = 3.0
"""Multiple of the time before beyond which a time of a slot counts only if the next one is as long."""
_IDLE_S: Final = 3.0
"""Seconds without a slot after which a training that is to stop does so before its step is over."""


class _Shard(NamedTuple):
    """A shard that was requested."""

    number: int
    call: ShardCall
    check: Callable[[bytes], str]
    future: Future[bytes]


class _Flight(NamedTuple):
    """A shard at a slot."""

    shard: _Shard
    slot: Slot


class Dispatcher:
    """A thread that owns a pool, because worker processes end with the thread that started them."""

    def __init__(
        self,
        open_pool: Callable[[str, Path], ShardPool],
        *,
        say: Callable[[str], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        """Start nothing yet.

        Args:
            open_pool: returns the pool, given the device of all shards and a folder for temporary
                files.
            say: receives sentences for the user.
            is_stopping: whether the training is to stop.
        """
        self._open_pool = open_pool
        self._say = say
        self._is_stopping = is_stopping
        self._changed = threading.Condition()
        self._asked: deque[_Shard] = deque()
        self._orders: deque[str] = deque()
        self._is_closing = False
        self._num_shards = 0
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="shards", daemon=True)

    def submit(self, call: ShardCall, check: Callable[[bytes], str]) -> Future[bytes]:
        """Queue a shard; return the future of its result.

        Args:
            call: the shard.
            check: returns what is wrong with its result, or an empty string.
        """
        future: Future[bytes] = Future()
        with self._changed:
            if self._failure is not None:
                future.set_exception(self._failure)
                return future
            self._num_shards += 1
            self._asked.append(_Shard(self._num_shards, call, check, future))
            if not self._thread.is_alive():
                self._thread.start()
            self._changed.notify_all()
        return future

    def order(self, order: str) -> None:
        """Send an order to the slots: `stop` (start none), `go` (start again), `abort` (end running ones)."""
        with self._changed:
            self._orders.append(order)
            self._changed.notify_all()

    def close(self) -> None:
        """End the slots or disconnect from them; shards that are not done fail with `Stopped`."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        # The thread starts with the first shard, and one that never started cannot be joined.
        if self._num_shards:
            self._thread.join()

    def _serve(self) -> None:
        work = _Work(self._say)
        # Without the lock: only this thread removes shards, and it was started after the first was added.
        device = self._asked[0].call.task.device
        try:
            with ExitStack() as stack:
                pool = self._open_pool(device, stack.enter_context(workspace()))
                stack.callback(pool.close)
                while self._take(work, pool):
                    work.look(pool, wake=self._wake)
                    if self._is_stopping() and work.idle_s > _IDLE_S:
                        raise Stopped  # noqa: TRY301 - as if a step had noticed it
                raise Stopped  # noqa: TRY301 - closed
        except BaseException as error:  # noqa: BLE001 - who waits for a shard must hear of any end
            with self._changed:
                self._failure = error
                # Under the lock with which the failure is stored: `submit` refuses later shards, so none is
                # left waiting.
                left = [*work.shards(), *self._asked]
                self._asked.clear()
            for shard in left:
                _fail(shard, error)

    def _take(self, work: _Work, pool: ShardPool) -> bool:
        """Wait for something to do; hand over new shards and orders; return False at the end."""
        with self._changed:
            if not (self._asked or self._orders or self._is_closing):
                # New slots and notes matter only while shards are under way.
                self._changed.wait(_TICK_S if work.shards() else None)
            work.waiting.extend(self._asked)
            self._asked.clear()
            orders = list(self._orders)
            self._orders.clear()
        # Also at the end: `abort` followed by `close` must still reach the slots. Outside the lock, because
        # the pool may take long.
        for order in orders:
            {"stop": pool.stop, "go": pool.go, "abort": pool.abort}[order]()
        return not self._is_closing

    def _wake(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()


class _Pace(NamedTuple):
    """The time of a slot."""

    seconds: float
    measured_at: float


class Paces:
    """The seconds that each slot took for its last shard.

    The first shard of a slot is not measured, because kernels are compiled and networks are loaded in it.
    Neither is a single one that took much longer than the one before: it may have waited for work of another
    run, or while this process was suspended.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Know no slot yet; `clock` returns seconds."""
        self._clock = clock
        self._began: dict[Slot, float] = {}
        """When each busy slot began its shard."""
        self._last: dict[Slot, float] = {}
        """Seconds of each slot's last shard."""
        self._paces: dict[Slot, _Pace] = {}

    def began(self, slot: Slot) -> None:
        """Record that a slot was sent a shard."""
        self._began[slot] = self._clock()

    def ended(self, slot: Slot, *, is_done: bool) -> None:
        """Record that a slot is free again; `is_done` if it returned a right result."""
        now = self._clock()
        seconds = now - self._began.pop(slot)
        if not is_done:
            return
        before = self._last.get(slot)
        if before is not None:
            self._paces[slot] = _Pace(before if seconds > _JUMP * before else seconds, now)
        self._last[slot] = seconds

    def leaves(self, slot: Slot, slots: Iterable[Slot], num_waiting: int) -> bool:
        """Return whether a free slot should leave the waiting shards to faster slots.

        It should if these finish all of them before it would finish one. The fastest slot leaves none, so a
        shard never waits for nobody.

        Args:
            slot: the free slot.
            slots: all slots that may be sent a shard.
            num_waiting: the number of shards that no slot has, at least 1.
        """
        own, now = self._paces.get(slot), self._clock()
        if own is None or now - own.measured_at > _FORGET * own.seconds:
            return False
        can_finish = 0
        for other in slots:
            # Even a time measured long ago: a fast slot is idle for most of a step with slow ones.
            seconds = self._paces.get(other, own).seconds
            if seconds < own.seconds:
                elapsed = now - self._began.get(other, now - seconds)
                if elapsed <= _OVERDUE * seconds:
                    can_finish += int((own.seconds - max(0.0, seconds - elapsed)) / seconds)
        return can_finish >= num_waiting


class _Work:
    """The shards that are not done."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.waiting: deque[_Shard] = deque()
        self._flying: dict[Future[bytes], _Flight] = {}
        self._recovery = Recovery(what="shard")
        self._paces = Paces()
        self._say = say
        self._had_slots_at = time.monotonic()

    @property
    def idle_s(self) -> float:
        """Seconds for which shards have waited without any slot."""
        return time.monotonic() - self._had_slots_at

    def shards(self) -> list[_Shard]:
        """Return the shards that are not done."""
        return [*self.waiting, *(flight.shard for flight in self._flying.values())]

    def look(self, pool: ShardPool, wake: Callable[[object], None]) -> None:
        """Collect results, and send each free slot a shard; `wake` is called when a shard is done."""
        for future in [future for future in self._flying if future.done()]:
            self._land(pool, future)
        for note in pool.notes():
            self._say(note)
        pool.grow(len(self.shards()))
        slots = self._recovery.usable(pool.slots())
        if slots or not self.waiting:
            self._had_slots_at = time.monotonic()
        busy = {flight.slot for flight in self._flying.values()}
        for slot in slots:
            shard = None if slot in busy else self._next(slot, slots)
            if shard is not None:
                self._recovery.began(Began(slot, shard.number))
                self._paces.began(slot)
                future = pool.submit(shard.call, slot)
                self._flying[future] = _Flight(shard, slot)
                future.add_done_callback(wake)

    def _next(self, slot: Slot, slots: Sequence[Slot]) -> _Shard | None:
        """Return the first shard that a slot of `slots` should compute; None if it should wait."""
        leaves = bool(self.waiting) and self._paces.leaves(slot, slots, len(self.waiting))
        for shard in list(self.waiting):
            if shard.future.cancelled():
                self.waiting.remove(shard)
            elif leaves and not self._recovery.was_lost(shard.number):
                continue
            # If a shard failed only here, its last try is elsewhere, to find out whether shard or machine is
            # to blame.
            elif not self._recovery.avoids(shard.number, slot.machine):
                self.waiting.remove(shard)
                return shard
        return None

    def _land(self, pool: ShardPool, future: Future[bytes]) -> None:
        shard, slot = self._flying.pop(future)
        try:
            self._settle(pool, shard, slot, future)
        except BaseException as error:
            # The check is code of the trainer. No list holds this shard now, and its future must not hang.
            _fail(shard, error)
            raise

    def _settle(self, pool: ShardPool, shard: _Shard, slot: Slot, future: Future[bytes]) -> None:
        """Handle the end of a shard; without a valid result, queue it again or let its future fail."""
        error = future.exception()
        wrong = shard.check(future.result()) if error is None else ""
        self._paces.ended(slot, is_done=error is None and not wrong)
        if error is None and not wrong:
            with suppress(InvalidStateError):
                shard.future.set_result(future.result())
            return
        # No slot computed the shard, so none is to blame, and the shard keeps its place.
        if isinstance(error, UnplayedError | PoolLostError):
            self.waiting.appendleft(shard)
            return
        if isinstance(error, WorkerLostError):
            why = "its slot died"
            pool.rebuild()
        elif isinstance(error, ShardFailedError):
            why = str(error)
        elif isinstance(error, WrongResultError) or error is None:
            why = f"its result is wrong: {wrong or error}"
            if slot.machine != HERE:
                self._recovery.was_wrong(slot.machine)
                self._put_aside(pool, slot, f"it sent wrong results: {wrong or error}")
        else:
            raise error
        self._again(pool, shard, slot, why)

    def _again(self, pool: ShardPool, shard: _Shard, slot: Slot, why: str) -> None:
        label = shard.call.task.label
        self._recovery.lost(slot, [shard.number])
        aside = self._recovery.find_aside(slot.machine)
        if aside is not None:
            self._put_aside(pool, slot, aside.why)
        if self._recovery.is_guilty(shard.number):
            _fail(shard, ArenaError(f"{label} failed {MAX_LOSSES} times, at last because {why}"))
            return
        self._say(f"{label} is computed again: {why}")
        # At the end, so that a shard that kills its slots does not hold up the others.
        self.waiting.append(shard)

    def _put_aside(self, pool: ShardPool, slot: Slot, why: str) -> None:
        name = pool.put_aside(slot.machine, why)
        self._say(f"nothing is computed on {name} for {ASIDE_S / 60:.0f} min: {why}")


def _fail(shard: _Shard, error: BaseException) -> None:
    with suppress(InvalidStateError):
        shard.future.set_exception(error)
