"""The context of a run, which implements the trainer's contract."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, Protocol

from arena.errors import ArenaError, ConfigError
from arena.executor.shards import MAX_SHARD, ShardCall, ShardTask, blob_hash, call_shard
from arena.live.run_views import PAUSED
from arena.pairing.sampling import draw_number
from arena.training import checkpoints
from arena.training.files import write_whole
from arena.training.stopping import ORDER, Stopped
from arena.training.training_matches import entrants_in_the_making, entrants_of, keep, play, stored_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from arena.training.dispatch import Dispatcher
    from arena.training.metrics import Figure, MetricsWriter
    from arena.training.runs import RunSettings
    from arena_plugins.contract import Game
    from arena_plugins.training import Checkpoint, Device, Score, TrainingMatch

EVERY_S = 120.0
"""Seconds between checkpoints, and so the most training that a power cut can cost; writing takes far less."""


class Watcher(Protocol):
    """Displays the progress of a run."""

    def figure(self, figure: Figure) -> None:
        """Called with each recorded measurement."""
        ...

    def progress(self, step: int, total: int, seconds: float) -> None:
        """Called when `step` of `total` steps are done, after `seconds` of training in total."""
        ...

    def say(self, text: str) -> None:
        """Called with a line of text for the user."""
        ...


class Commands(Protocol):
    """The commands to a run: whether it must end or wait."""

    @property
    def is_stopping(self) -> bool:
        """Whether the run must end at its next step."""
        ...

    @property
    def is_pausing(self) -> bool:
        """Whether the run must wait at its next step."""
        ...

    def wait(self) -> None:
        """Block until the run may continue or must end."""
        ...


class TrainingRun(NamedTuple):
    """A training run, new or resumed."""

    settings: RunSettings
    folder: Path
    """Its folder, which this process holds."""
    game: Game
    resumed: tuple[Checkpoint, float] | None = None
    """The checkpoint from which it continues, and the seconds of training before; None for a new run."""


class RunObservers(NamedTuple):
    """The receivers of a run's reports, and the source of its orders."""

    metrics: MetricsWriter
    watcher: Watcher
    orders: Commands


class ShardSlots(NamedTuple):
    """Where the shards of a run are computed."""

    dispatcher: Dispatcher | None = None
    """Sends shards to slots; None if they are computed in this process."""
    are_chosen: bool = False
    """Whether the user chose another place than worker processes of this machine."""


_NO_SLOTS = ShardSlots()


class Context:
    """One run from its trainer's view; implements `arena_plugins.training.TrainingContext`."""

    def __init__(
        self,
        run: TrainingRun,
        observers: RunObservers,
        *,
        db: str | None,
        slots: ShardSlots = _NO_SLOTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        settings, folder, game, resumed = run
        self.game = game
        self.seed = settings.seed
        self.recipe = settings.recipe
        self.folder = folder
        self.data = settings.data_folder
        self.resumed = None if resumed is None else resumed[0]
        self.step = 0
        """Number of steps done."""
        self.total = 0
        """Total number of steps."""
        self._settings = settings
        self._metrics, self._watcher, self._orders = observers
        self._db = db
        self._keeps_matches = settings.keeps_matches
        self._dispatcher, self.has_slots = slots
        self._device: Device | None = None
        self._clock = clock
        self._before = 0.0 if resumed is None else resumed[1]
        self._began = self._kept_at = clock()

    @property
    def seconds(self) -> float:
        """Seconds of training so far, including those before interruptions."""
        return self._before + self._clock() - self._began

    def matches(self) -> Iterator[TrainingMatch]:
        """Yield the game's stored matches, newest tournament first."""
        return stored_matches(self.game, self._db)

    def metric(self, step: int, name: str, value: float) -> None:
        """Record and display a measurement."""
        self._watcher.figure(self._metrics.add(step, name, value))

    def tick(self, step: int, total: int, snapshot: Callable[[], Checkpoint]) -> bool:
        """Report progress; save a checkpoint if one is due, or if the run must pause or stop."""
        self.step, self.total = step, total
        self._watcher.progress(step, total, self.seconds)
        is_over = self._settings.budget is not None and self.seconds >= self._settings.budget
        is_stopping, is_pausing = self._orders.is_stopping, self._orders.is_pausing
        if is_stopping or is_pausing or is_over or self._clock() - self._kept_at >= EVERY_S:
            self._keep(snapshot())
        if is_pausing and not is_over:
            self._pause()
            # Read again, because the run may have been stopped while it was paused.
            is_stopping = self._orders.is_stopping
        if is_stopping:
            raise Stopped
        return not is_over

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the run.

        Raises:
            ConfigError: `name` is not a plain file name, or is reserved for the run itself.
        """
        if "/" in name or name in {
            "",
            ".",
            "..",
            checkpoints.NAME,
            "metrics.jsonl",
            "run.toml",
            "lock",
            ORDER,
            PAUSED,
        }:
            raise ConfigError(f'"{name}" cannot be the name of a file of a run')
        return write_whole(self.folder / name, content)

    def play(self, first: str, second: str, matches: int, *, plies: int = 2) -> Score:
        """Play matches between two bots in this process."""
        # 53 of 64 bits: a bot's seed, like that of a run, must be below 2^53.
        seed = draw_number(f"{self.seed}/{self.step}/{first}/{second}") >> 11
        score, played = play(self.game, (first, second), matches, plies=plies, seed=seed)
        if self._keeps_matches:
            for specs, found in (((first, second), played[::2]), ((second, first), played[1::2])):
                keep(self._db, self.game, entrants_of(*specs), self._tournament, found)
        return score

    def store(self, matches: Iterable[TrainingMatch]) -> int:
        """Store the trainer's own matches if the user asked for it; return their number."""
        if not self._keeps_matches:
            return 0
        seats = entrants_in_the_making(self._settings.trainer, self.folder.name)
        return keep(self._db, self.game, seats, self._tournament, list(matches))

    def remote(  # noqa: PLR0913 - as in the contract
        self,
        function: str,
        shard: bytes,
        *,
        blobs: Sequence[bytes] = (),
        device: Device = "cpu",
        label: str = "a shard",
        check: Callable[[bytes], str] | None = None,
    ) -> Future[bytes]:
        """Call a function of the trainer's distribution, in a slot or, with `--executor inline`, here."""
        call = self._call(function, shard, blobs, device, label)
        if self._dispatcher is not None:
            return self._dispatcher.submit(call, check or _accept)
        future: Future[bytes] = Future()
        result = call_shard(call)
        wrong = (check or _accept)(result)
        if wrong:
            raise ArenaError(f"{label}: {wrong}")
        future.set_result(result)
        return future

    def say(self, text: str) -> None:
        """Print a line for the user."""
        self._watcher.say(text)

    def _pause(self) -> None:
        """Wait until the run continues; the wait does not count as training time."""
        began = self._clock()
        name = self.folder.name
        self.say(f"{name} is paused at step {self.step} of {self.total}; arena resume {name} continues it")
        if self._dispatcher is not None:
            self._dispatcher.order("stop")
        self._orders.wait()
        if self._dispatcher is not None:
            self._dispatcher.order("go")
        waited = self._clock() - began
        self._began += waited
        # A checkpoint was written before the pause, so the next one is due later by the time of the pause.
        self._kept_at += waited
        if not self._orders.is_stopping:
            self.say(f"{name} continues")

    def _call(
        self, function: str, shard: bytes, blobs: Sequence[bytes], device: Device, label: str
    ) -> ShardCall:
        if len(shard) > MAX_SHARD:
            raise ConfigError(
                f"{label} has {len(shard) >> 20} MiB, and {MAX_SHARD >> 20} MiB can be sent; make more, "
                "smaller shards"
            )
        # The pool was opened for one device, by which it chooses its slots.
        if self._device not in {None, device}:
            raise ConfigError(f"{label} is for device {device}, but shards before it were for {self._device}")
        self._device = device
        named = tuple((blob_hash(blob), len(blob)) for blob in blobs)
        task = ShardTask(self._settings.trainer, function, shard, named, device, label)
        return ShardCall(task, tuple(blobs))

    @property
    def _tournament(self) -> str:
        return f"train-{self.folder.name}"

    def _keep(self, checkpoint: Checkpoint) -> None:
        # Before the checkpoint: a run that resumes from it keeps the measurements up to its step, so they
        # must not be lost in a power cut that the checkpoint survives.
        self._metrics.sync()
        checkpoints.save(self.folder, checkpoint, self.seconds)
        self._kept_at = self._clock()


def _accept(_result: bytes) -> str:
    """Return an empty text: any result is accepted."""
    return ""
