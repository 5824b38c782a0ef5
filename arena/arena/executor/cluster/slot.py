"""The process of one slot of a worker machine: plays batches and computes shards, one after the other."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import logging
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from arena.entrants import resolve
from arena.errors import ArenaError
from arena.executor.cluster.contents import fetch_content
from arena.executor.cluster.facts import time_scale
from arena.executor.cluster.key_files import find_place
from arena.executor.cluster.messages import PlayBatch, Spoilt
from arena.executor.cluster.setups import CONNECTED, PLAYED, SlotSetup
from arena.executor.cluster.shard_runner import ShardRunner
from arena.executor.cluster.slot_link import SlotLink
from arena.executor.cores import Core
from arena.executor.job import Job
from arena.executor.parent import end_with_parent
from arena.executor.record import SCALE, note_machine
from arena.executor.worker import SlotCallbacks, make_control, play_batch
from arena_plugins.program import is_file

if TYPE_CHECKING:
    from arena.content.store import Content
    from arena.entrants import Competitor
    from arena.executor.logs import LogPart
    from arena.executor.worker import Began, Control
    from arena_db.records import MatchRecord

_NICE = 10
_MAX_LOGS = 16 << 20
"""Maximum bytes of logs in one message; later logs of these matches are lost."""
_decode_job = msgspec.msgpack.Decoder(Job).decode


class BotLackError(ArenaError):
    """This machine cannot play a bot, for a reason that is not the bot's fault."""


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
        self._bots: dict[tuple[str, str], Competitor] = {}

    def of(self, play: PlayBatch) -> list[Job]:
        """Return the jobs of a batch.

        Raises:
            ArenaError: this machine cannot play them; the message says what it lacks.
        """
        for number, data in play.templates.items():
            self._templates[play.run, number] = _decode_job(data)
        here = {row.template: self._here(self._templates[play.run, row.template]) for row in play.rows}
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
        key = bot.record.identity, bot.label
        if key not in self._bots:
            self._bots[key] = self._installed(bot) if tier == "T0" else self._received(bot)
        return self._bots[key]

    def _installed(self, bot: Competitor) -> Competitor:
        """Return an installed bot that runs in this process (T0), if it is identical to the planned one."""
        (found,) = resolve([bot.spec], margin_ms=0, in_place=True)
        if found.record.identity != bot.record.identity:
            raise BotLackError(f"{bot.label} is another bot here; install the same version on all machines")
        return msgspec.structs.replace(bot, spec=found.spec, entry=found.entry)

    def _received(self, bot: Competitor) -> Competitor:
        """Return a bot that starts from its content, which is fetched if it is not kept here."""
        content = fetch_content(
            bot.content,
            functools.partial(self._link.ask_piece, bot.content),
            spoilt=lambda: self._link.say(Spoilt(bot.content)),
            quota=self._quota,
        )
        if bot.runtime and not is_file(bot.runtime):
            raise BotLackError(f"{bot.label} needs {bot.runtime}, which is not installed there")
        _check_needs(bot, content)
        return msgspec.structs.replace(bot, place=content.folder, state=content.state)


def _check_needs(bot: Competitor, content: Content) -> None:
    """Check that the packages used by a bot have the same versions here as where it was entered.

    Raises:
        BotLackError: a version differs or is missing.
    """
    if bot.folder or bot.runtime:
        return
    for name, version in content.inventory.needs.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = ""
        if found != version and bot.record.distribution != name:
            has = f"{name} {found} is installed" if found else f"{name} is not installed"
            raise BotLackError(f"{bot.label} uses {name} {version}, and {has}; install that version")


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
        self._shards = ShardRunner(self.link, has_gpu=setup.slot.number < len(setup.facts.gpus))
        callbacks = SlotCallbacks(
            setup.slot,
            tell=self._tell_began,
            must_stop=self.link.must_stop,
            must_abort=self.link.must_abort,
            deliver=self._deliver,
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
                if isinstance(work, PlayBatch):
                    is_able = self._play(work, control)
                else:
                    is_able = True
                    self._shards.run(work)
                if is_able and not has_played:
                    has_played = True
                    tell(PLAYED)
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
        ahead = self.link.clock_offset
        logs, self._logs = self._logs, []
        self.link.deliver(
            [dataclasses.replace(record, started_at=record.started_at + ahead) for record in records], logs
        )


def tell(word: str) -> None:
    """Report progress to the supervisor."""
    print(word, flush=True)  # noqa: T201 - read by the supervisor


def main() -> None:
    """Run the slot described by the first line of standard input."""
    setup = msgspec.json.decode(sys.stdin.readline(), type=SlotSetup)
    end_with_parent(setup.parent)
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

    signal.signal(signal.SIGTERM, end_soon)
    player.link.start()
    tell(CONNECTED)
    player.run()
    # A normal exit would wait for the thread of the connection.
    os._exit(0)


if __name__ == "__main__":
    main()
