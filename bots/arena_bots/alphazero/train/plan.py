"""The settings of a training run, read from its options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, cast

from arena_bots.alphazero.train.buffer import Window
from arena_bots.alphazero.train.selfplay import SelfPlaySettings
from arena_bots.search.lockstep.search import MOST_ENDINGS, most_endings
from arena_plugins.errors import OptionError

if TYPE_CHECKING:
    from arena_plugins.contract import Game
    from arena_plugins.spec import OptionReader
    from arena_plugins.training import Device

SEARCHES = ("gumbel", "puct", "table")
_TRUNK = re.compile(r"article|[1-9][0-9]?x[1-9][0-9]{0,2}")
_MOST = 10**7
"""Upper bound of options that count: a number with too many digits is refused, not trained for a year."""


class LearnPlan(NamedTuple):
    """How a network learns."""

    batch: int
    """Number of positions in a batch."""
    reuse: float
    """Average number of times that a position is learnt from."""
    epochs: int
    """Number of steps on each batch; more than one only with the schedule `kl`."""
    schedule: str
    """`cosine`: the learning rate decays; `kl`: it adapts to the policy's change, as in the paper."""
    rate: float
    """Initial learning rate."""
    rate_end: float
    decay: float
    """Weight decay; for the paper's Adam the L2 penalty."""
    average: float
    """Share of the old average of the weights that each step keeps; 0 plays with the latest weights."""
    kl: float
    """Target KL divergence of the policy in an update; only with the schedule `kl`."""


class Measuring(NamedTuple):
    """How the network is measured during training."""

    every: int
    """Number of steps between measurements; 0 for none."""
    matches: int
    """Number of matches per measurement against the opponent; the network moves first in half of them."""
    opponent: str
    """Spec of the opponent."""
    simulations: int
    """Number of simulations of the network's search in measured matches."""
    rival_matches: int
    """Number of matches against the best network so far; 0 always keeps the latest one."""


class TrainingPlan(NamedTuple):
    """All settings of a training run."""

    steps: int
    """Number of steps; each consists of a period of self-play and learning from it."""
    lanes: int
    """Number of simultaneous matches over all players."""
    processes: int
    """Number of self-play processes; with 1 the learning process plays as well."""
    threads: int
    """Number of self-play players in the learning process, each in its own thread."""
    device: str
    """`cpu`, or `cuda` to play and learn on a GPU."""
    play_on: Device
    """What worker machines play on: `cpu`, `cuda`, or `any`, whatever each slot has."""
    overlap: bool
    """Whether it learns from earlier matches while it plays; otherwise it alternates."""
    trunk: str
    wdl: bool
    planes: int
    by_cell: bool
    """Whether the network has one logit per cell instead of one per action."""
    play: SelfPlaySettings
    window: Window
    learn: LearnPlan
    tests: Measuring

    @property
    def players(self) -> int:
        """Number of players that share the lanes."""
        return max(self.processes, self.threads)

    def fitted(self, game: Game) -> TrainingPlan:
        """Return a copy limited to the game's size: number of endings' cells, openings up to half a match."""
        play = self.play._replace(
            ending_cells=min(self.play.ending_cells, most_endings(game)),
            opening_plies=min(self.play.opening_plies, game.max_length // 2),
        )
        return self._replace(play=play)

    @classmethod
    def read(cls, reader: OptionReader) -> TrainingPlan:
        """Read the options.

        Raises:
            OptionError: a value is not allowed, or options contradict each other.
        """
        device = reader.choice("device", "cpu", ("cpu", "cuda"))
        plan = cls(
            steps=reader.integer("steps", 200, low=1, high=_MOST),
            lanes=reader.integer("lanes", 128, low=1, high=1 << 20),
            processes=reader.integer("processes", 1, low=1, high=256),
            threads=reader.integer("threads", 1, low=1, high=256),
            device=device,
            play_on=cast("Device", reader.choice("play_on", device, ("cpu", "cuda", "any"))),
            overlap=reader.flag("overlap", default=False),
            trunk=reader.text("net", "3x32"),
            wdl=reader.flag("wdl", default=True),
            planes=reader.integer("planes", 3, low=2, high=4),
            by_cell=reader.flag("cells", default=False),
            play=_play(reader),
            window=_window(reader),
            learn=_learn(reader),
            tests=_tests(reader),
        )
        if not _TRUNK.fullmatch(plan.trunk):
            raise OptionError(
                f"the trainer alphazero: net={plan.trunk} is neither article nor BLOCKSxFILTERS, as in 4x48"
            )
        if min(plan.processes, plan.threads) > 1:
            raise OptionError("the trainer alphazero: players are processes or threads; give one of the two")
        if plan.lanes % plan.players:
            name = "processes" if plan.processes > 1 else "threads"
            raise OptionError(
                f"the trainer alphazero: lanes={plan.lanes} cannot be shared among {name}={plan.players}"
            )
        if plan.device != "cpu" and plan.processes > 1:
            raise OptionError(
                "the trainer alphazero: with device=cuda one process plays; give threads=N instead of"
                " processes=N, also for N shards on a cluster"
            )
        return plan


def _play(reader: OptionReader) -> SelfPlaySettings:
    simulations = reader.integer("simulations", 64, low=1, high=10**5)
    return SelfPlaySettings(
        search=reader.choice("search", "gumbel", SEARCHES),
        simulations=simulations,
        small=reader.integer("small", min(16, simulations), low=1, high=10**5),
        full_share=reader.number("full_share", 0.25, low=0.01, high=1),
        together=reader.flag("together", default=False),
        considered=reader.integer("considered", 16, low=2, high=64),
        c_puct=reader.number("c_puct", 1.5, low=0, high=100),
        noise=reader.number("noise", 0.25, low=0, high=1),
        ending_cells=reader.integer("endings", 10, low=0, high=MOST_ENDINGS),
        opening_plies=reader.integer("opening_plies", 0, low=0, high=64),
        random_plies=reader.integer("random_plies", 6, low=0, high=64),
        random_chance=reader.number("random_chance", 0.3, low=0, high=1),
        result_share=reader.number("result_share", 0.5, low=0, high=1),
        moves=reader.integer("moves", 8, low=1, high=1000),
        scales=(
            reader.number("a", 1.0, low=0, high=100),
            reader.number("b", 2.0, low=0, high=100),
            reader.number("c", 1.0, low=0, high=100),
            reader.number("d", 0.5, low=0, high=100),
        ),
    )


def _window(reader: OptionReader) -> Window:
    most = reader.integer("window_most", 1_000_000, low=10, high=10**8)
    return Window(
        least=reader.integer("window_least", min(20_000, most), low=1, high=10**8),
        share=reader.number("window_share", 0.6, low=0, high=1),
        most=most,
    )


def _learn(reader: OptionReader) -> LearnPlan:
    return LearnPlan(
        batch=reader.integer("batch", 1024, low=2, high=1 << 20),
        reuse=reader.number("reuse", 3.0, low=0.01, high=100),
        epochs=reader.integer("epochs", 1, low=1, high=100),
        schedule=reader.choice("schedule", "cosine", ("cosine", "kl")),
        rate=reader.number("rate", 2e-3, low=1e-7, high=1),
        rate_end=reader.number("rate_end", 1e-4, low=0, high=1),
        decay=reader.number("decay", 1e-4, low=0, high=1),
        average=reader.number("average", 0.99, low=0, high=0.99999),
        kl=reader.number("kl", 0.02, low=1e-6, high=10),
    )


def _tests(reader: OptionReader) -> Measuring:
    return Measuring(
        every=reader.integer("test_every", 20, low=0, high=_MOST),
        matches=reader.integer("test_matches", 100, low=2, high=10**5),
        opponent=reader.text("opponent", "mcts:playouts=1000"),
        simulations=reader.integer("test_simulations", 64, low=0, high=10**5),
        rival_matches=reader.integer("rival_matches", 100, low=0, high=10**5),
    )
