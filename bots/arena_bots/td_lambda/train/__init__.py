"""The trainer of `td-lambda`: `arena train td-lambda`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_bots.td_lambda.train.training import LinearPlan, TuplePlan
    from arena_plugins.training import Trained, TrainingContext


class TdLambdaTrainer:
    """Learns Connect Four by temporal differences, with n-tuples or a linear value function."""

    bot = "td-lambda"

    def __init__(self, plan: TuplePlan | LinearPlan) -> None:
        self._plan = plan

    def train(self, context: TrainingContext) -> Trained:
        """Run the training.

        Raises:
            OptionError: the game is not supported.
        """
        from arena.games.connect_four import ConnectFour
        from arena_bots.td_lambda.train.training import LinearPlan, LinearTraining, TupleTraining
        from arena_plugins.errors import OptionError

        if type(context.game) is not ConnectFour or context.game.params != ConnectFour.defaults:
            raise OptionError(
                f"td-lambda learns connect-four on 6 rows and 7 columns, not {context.game.name}"
            )
        if isinstance(self._plan, LinearPlan):
            return LinearTraining(self._plan, context).run()
        return TupleTraining(self._plan, context).run()


@hookimpl
def make_trainer(options: Mapping[str, str]) -> TdLambdaTrainer:
    """Make the trainer; the option `value` selects what is learnt, and each kind has its own options.

    Raises:
        OptionError: an option is unknown, or its value is not allowed.
    """
    from arena_bots.td_lambda.train.training import LinearPlan, TuplePlan

    reader = OptionReader("the trainer td-lambda", options)
    kind = reader.choice("value", "tuples", ("tuples", "linear"))
    plan = TuplePlan.read(reader) if kind == "tuples" else LinearPlan.read(reader)
    reader.done()
    return TdLambdaTrainer(plan)
