"""The bot `kaggle`: an unmodified submission to Kaggle's ConnectX."""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
import random
import sys
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from arena_bots.adapters.kaggle_files import is_mounted, shown_at_kaggles_path
from arena_bots.adapters.running import failure, run_file
from arena_plugins.answer import as_integer
from arena_plugins.contract import PlayResult
from arena_plugins.errors import BotError, OptionError, PluginError, ProtocolError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader
from arena_plugins.submission import FILE, KAGGLE, MAIN, PLACE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from types import ModuleType

    from arena_plugins.contract import Game, Limit, State

_GAME = "connect-four"
_MODULE = "kaggle_agent"
_ARCHIVES = (".gz", ".tgz", ".tar", ".zip")
_PACKAGES = {"cv2": "opencv-python-headless", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Package names for pip, for modules whose package has another name."""
_ACT_S = 2.0
"""Seconds per move in Kaggle's ConnectX, as are the next three values."""
_OVERAGE_S = 60.0
"""Reserve in seconds beyond the time for moves."""
_EPISODE_STEPS = 1000
"""Maximum number of steps of an episode."""
_RUN_S = 1200
"""Maximum seconds of an episode."""


class Struct(dict[str, Any]):
    """A dict whose keys can also be used as attributes."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - values have any type
        """Return the value of a key."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name} here (but {', '.join(self)})") from None

    def __setattr__(self, name: str, value: object) -> None:
        """Set the value of a key."""
        self[name] = value


class KaggleBot:
    """Calls the agent; made again for every match, so that the agent's globals are fresh, as on Kaggle."""

    def __init__(self, game: Game, path: Path, overage_s: float) -> None:
        self._path = Path(PLACE, path.name) if is_mounted(path.parent) else path
        with self._running():
            self._agent = _last_callable(self._path)
        self._num_arguments = _num_arguments(self._agent)
        self._overage_s = overage_s
        self._fixed = {
            "rows": game.params["rows"],
            "columns": game.params["cols"],
            "inarow": game.params["k"],
            "agentTimeout": _OVERAGE_S,
            "episodeSteps": _EPISODE_STEPS,
            "runTimeout": _RUN_S,
            "__raw_path__": str(self._path),
        }

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the agent's column as an action.

        Raises:
            ProtocolError: the answer is not an integer; unlike on Kaggle, None does not mean column 0.
            BotError: the agent imports a missing module, or its compiled code opens Kaggle's path.
        """
        act_s = _ACT_S if limit.seconds is None else limit.seconds
        if limit.bank is not None:
            self._overage_s = limit.bank
        arguments = self._arguments(state, act_s)
        began = time.monotonic()
        with self._running():
            answer = self._asked(arguments)
        self._overage_s -= min(max(0.0, time.monotonic() - began - act_s), self._overage_s)
        try:
            return PlayResult(as_integer(answer, "the agent's answer"))
        except BotError as error:
            raise ProtocolError(str(error)) from error

    @contextmanager
    def _running(self) -> Generator[None]:
        with shown_at_kaggles_path(self._path.parent), _STREAMS.in_place(), _BROUGHT.noted():
            yield

    def _asked(self, arguments: tuple[Struct, ...]) -> object:
        try:
            return self._agent(*arguments)
        except Exception as error:
            if advice := _advice(error, self._path):
                raise BotError(advice) from error
            raise

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


class _Streams:
    """The `sys.stdout` and `sys.stderr` of agents, which may replace or close them, as on Kaggle."""

    def __init__(self) -> None:
        self._own: list[TextIO] = []

    @contextmanager
    def in_place(self) -> Generator[None]:
        """Install the replacement streams for a `with` block; restore the originals afterwards."""
        before = sys.stdout, sys.stderr
        if not self._own or any(stream.closed for stream in self._own):
            self._own = [_copy_of(number) for number in (1, 2)]
        sys.stdout, sys.stderr = self._own
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before
            for stream in self._own:
                with suppress(OSError, ValueError):
                    stream.flush()


_STREAMS = _Streams()


def _copy_of(number: int) -> TextIO:
    """Open a duplicate of a descriptor for writing, or the null device if the descriptor is closed."""
    try:
        return os.fdopen(os.dup(number), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    except OSError:
        return Path(os.devnull).open("w", encoding="utf-8")


class _Brought:
    """The modules that agents imported and their `sys.path` entries, to be removed before the next match."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._folders: set[str] = set()

    @contextmanager
    def noted(self) -> Generator[None]:
        """Record the modules that are imported within the `with` block."""
        before = set(sys.modules)
        try:
            yield
        finally:
            self._names |= sys.modules.keys() - before

    def begin(self, folder: Path) -> None:
        """Remove the modules of earlier agents, and append `folder` to the end of `sys.path`."""
        self._folders.add(str(folder))
        # Collected before any is removed: the location of a namespace package depends on its parent package.
        for name in [name for name in self._names if self._is_agents(sys.modules.get(name))]:
            del sys.modules[name]
        self._names.clear()
        others = [entry for entry in dict.fromkeys(sys.path) if entry not in self._folders]
        sys.path[:] = [*others, str(folder)]
        importlib.invalidate_caches()

    def _is_agents(self, module: ModuleType | None) -> bool:
        """Return whether a module is in an agent's folder; extension modules cannot be loaded twice."""
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and not file.endswith(".py"):
            return False
        places = [file] if isinstance(file, str) else getattr(module, "__path__", ())
        return any(place.startswith(f"{folder}/") for place in places for folder in self._folders)


_BROUGHT = _Brought()


def _last_callable(path: Path) -> Callable[..., object]:
    """Execute an agent's file and return what Kaggle would call: the last callable among its globals.

    Raises:
        PluginError: there is no callable, or the file fails.
    """
    _BROUGHT.begin(path.parent)
    try:
        module = run_file(path, _MODULE)
    except (Exception, SystemExit) as error:
        raise PluginError(_advice(error, path) or failure(path, error)) from error
    callables = [value for value in vars(module).values() if callable(value)]
    if not callables:
        raise PluginError(f"{path.name} defines no function; the last callable in the file is the agent")
    return callables[-1]


def _advice(error: BaseException, path: Path) -> str:
    """Return an explanation and advice for errors that are not the agent's fault; empty for other errors."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        name = error.name.partition(".")[0]
        return (
            f"{path.name} imports {error.name}, which is neither installed nor in the submission; run "
            f"pip install {_PACKAGES.get(name, name)} or, if it is yours, enter the folder that holds it"
        )
    if not is_mounted(path.parent) and _names_place(error, path.parent):
        return (
            f"{failure(path, error)}; compiled code can open {PLACE} only in tier "
            "T3, elsewhere only Python's own functions can: play in T3, or name files relative to __file__"
        )
    return ""


def _names_place(error: BaseException, folder: Path) -> bool:
    """Return whether Kaggle's path occurs in an error's text or in the file operation that failed."""
    if PLACE in str(error):
        return True
    if type(error).__module__ == "builtins" and not isinstance(error, OSError | RuntimeError):
        return False
    inside = [
        (frame, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(f"{folder}/")
    ]
    if not inside:
        return False
    frame, number = inside[-1]
    texts = [linecache.getline(frame.f_code.co_filename, number), *frame.f_locals.values()]
    return any(isinstance(text, str) and PLACE in text for text in texts)


def _num_arguments(agent: Callable[..., object]) -> int:
    """Return the number of arguments an agent takes: 2 (observation, configuration), 1 or 0."""
    if inspect.isfunction(agent):
        return agent.__code__.co_argcount
    call = agent if inspect.ismethod(agent) else agent.__call__
    code = getattr(call, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return 2
    return code.co_argcount - 1


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> KaggleBot:
    """Make the bot; options `file`, the submission, and `overage`, its reserve without a bank.

    Raises:
        OptionError: an option is rejected.
        PluginError: the game is not connect-four, or the submission has no agent or fails.
    """
    reader = OptionReader(KAGGLE, options)
    path = Path(reader.text(FILE, ""))
    overage_s = reader.number("overage", _OVERAGE_S, low=0.0, high=86_400.0)
    reader.done()
    if options.get(FILE) and (path / MAIN).is_file():
        path /= MAIN
    if not path.is_file():
        raise OptionError(f'kaggle: there is no file "{options.get(FILE, "")}"; write kaggle:file=AGENT.py')
    if path.suffix.lower() in _ARCHIVES:
        raise OptionError(
            f"kaggle: {path.name} is an archive, which plays from an unpacked copy in a process of its own; "
            "leave out --isolation none, or unpack it"
        )
    if game.name != _GAME:
        raise PluginError(f"Kaggle's ConnectX agents play {_GAME}, not {game.name}")
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - seeds the global generator that agents use
    return KaggleBot(game, path.resolve(), overage_s)
