"""The contract of trainers: what `arena train` gives one, and what it gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_plugins.contract import Game

    Fact = str | int | float | bool


class TrainingMatch(NamedTuple):
    """A match to learn from."""

    actions: tuple[int, ...]
    """From the initial state."""
    outcome: int
    """1 where the first player won, -1 where the second did, 0 for a draw."""
    match_hash: str = ""
    """Equal for equal matches, also mirrored ones: what tells training from validation data."""


class Checkpoint(NamedTuple):
    """All that is needed to go on exactly: weights, optimiser, chance, step."""

    step: int
    """As in `metric`."""
    arrays: Mapping[str, NDArray[Any]]
    """By name, none of Python objects; bytes go in as `numpy.frombuffer(blob, numpy.uint8)`."""
    facts: Mapping[str, Fact]
    """Whatever else is needed."""


class Trained(NamedTuple):
    """What a trainer made."""

    weights: bytes
    """The whole file."""
    suffix: str
    """The end of its name, `.npz` or `.onnx`."""
    facts: Mapping[str, Fact]
    """What it was made of, for its provenance: matches, positions, source, evaluations."""


class Score(NamedTuple):
    """Results of two bots, for the first-named one: wins, draws and losses."""

    first: tuple[int, int, int]
    """Where it moved first."""
    second: tuple[int, int, int]
    """Where it moved second."""
    num_distinct: int
    """Matches that differ in an action or in who moved first."""

    @property
    def percent(self) -> float:
        """Points of a hundred; a draw is half a point."""
        wins, draws, losses = (sum(side) for side in zip(self.first, self.second, strict=True))
        return 100 * (wins + draws / 2) / max(wins + draws + losses, 1)


class TrainingContext(Protocol):
    """One run of `arena train`, as its trainer sees it."""

    game: Game
    """What is to be learnt."""
    seed: int
    """All chance of the run is drawn from it; in `[0, 2^53)`."""
    recipe: str
    """The recipe's name or file; empty without one."""
    folder: Path
    """The folder of the run."""
    data: Path | None
    """A folder of exported matches to learn from, where one was given."""
    resumed: Checkpoint | None
    """Where to go on; None in a new run."""

    def matches(self) -> Iterator[TrainingMatch]:
        """Give the stored matches of the game that were played to a regular end, newest tournament first."""
        ...

    def metric(self, step: int, name: str, value: float) -> None:
        """Keep a figure: a line of `metrics.jsonl`, a point of a curve; shown live."""
        ...

    def tick(self, step: int, total: int, snapshot: Callable[[], Checkpoint]) -> bool:
        """Say that `step` steps of `total` are done; call it after each, at least every few seconds.

        A checkpoint is taken and kept when one is due. When the user stops the run one is kept and the call
        does not return; False says that the time for training is used up.
        """
        ...

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the run, whole or not at all; give its path."""
        ...

    def play(self, first: str, second: str, matches: int, *, plies: int = 2) -> Score:
        """Let two bots, written as specs, meet in this process, each half of the matches first.

        Pairs of matches with sides swapped start from random openings of `plies` actions.
        """
        ...

    def store(self, matches: Iterable[TrainingMatch]) -> int:
        """Keep matches in the store as an unrated tournament of the run; give how many."""
        ...

    def say(self, text: str) -> None:
        """Tell the user something on a line of its own."""
        ...


class Trainer(Protocol):
    """Makes weights for a bot."""

    bot: str
    """The bot that plays them: it is entered as `BOT:weights=FILE`."""

    def train(self, context: TrainingContext) -> Trained:
        """Train, from `context.resumed` on where it is given."""
        ...
