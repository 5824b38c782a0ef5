"""The bot `kaggle`: an agent file for Kaggle's ConnectX, unmodified."""

from __future__ import annotations

import inspect
import random
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from arena_plugins.answer import as_integer
from arena_plugins.contract import PlayResult
from arena_plugins.errors import BotError, OptionError, PluginError, ProtocolError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena_plugins.contract import Game, Limit, State

_GAME = "connect-four"
_MODULE = "kaggle_agent"
_ACT_S = 2.0
_OVERAGE_S = 60.0
_EPISODE_STEPS = 1000
_RUN_S = 1200
"""ConnectX on Kaggle: seconds for a move, bank of seconds beyond, moves and seconds of an episode."""


class Struct(dict[str, Any]):
    """A dict whose keys are attributes too."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as its values
        """Give the value of a key."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name} here (but {', '.join(self)})") from None

    def __setattr__(self, name: str, value: object) -> None:
        """Set the value of a key."""
        self[name] = value


class KaggleBot:
    """Asks the agent; made anew for every match, so that its globals are fresh, as on Kaggle."""

    def __init__(self, game: Game, path: Path, overage_s: float) -> None:
        self._agent = _last_callable(path)
        self._num_arguments = _num_arguments(self._agent)
        self._overage_s = overage_s
        self._fixed = {
            "rows": game.params["rows"],
            "columns": game.params["cols"],
            "inarow": game.params["k"],
            "agentTimeout": _OVERAGE_S,
            "episodeSteps": _EPISODE_STEPS,
            "runTimeout": _RUN_S,
            "__raw_path__": str(path),
        }

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Give the agent's column.

        Raises:
            ProtocolError: the agent gave no integer; None is not taken for column 0.
        """
        act_s = _ACT_S if limit.seconds is None else limit.seconds
        if limit.bank is not None:
            self._overage_s = limit.bank
        began = time.monotonic()
        answer = self._agent(*self._arguments(state, act_s))
        self._overage_s -= min(max(0.0, time.monotonic() - began - act_s), self._overage_s)
        try:
            return PlayResult(as_integer(answer, "the agent's answer"))
        except BotError as error:
            raise ProtocolError(str(error)) from error

    def _arguments(self, state: State, act_s: float) -> tuple[Struct, ...]:
        seconds = int(act_s) if act_s.is_integer() else act_s
        observation = Struct(
            board=list(state.cells),
            mark=state.current_player + 1,
            step=len(state.history),
            remainingOverageTime=self._overage_s,
        )
        configuration = Struct(self._fixed, actTimeout=seconds, timeout=seconds)
        return (observation, configuration)[: self._num_arguments]


def _last_callable(path: Path) -> Callable[..., object]:
    """Run an agent file and give what Kaggle plays with: the last callable among its globals.

    Raises:
        PluginError: there is none.
    """
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    # Dataclasses and pickle look for it there.
    sys.modules[_MODULE] = module
    sys.path.append(str(path.parent))
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102 - running the file is the job
    callables = [value for value in vars(module).values() if callable(value)]
    if not callables:
        raise PluginError(f"{path.name} defines nothing that can be called; its last function is the agent")
    return callables[-1]


def _num_arguments(agent: Callable[..., object]) -> int:
    """Tell how many arguments an agent takes: observation, configuration, both or none of them."""
    if inspect.isfunction(agent):
        return agent.__code__.co_argcount
    call = agent if inspect.ismethod(agent) else agent.__call__
    code = getattr(call, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return 2
    return code.co_argcount - 1


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> KaggleBot:
    """Make the bot; options `file`, the agent, and `overage`, the bank it is told of where there is none.

    Raises:
        OptionError: an option is refused.
        PluginError: the game is not connect-four, or the file has no agent.
    """
    reader = OptionReader("kaggle", options)
    path = Path(reader.text("file", ""))
    overage_s = reader.number("overage", _OVERAGE_S, low=0.0, high=86_400.0)
    reader.done()
    if not path.is_file():
        raise OptionError(f'kaggle: there is no file "{options.get("file", "")}"; write kaggle:file=AGENT.py')
    if game.name != _GAME:
        raise PluginError(f"Kaggle's ConnectX agents play {_GAME}, not {game.name}")
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the agent draws from this one, if from any
    return KaggleBot(game, path.resolve(), overage_s)
