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
    """Learns to tell lost, drawn and won positions apart, from random games and from its own."""

    bot = "keras"

    def __init__(self, options: Options) -> None:
        self._options = options

    def train(self, context: TrainingContext) -> Trained:
        """Train.

        Raises:
            OptionError: the game is none it can learn, or there are no games to learn from.
        """
        from arena_bots.keras_wdl.train.training import Training

        return Training(self._options, context).run()


@hookimpl
def make_trainer(options: Mapping[str, str]) -> KerasTrainer:
    """Make the trainer; `arena_bots.keras_wdl.train.options` lists its options.

    Raises:
        OptionError: an option is unknown, or has a value it cannot have.
        PluginError: the extra train-keras is not installed.
    """
    from arena_bots.keras_wdl.train.options import Options

    reader = OptionReader("the trainer keras", options)
    read = Options.read(reader)
    reader.done()
    require_modules("keras", "bot-arena[train-keras]", "onnx", "keras", "tensorflow")
    return KerasTrainer(read)
