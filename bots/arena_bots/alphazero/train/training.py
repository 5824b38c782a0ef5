"""The training loop: play, store, learn, measure the network by matches and keep the best one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.layout import layout_of
from arena.games.notation import spec_of
from arena_bots.alphazero.train.buffer import Buffer, PositionEncoder
from arena_bots.alphazero.train.learner import Learner, Losses
from arena_bots.alphazero.train.nets import Design, Shape
from arena_bots.alphazero.train.onnx_file import to_onnx
from arena_bots.alphazero.train.players import Players
from arena_bots.alphazero.train.shards import NetKind, rng_of
from arena_bots.alphazero.train.torch_net import TorchNet, halves
from arena_plugins.spec import Spec
from arena_plugins.training import Checkpoint, Trained

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from arena_bots.alphazero.train.games import Harvest
    from arena_bots.alphazero.train.plan import Measuring, TrainingPlan
    from arena_plugins.training import Fact, Score, TrainingContext

_WIDE = 64
"""Number of filters from which PyTorch is faster than ONNX Runtime on devices with fast half precision."""
_LEARNER = 1 << 20
"""The learner's number among the random generators; no player has it."""


class AlphaZeroTraining:
    """A training run, from its first step or from a checkpoint."""

    def __init__(self, plan: TrainingPlan, context: TrainingContext) -> None:
        layout = layout_of(context.game)
        if layout is None:
            raise ValueError(f"there are no kernels for {context.game.name} of this size")
        self._plan = plan = plan.fitted(context.game)
        self._context = context
        self._game = str(spec_of(context.game))
        rows, columns = context.game.shape
        logits = rows * columns if plan.by_cell else context.game.num_actions
        shape = Shape(plan.planes, rows, columns, logits)
        self._learner = Learner(plan.learn, Design(plan.trunk, plan.wdl), shape, context.seed, plan.device)
        self._painter = PositionEncoder(context.game, layout, plan.planes, by_cell=plan.by_cell)
        self._buffer = Buffer(plan.window, context.game.num_actions)
        self._players = Players(context, plan, NetKind(plan.trunk, plan.wdl, plan.planes, logits))
        self._numbers = {"step": 0, "matches": 0, "asked": 0, "owed": 0}
        best = None
        if context.resumed is not None:
            best = self._restore(context.resumed)
        self._judge = Judge(plan.tests, context, best)

    def run(self) -> Trained:
        """Train; return the best weights."""
        try:
            return self._run()
        finally:
            self._players.close()

    def _run(self) -> Trained:
        numbers, total = self._numbers, self._plan.steps
        goes_on = numbers["step"] < total
        while goes_on:
            harvest, losses = self._play_and_learn()
            numbers["step"] += 1
            self._tell(harvest, losses)
            every = self._plan.tests.every
            if every and (numbers["step"] % every == 0 or numbers["step"] == total):
                self._judge.measure(self._model(), numbers["step"])
            goes_on = self._context.tick(numbers["step"], total, self._snapshot) and numbers["step"] < total
        return Trained(self._final(), ".onnx", self._facts())

    def _play_and_learn(self) -> tuple[Harvest, list[Losses]]:
        """Play one period and learn from it, or do both at once and learn from earlier matches."""
        net, step = self._quickest_net(), self._numbers["step"]
        if not self._plan.overlap:
            # One after the other: the positions of this step are learnt in this step.
            harvest = self._players.go_on(net, step)
            self._take(harvest)
            return harvest, self._learn()
        with ThreadPoolExecutor(1) as beside:
            playing = beside.submit(self._players.go_on, net, step)
            try:
                with self._learner.alone():
                    losses = self._learn()
                harvest = playing.result()
            except BaseException:
                # Leaving the `with` block waits for the thread.
                self._players.cancel()
                raise
        self._take(harvest)
        return harvest, losses

    def _quickest_net(self) -> TorchNet | bytes:
        """Return the network in the form that plays fastest on this machine, which may be its file."""
        design, device = self._learner.net.design, self._plan.device
        if self._players.are_elsewhere:
            return self._model()
        is_half = halves(device)
        # On a CPU ONNX Runtime evaluates faster, except wide networks where half precision is fast.
        if device != "cpu" or (design.width >= _WIDE and is_half):
            return TorchNet(self._learner.player, device, is_half=is_half)
        return self._model()

    def _take(self, harvest: Harvest) -> None:
        """Store played positions and add them to the backlog of learning."""
        self._buffer.add(harvest.samples)
        self._context.store(harvest.matches)
        self._numbers["matches"] += len(harvest.matches)
        self._numbers["asked"] += harvest.asked
        self._numbers["owed"] += round(len(harvest.samples.own) * self._plan.learn.reuse)

    def _learn(self) -> list[Losses]:
        """Learn in proportion to the new positions; a remainder smaller than a batch is carried over."""
        plan, numbers = self._plan.learn, self._numbers
        rng = rng_of(self._context.seed, numbers["step"], _LEARNER)
        progress = numbers["step"] / self._plan.steps
        losses: list[Losses] = []
        # Each drawn position pays for its epochs, so learning keeps pace with play whatever a step harvests.
        while numbers["owed"] >= plan.batch * plan.epochs and self._buffer.size >= plan.batch:
            numbers["owed"] -= plan.batch * plan.epochs
            samples = self._buffer.draw(plan.batch, rng)
            # Drawn for each batch: storing all images would multiply the buffer by their number.
            symmetries = rng.integers(self._painter.num_symmetries, size=plan.batch)
            losses.append(self._learner.learn(self._painter.paint(samples, symmetries), progress))
        return losses

    def _tell(self, harvest: Harvest, losses: list[Losses]) -> None:
        step, metric = self._numbers["step"], self._context.metric
        metric(step, "matches", self._numbers["matches"])
        metric(step, "positions", self._buffer.seen)
        if harvest.matches:
            lengths = [len(match.actions) for match in harvest.matches]
            metric(step, "plies a match", float(np.mean(lengths)))
            points = [(match.outcome + 1) / 2 for match in harvest.matches]
            metric(step, "score of who moves first", 100 * float(np.mean(points)))
        if losses:
            # The mean of a step, not its last batch, whose loss is mostly noise.
            policy, value, entropy = np.mean(losses, axis=0).tolist()
            metric(step, "loss", policy + value)
            metric(step, "policy loss", policy)
            metric(step, "value loss", value)
            metric(step, "entropy", entropy)
            metric(step, "rate", self._learner.rate)

    def _model(self) -> bytes:
        return to_onnx(self._learner.player, self._game)

    def _final(self) -> bytes:
        """Return the weights with the best measurement, or the latest ones if nothing was measured."""
        measured = self._judge.best if self._plan.tests.every and self._plan.tests.rival_matches else None
        return measured or self._model()

    def _facts(self) -> dict[str, Fact]:
        return {
            "source": "self-play",
            "matches": self._numbers["matches"],
            "positions": self._buffer.seen,
            "evaluations": self._numbers["asked"],
            "net": self._plan.trunk,
            "parameters": sum(weight.numel() for weight in self._learner.net.parameters()),
            "device": self._learner.device,
        }

    def _snapshot(self) -> Checkpoint:
        arrays: dict[str, NDArray[Any]] = {
            **self._learner.snapshot(),
            **self._buffer.snapshot(),
            **self._players.snapshot(),
        }
        if self._judge.best is not None:
            arrays["best"] = np.frombuffer(self._judge.best, np.uint8)
        return Checkpoint(self._numbers["step"], arrays, {**self._numbers, "seen": self._buffer.seen})

    def _restore(self, kept: Checkpoint) -> bytes | None:
        """Restore a checkpoint; return the best network so far."""
        arrays = dict(kept.arrays)
        self._learner.restore(arrays)
        self._players.restore(arrays)
        self._buffer.restore(arrays, int(kept.facts["seen"]))
        self._numbers = {name: int(kept.facts[name]) for name in self._numbers}
        return arrays["best"].tobytes() if "best" in arrays else None


_Z = 1.96
"""Quantile of the normal distribution for an interval of 95 %."""
_LATEST = "latest.onnx"
_BEST = "best.onnx"


class Interval(NamedTuple):
    """A 95 % confidence interval of a share."""

    low: float
    high: float


def wilson(points: float, matches: int) -> Interval:
    """Return the Wilson (1927) score interval for `points` out of `matches`."""
    share = points / matches
    centre = share + _Z**2 / (2 * matches)
    half = _Z * sqrt(share * (1 - share) / matches + _Z**2 / (4 * matches**2))
    scale = 1 + _Z**2 / matches
    return Interval((centre - half) / scale, (centre + half) / scale)


class Judge:
    """Plays a run's networks against a fixed opponent and against the best of them so far."""

    def __init__(self, tests: Measuring, context: TrainingContext, best: bytes | None) -> None:
        """Start with the best network so far, if there is one."""
        self._tests = tests
        self._context = context
        self.best = best

    def measure(self, model: bytes, step: int) -> None:
        """Measure a network; it becomes the best one unless the previous best beats it significantly.

        A network that has learnt longer is usually stronger, and a hundred matches rarely show by how little.
        Therefore the burden of proof is on the older network.
        """
        tests, context = self._tests, self._context
        latest = self._spec(_LATEST, model)
        score = context.play(latest, tests.opponent, tests.matches)
        self._tell(step, f"score vs {tests.opponent}", score)
        if self.best is None or not tests.rival_matches:
            self.best = model
            return
        rival = context.play(latest, self._spec(_BEST, self.best), tests.rival_matches)
        context.metric(step, "score vs best so far", rival.percent)
        low, high = _interval(rival)
        if high < 1 / 2:
            context.say(f"the net of an earlier step stays the best: {_said(rival)} for the last one")
            return
        if low > 1 / 2:
            context.say(f"better than the best so far: {_said(rival)}")
        self.best = model

    def _spec(self, name: str, model: bytes) -> str:
        path = self._context.write(name, model)
        return str(Spec("alphazero", {"weights": str(path), "simulations": str(self._tests.simulations)}))

    def _tell(self, step: int, name: str, score: Score) -> None:
        metric = self._context.metric
        metric(step, name, score.percent)
        for side, (wins, draws, losses) in (("first", score.first), ("second", score.second)):
            metric(step, f"{name}, {side}", 100 * (wins + draws / 2) / max(wins + draws + losses, 1))


def _interval(score: Score) -> Interval:
    matches = sum(score.first) + sum(score.second)
    return wilson(score.percent / 100 * matches, matches)


def _said(score: Score) -> str:
    low, high = _interval(score)
    return f"{score.percent:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f})"
