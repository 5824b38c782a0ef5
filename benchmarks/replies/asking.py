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
"""A layer is sent to each process in so many parts at least, so that they end at about the same time."""
_CHUNK = 32
"""Positions sent at once, at most: an interrupted run has no more to wait for."""


class Setup(NamedTuple):
    """Who is asked, and how."""

    game: str
    bot: str
    seed: int
    """All chance comes from this number and the position."""
    lots: bool
    """Whether every action counts that the bot's policy names, not only the one that it drew."""


class Asker:
    """A bot that keeps nothing from one position to the next: its answer depends on the position alone."""

    def __init__(self, setup: Setup) -> None:
        """Load the bot.

        Raises:
            PluginError: it cannot be found, loaded or made, or the game cannot.
            OptionError: its answers depend on more than the position, by what it says itself.
        """
        self._setup = setup
        self._game = load_game(setup.game)
        self._bot = load_bot(setup.bot, self._game, seed=setup.seed)
        if not getattr(self._bot, "deterministic", True):
            raise OptionError(f"{setup.bot} may answer otherwise next time; bound it by nodes, not by time")

    def __call__(self, position: Open) -> tuple[int, ...]:
        """Give the actions that may be chosen; none when the bot gives up.

        Raises:
            BotError: the bot failed.
        """
        state = state_after(self._game, position.line)
        try:
            self._renew(self._seed_of(position.key))
            answer = self._bot.play(state, Limit())
        except Exception as error:
            # It is somebody else's code: anything may come.
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
    """Give what answers positions, in order: `asker`, or as many processes with a bot each."""
    if processes == 1:
        yield lambda positions: map(asker, positions)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _begin, (setup,))

    def ask(positions: Sequence[Open]) -> Iterable[tuple[int, ...]]:
        size = min(_CHUNK, len(positions) // (_CHUNKS * processes) + 1)
        # This starts them.
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
    """Block Ctrl-C for processes that are started in a `with` block, and for this one until its end.

    The mask is inherited. Here it does not suffice: a thread of NumPy may take the signal, and then Python
    raises KeyboardInterrupt between the start of a process and what it is sent.
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
"""Of this process, set by `_begin`."""


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
