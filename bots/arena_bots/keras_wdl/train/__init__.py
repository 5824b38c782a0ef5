"""The trainer of `keras`: `arena train keras`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.extras import require_modules
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_bots.keras_wdl.train.options import Options
    from arena_plugins.training import Trained, TrainingContext


class KerasTrainer:
    """Trains a classifier of lost, drawn and won positions, from random games and from its own games."""

    bot = "keras"

    def __init__(self, options: Options) -> None:
        self._options = options

    def train(self, context: TrainingContext) -> Trained:
        """Run the training.

        Raises:
            OptionError: the game cannot be learnt, or there are no games to learn from.
        """
        from arena_bots.keras_wdl.train.training import KerasTraining

        return KerasTraining(self._options, context).run()


@hookimpl
def make_trainer(options: Mapping[str, str]) -> KerasTrainer:
    """Make the trainer; its options are defined in `arena_bots.keras_wdl.train.options`.

    Raises:
        OptionError: an option is unknown, or its value is not allowed.
        PluginError: the extra train-keras is not installed.
    """
    from arena_bots.keras_wdl.train.options import Options

    reader = OptionReader("the trainer keras", options)
    read = Options.read(reader)
    reader.done()
    require_modules("keras", "bot-arena[train-keras]", "onnx", "keras", "tensorflow")
    return KerasTrainer(read)
