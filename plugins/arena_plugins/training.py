"""The contract of trainers: what `arena train` passes to one, and what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_plugins.contract import Game

    Fact = str | int | float | bool


Device: TypeAlias = Literal["cpu", "cuda", "any"]
"""What a shard is computed on: a processor that computes as this machine's does, a GPU, or either."""


class TrainingMatch(NamedTuple):
    """A match used as training data."""

    actions: tuple[int, ...]
    """All actions, from the initial state on."""
    outcome: int
    """1 if the first player won, -1 if the second player won, 0 for a draw."""
    match_hash: str = ""
    """Equal for equal matches and their mirror images; used to split training from validation data."""


class Checkpoint(NamedTuple):
    """The complete state of a training run: weights, optimiser, random generators and step."""

    step: int
    """The number of steps done, as in `TrainingContext.metric`."""
    arrays: Mapping[str, NDArray[Any]]
    """Arrays by name, without Python objects; store bytes as `numpy.frombuffer(blob, numpy.uint8)`."""
    facts: Mapping[str, Fact]
    """Any other values needed to resume."""


class Trained(NamedTuple):
    """The result of a training run."""

    weights: bytes
    """The content of the weights file."""
    suffix: str
    """The file name's suffix, `.npz` or `.onnx`."""
    facts: Mapping[str, Fact]
    """The provenance of the weights: matches, positions, source, evaluations."""


class Score(NamedTuple):
    """Results between two bots from the view of the first-named one, as (wins, draws, losses)."""

    first: tuple[int, int, int]
    """Matches in which it moved first."""
    second: tuple[int, int, int]
    """Matches in which it moved second."""
    num_distinct: int
    """Number of matches that differ from each other in an action or in who moved first."""

    @property
    def percent(self) -> float:
        """Points as a percentage of the matches; a draw is half a point."""
        wins, draws, losses = (sum(side) for side in zip(self.first, self.second, strict=True))
        return 100 * (wins + draws / 2) / max(wins + draws + losses, 1)


class TrainingContext(Protocol):
    """One run of `arena train`, as passed to its trainer."""

    game: Game
    """The game to learn."""
    seed: int
    """The seed of all randomness in the run; in `[0, 2^53)`."""
    recipe: str
    """Name or path of the recipe; empty without one."""
    folder: Path
    """The folder of the run."""
    data: Path | None
    """A folder of exported matches to learn from; None if none was given."""
    resumed: Checkpoint | None
    """The checkpoint to resume from; None in a new run."""
    has_slots: bool
    """Whether the user chose slots for `remote`, such as those of worker machines."""

    def matches(self) -> Iterator[TrainingMatch]:
        """Yield the game's stored matches that ended regularly, newest tournament first."""
        ...

    def metric(self, step: int, name: str, value: float) -> None:
        """Record a measurement: a line of `metrics.jsonl` and a point of a curve, displayed live."""
        ...

    def tick(self, step: int, total: int, snapshot: Callable[[], Checkpoint]) -> bool:
        """Report that `step` of `total` steps are done; call it after each step, at least every few seconds.

        It saves a checkpoint from `snapshot` when one is due. If the user stops the run, it saves one
        and does not return. A result of False means that the time for training is used up.
        """
        ...

    def write(self, name: str, content: bytes) -> Path:
        """Write a file into the run's folder atomically; return its path."""
        ...

    def play(self, first: str, second: str, matches: int, *, plies: int = 2) -> Score:
        """Play matches between two bots, given as specs, in this process; each moves first in half of them.

        Matches come in pairs with swapped sides, from random openings of `plies` actions.
        """
        ...

    def store(self, matches: Iterable[TrainingMatch]) -> int:
        """Store matches as an unrated tournament of the run; return their number."""
        ...

    def remote(  # noqa: PLR0913 - function, arguments and options of one call
        self,
        function: str,
        shard: bytes,
        *,
        blobs: Sequence[bytes] = (),
        device: Device = "cpu",
        label: str = "a shard",
        check: Callable[[bytes], str] | None = None,
    ) -> Future[bytes]:
        """Call a function of the trainer's distribution in another process, perhaps on another machine.

        The function gets `shard`, `blobs` and the device, `cuda` or `cpu`, or `any` on a slot with a GPU. Its
        result must depend on these alone, because a shard whose slot dies is computed again elsewhere.

        Args:
            function: `module:name`, a function defined in that module. The module belongs to the top-level
                package of the trainer's entry point.
            shard: at most 48 MiB.
            blobs: larger data that many shards share, such as the weights of a network; sent to a slot once.
            device: all shards of a run have the same one.
            label: names the shard in messages.
            check: returns what is wrong with a result, or an empty string. A wrong result is discarded, the
                shard computed again, and its machine excluded for ten minutes.

        Returns:
            A future of the result. It fails with `ArenaError` if three slots died or failed at the shard.
        """
        ...

    def say(self, text: str) -> None:
        """Print a line of text for the user."""
        ...


class Trainer(Protocol):
    """Trains weights for a bot."""

    bot: str
    """Name of the bot that uses the weights; it enters matches as `BOT:weights=FILE`."""

    def train(self, context: TrainingContext) -> Trained:
        """Train, resuming from `context.resumed` unless it is None."""
        ...
