"""Asks a bot about positions, each as if a match began there, in this process or in several."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from replies.walk import place, state_after

from arena_plugins import Limit, load_bot, load_game
from arena_plugins.errors import BotError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from replies.walk import Ask, Open

_CHUNKS = 16
"""Minimum number of parts sent to each process per ply, so that the processes end at about the same time."""
_CHUNK = 32
"""Maximum number of positions sent at once: an interrupted run waits for no more than these."""


class Setup(NamedTuple):
    """The bot to be asked, and how."""

    game: str
    bot: str
    seed: int
    """The random numbers depend only on this seed and the position."""
    lots: bool
    """Whether all actions with a positive policy count, not only the one that the bot drew."""


class Asker:
    """A bot without memory: its answer depends only on the position."""

    def __init__(self, setup: Setup) -> None:
        """Load the bot.

        Raises:
            PluginError: the bot or the game cannot be found, loaded or made.
            OptionError: the bot says that its answers depend on more than the position.
        """
        self._setup = setup
        self._game = load_game(setup.game)
        self._bot = load_bot(setup.bot, self._game, seed=setup.seed)
        if not getattr(self._bot, "deterministic", True):
            raise OptionError(f"{setup.bot} may answer otherwise next time; bound it by nodes, not by time")

    def __call__(self, position: Open) -> tuple[int, ...]:
        """Return the actions that may be chosen; none if the bot resigns.

        Raises:
            BotError: the bot failed.
        """
        state = state_after(self._game, position.line)
        try:
            self._renew(self._seed_of(position.key))
            answer = self._bot.play(state, Limit())
        except Exception as error:
            # Third-party code may raise anything.
            where = place(self._game, position.line)
            raise BotError(f"{where}: {type(error).__name__}: {error}") from error
        if answer.resign:
            return ()
        if self._setup.lots and answer.policy:
            return tuple(action for action, share in answer.policy.items() if share)
        return (answer.action,)

    def _seed_of(self, key: bytes) -> int:
        digest = hashlib.sha256(b"%d/%b" % (self._setup.seed, key)).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    def _renew(self, seed: int) -> None:
        renew: Callable[[int], None] | None = getattr(self._bot, "new_match", None)
        if renew:
            renew(seed)
        else:
            self._bot = load_bot(self._setup.bot, self._game, seed=seed)


@contextmanager
def asking(asker: Asker, setup: Setup, processes: int) -> Generator[Ask]:
    """Yield a function that answers positions, in order: `asker`, or one bot in each of many processes."""
    if processes == 1:
        yield lambda positions: map(asker, positions)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _begin, (setup,))

    def ask(positions: Sequence[Open]) -> Iterable[tuple[int, ...]]:
        size = min(_CHUNK, len(positions) // (_CHUNKS * processes) + 1)
        # The pool starts its processes only when work is submitted.
        with _interrupt_later():
            return pool.map(_ask, positions, chunksize=size)

    try:
        yield ask
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupt_later() -> Generator[None]:
    """Block Ctrl-C for processes started in a `with` block, and for this process until the block ends.

    Child processes inherit the mask. It does not protect this process: a thread of NumPy may take the signal,
    and Python then raises KeyboardInterrupt between starting a process and sending its arguments.
    """
    seen: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if seen:
        raise KeyboardInterrupt


_asker: Asker | None = None
"""The bot of this worker process, set by `_begin`."""


def _begin(setup: Setup) -> None:
    global _asker  # noqa: PLW0603 - one process asks one bot
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _asker = Asker(setup)


def _ask(position: Open) -> tuple[int, ...]:
    if _asker is None:
        raise RuntimeError("a process was given positions before its bot")
    return _asker(position)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
