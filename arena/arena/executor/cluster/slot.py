"""The process of one slot of a worker machine: plays batches and computes shards, one after the other."""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from arena.content.store import content_folder
from arena.entrants import resolve
from arena.errors import ArenaError, PluginError
from arena.executor.cluster.contents import BotLackError, SpoiltError, check_needs, fetch_content
from arena.executor.cluster.facts import time_scale
from arena.executor.cluster.key_files import find_place
from arena.executor.cluster.messages import PIECE, PlayBatch, Spoilt, shifted
from arena.executor.cluster.setups import BUSY, CONNECTED, END, FREE, PLAYED, SlotSetup
from arena.executor.cluster.slot_link import SlotLink
from arena.executor.cores import Core
from arena.executor.job import Job
from arena.executor.parent import end_with_parent
from arena.executor.record import SCALE, note_machine
from arena.executor.shards import ShardCall, blob_hash, call_shard
from arena.executor.worker import SlotCallbacks, make_control, play_batch
from arena_plugins.program import is_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from arena.entrants import Competitor
    from arena.executor.cluster.messages import RunShard
    from arena.executor.logs import LogPart
    from arena.executor.worker import Began, Control
    from arena_db.records import MatchRecord

_NICE = 10
"""Niceness of a slot, as for local workers: people who use the machine have priority."""
_MAX_LOGS = 16 << 20
"""Maximum bytes of logs in one message; later logs are lost."""
_decode_job = msgspec.msgpack.Decoder(Job).decode


class Jobs:
    """Builds the jobs of batches from messages; their bots start from files of this machine."""

    def __init__(self, link: SlotLink, quota: int, scale: float | None) -> None:
        """Start without templates.

        Args:
            link: connection to the hub.
            quota: bytes of contents that this machine keeps.
            scale: factor for the seconds of bots if a run scales times; None if this machine cannot.
        """
        self._link = link
        self._quota = quota
        self._scale = scale
        self._templates: dict[tuple[str, int], Job] = {}
        self._bots: dict[tuple[str, bool], Competitor] = {}
        """Bots by identity, and whether they run in this process."""

    def of(self, play: PlayBatch) -> list[Job]:
        """Return the jobs of a batch.

        Raises:
            ArenaError: this machine cannot play them; the message says what it lacks.
        """
        if play.templates:
            # The hub aborts each run at its end. A worker machine may live for weeks, and a large round robin
            # has tens of MB of templates.
            self._templates = {
                key: job for key, job in self._templates.items() if not self._link.was_aborted(key[0])
            }
        for number, data in play.templates.items():
            self._templates[play.run, number] = _decode_job(data)
        used = {row.template for row in play.rows}
        here = {number: self._here(self._templates[play.run, number]) for number in used}
        return [
            msgspec.structs.replace(
                here[row.template],
                number=row.number,
                attempt=row.attempt,
                match=row.match,
                opening=row.opening,
                seed_first=row.seed_first,
                seed_second=row.seed_second,
                stalls_count=row.stalls_count,
            )
            for row in play.rows
        ]

    def _here(self, job: Job) -> Job:
        bots = [self._bot_here(bot, job.tier) for bot in (job.first, job.second)]
        here = msgspec.structs.replace(job, first=bots[0], second=bots[1])
        if not job.scales_time:
            return here
        if self._scale is None:
            raise BotLackError("its speed allows no scaled times")
        return here.scaled(self._scale)

    def _bot_here(self, bot: Competitor, tier: str) -> Competitor:
        """Return a bot as this machine starts it; only the fields that depend on the machine are cached."""
        key = bot.record.identity, tier == "T0"
        kept = self._bots.get(key)
        if kept is None or (kept.place and not Path(kept.place).is_dir()):
            # Not cached yet, or its content was removed since to make room for others.
            kept = self._bots[key] = self._installed(bot) if tier == "T0" else self._received(bot)
        return msgspec.structs.replace(
            bot, spec=kept.spec, entry=kept.entry, place=kept.place, state=kept.state
        )

    def _installed(self, bot: Competitor) -> Competitor:
        """Return an installed bot that runs in this process (T0), if it is identical to the planned one."""
        (found,) = resolve([bot.spec], margin_ms=0, in_place=True)
        if found.record.identity != bot.record.identity:
            raise BotLackError(f"{bot.label} is another bot here; install the same version on all machines")
        return msgspec.structs.replace(bot, spec=found.spec, entry=found.entry)

    def _received(self, bot: Competitor) -> Competitor:
        """Return a bot that starts from its content, which is fetched if it is not kept here."""
        try:
            content = fetch_content(
                bot.content,
                functools.partial(self._link.ask_piece, bot.content),
                spoilt=lambda: self._link.say(Spoilt(bot.content)),
                quota=self._quota,
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise BotLackError(f"cannot keep bots in {content_folder()}: {why}; make room there") from error
        if bot.runtime and not is_file(bot.runtime):
            raise BotLackError(f"{bot.label} needs {bot.runtime}, which is not installed there")
        check_needs(bot, content)
        return msgspec.structs.replace(bot, place=content.folder, state=content.state)


class SlotPlayer:
    """Plays the batches that are sent to a slot."""

    def __init__(self, setup: SlotSetup) -> None:
        """Prepare to connect.

        Raises:
            ConfigError: the key cannot be used.
        """
        place = find_place(setup.address, Path(setup.keys) if setup.keys else None)
        self.link = SlotLink(setup.slot, place, setup.facts, Path(setup.folder))
        self._jobs = Jobs(self.link, setup.quota, time_scale(setup.facts.speed))
        self._logs: list[LogPart] = []
        self._shards = _ShardRunner(self.link, has_gpu=setup.slot.number < len(setup.facts.gpus))
        callbacks = SlotCallbacks(
            setup.slot,
            tell=self._tell_began,
            must_stop=self.link.must_stop,
            must_abort=self.link.must_abort,
            deliver=self._deliver,
            # Whatever ends this process later, what is over is not played again.
            must_deliver=lambda: self.link.reports_each,
            publish=self.link.publish,
            keep=self._keep,
        )
        self._core = Core(programs_roam=setup.programs_roam)
        self._callbacks = callbacks

    def run(self) -> None:
        """Play batches and compute shards until the slot is to end."""
        control, has_played = make_control(self._callbacks, self._core), False
        try:
            while (work := self.link.next_work()) is not None:
                tell(BUSY)
                if isinstance(work, PlayBatch):
                    is_able = self._play(work, control)
                else:
                    is_able = True
                    self._shards.run(work)
                if is_able and not has_played:
                    # From now on deaths of this slot do not end the supervisor: the machine can play.
                    has_played = True
                    tell(PLAYED)
                tell(FREE)
        finally:
            control.close()
        self.link.leave()

    def _play(self, play: PlayBatch, control: Control) -> bool:
        """Play a batch; return whether this machine can."""
        lack = ""
        try:
            jobs = self._jobs.of(play)
        except (ArenaError, OSError) as error:
            lack = str(error)
        else:
            # The results not delivered during play; the end of the batch is reported after its last result.
            self._deliver(play_batch(jobs, control))
        # An error during a stop says nothing about this machine.
        self.link.finish("" if self.link.must_stop() else lack)
        return not lack

    def _tell_began(self, began: Began) -> None:
        self.link.tell_began(began.number)

    def _keep(self, part: LogPart) -> None:
        """Send a log with the result of its match, unless one message cannot hold it."""
        if sum(len(each.data) for each in self._logs) + len(part.data) <= _MAX_LOGS:
            self._logs.append(part)

    def _deliver(self, records: list[MatchRecord]) -> None:
        """Send results, with times converted to the clock of the hub."""
        logs, self._logs = self._logs, []
        self.link.deliver(shifted(records, self.link.clock.ahead), logs)


def tell(word: str) -> None:
    """Report progress to the supervisor."""
    print(word, flush=True)  # noqa: T201 - read by the supervisor


def _own_input() -> TextIO:
    """Return standard input, of which programs that this process starts can then read nothing."""
    own = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    return own


def _read_orders(orders: TextIO, end_soon: Callable[[], None]) -> None:
    for line in orders:
        if line.strip() == END:
            end_soon()


def main() -> None:
    """Run the slot described by the first line of standard input; the next line ends it."""
    orders = _own_input()
    setup = msgspec.json.decode(orders.readline(), type=SlotSetup)
    # First of all, so that this process ends if the supervisor is killed from now on.
    end_with_parent(setup.parent)
    # A terminal sends Ctrl-C to all processes of the group; only the supervisor acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if sys.platform != "win32":
        os.nice(_NICE)
    tempfile.tempdir = setup.folder
    facts = setup.facts
    note_machine(
        {
            "id": setup.slot.machine,
            "name": facts.name,
            "cpu": facts.cpu,
            "cores": facts.cores,
            "speed": facts.speed,
            SCALE: time_scale(facts.speed),
        }
    )
    player = SlotPlayer(setup)

    def end_soon(*_: object) -> None:
        player.link.end_soon()

    # Before the link starts: a slot that waits for its scheduler must be able to end, too. A service manager
    # may send the signal to all processes of a worker; the supervisor writes a line.
    signal.signal(signal.SIGTERM, end_soon)
    threading.Thread(target=_read_orders, args=(orders, player.link.end_soon), daemon=True).start()
    player.link.start()
    tell(CONNECTED)
    player.run()
    # A normal exit would wait for the thread of the connection.
    os._exit(0)


_MAX_KEPT: Final = 256 << 20
"""Bytes of blobs that a slot keeps in memory; the least recently used ones are dropped first."""
_TRIES: Final = 2
"""Number of attempts to fetch a blob; the second one bypasses the hub's cache."""
_LINE: Final = 500
"""Maximum characters of an exception that are sent; its traceback stays in the output of the slot."""


class _ShardRunner:
    """Computes the shards of a slot, one after the other."""

    def __init__(self, link: SlotLink, *, has_gpu: bool) -> None:
        """Start without blobs.

        Args:
            link: the connection of the slot.
            has_gpu: whether the slot has a GPU of its own.
        """
        self._link = link
        self._has_gpu = has_gpu
        self._blobs: OrderedDict[str, bytes] = OrderedDict()

    def run(self, shard: RunShard) -> None:
        """Compute a shard and send its result, or why there is none; return it uncomputed after a stop."""
        link, task = self._link, shard.task
        if link.must_stop():
            link.finish_shard()
            return
        if task.device == "any" and not self._has_gpu:
            task = msgspec.structs.replace(task, device="cpu")
        link.tell_began()
        try:
            blobs = tuple(self._blob(*each) for each in task.blobs)
            result = call_shard(ShardCall(task, blobs))
        except (PluginError, ModuleNotFoundError) as error:
            # Another machine may have the trainer, so the machine is reported instead of the shard as failed.
            link.finish_shard(lack=_line(error))
        except ArenaError as error:
            # A blob did not arrive; after a stop, that says nothing about this machine.
            link.finish_shard(failure="" if link.must_stop() else _line(error))
        except Exception as error:  # noqa: BLE001 - the coordinator decides what follows from any exception
            traceback.print_exc()
            link.finish_shard(failure=_line(error))
        else:
            link.deliver_shard(result)
            link.finish_shard(sha256=blob_hash(result))

    def _blob(self, sha256: str, size: int) -> bytes:
        """Return a blob; fetch it if it is not kept.

        Raises:
            ArenaError: it does not arrive, or is damaged in transit twice.
        """
        if sha256 in self._blobs:
            self._blobs.move_to_end(sha256)
            return self._blobs[sha256]
        for _ in range(_TRIES):
            pieces = range(-(-size // PIECE))
            data = b"".join(self._link.ask_piece(sha256, piece) for piece in pieces)
            if blob_hash(data) == sha256:
                self._keep(sha256, data)
                return data
            self._link.say(Spoilt(sha256))
        raise SpoiltError(f"blob {sha256[:8]} was damaged in transit")

    def _keep(self, sha256: str, data: bytes) -> None:
        self._blobs[sha256] = data
        # The newest one stays, whatever its size: it is about to be used.
        while len(self._blobs) > 1 and sum(map(len, self._blobs.values())) > _MAX_KEPT:
            self._blobs.popitem(last=False)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_LINE] if not isinstance(error, ArenaError) else str(error)


if __name__ == "__main__":
    main()
