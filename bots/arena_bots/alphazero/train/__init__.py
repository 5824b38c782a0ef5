"""The trainer of `alphazero`: `arena train alphazero`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.extras import require_modules
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_bots.alphazero.train.plan import TrainingPlan
    from arena_plugins.training import Trained, TrainingContext


class AlphaZeroTrainer:
    """Trains a network by self-play."""

    bot = "alphazero"

    def __init__(self, plan: TrainingPlan) -> None:
        self._plan = plan

    def train(self, context: TrainingContext) -> Trained:
        """Run the training.

        Raises:
            OptionError: the bot does not play this game.
            ArenaError: a self-play process has failed.
        """
        from arena.games.notation import spec_of
        from arena_bots.alphazero.supported_games import GAMES
        from arena_plugins.errors import OptionError

        if str(spec_of(context.game)) not in GAMES:
            raise OptionError(f"alphazero learns {', '.join(GAMES)}, not {spec_of(context.game)}")
        from arena_bots.alphazero.train.training import AlphaZeroTraining

        return AlphaZeroTraining(self._plan, context).run()


@hookimpl
def make_trainer(options: Mapping[str, str]) -> AlphaZeroTrainer:
    """Make the trainer; docs/how-to/train-alphazero.md describes its options.

    Raises:
        OptionError: an option is unknown, or its value is not allowed.
        PluginError: the extra train-torch is not installed.
    """
    from arena_bots.alphazero.train.plan import TrainingPlan

    reader = OptionReader("the trainer alphazero", options)
    plan = TrainingPlan.read(reader)
    reader.done()
    require_modules("alphazero", "bot-arena[train-torch]", "onnx", "torch")
    return AlphaZeroTrainer(plan)
