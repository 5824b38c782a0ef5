"""Starts the coordinator of a play as a process of its own, and reaches it through the store."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.coordinator.launch import start_tournament
from arena.errors import ArenaError
from arena.home import open_store
from arena.play.wishes import Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.coordinator.launch import Launched
    from arena.play.config import PlayPlan
    from arena_db.records import TournamentRecord

_LOOK_S = 0.05
"""Seconds between two looks whether it has begun."""
_ANSWER_S = 5.0
_HINT_S = 60.0
"""Seconds for the answer to a command, after which nobody seems to be there; a bot may think about a hint."""
_LEASE_LOOK_S = 1.0
"""Seconds between two looks whether a coordinator that others have started still runs."""
_AGAIN = ["play", "--headless", "--attach"]


class PlayEndedError(ArenaError):
    """The coordinator ended before it had begun; `status` is that of its process."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def words_of(plan: PlayPlan) -> list[str]:
    """Give the command that plays a plan, as what stands behind `arena`."""
    config = plan.config
    words = ["play", "--headless", "--game", config.game, f"--{config.side}"]
    state, moves = plan.game.initial_state(), list[str]()
    for action in config.opening:
        moves.append(plan.game.move(state, action))
        state = state.child(action)
    given = {
        "--clock": config.clock,
        "--st": config.st,
        "--nodes": config.nodes,
        "--hint": config.hint,
        "--opening": " ".join(moves),
        "--isolation": config.isolation,
        "--require-tier": config.require_tier,
        "--require-limits": config.require_limits,
        "--name": config.name,
    }
    for option, value in given.items():
        if value not in ("", None):
            words += [option, str(value)]
    return [*words, *(["--rated"] if config.rated else []), "--", config.bot]


def words_again(name: str) -> list[str]:
    """Give the command that goes on with a stored play."""
    return [*_AGAIN, name]


class Link:
    """The way to the coordinator of a play: its process, and commands in the store, for who may wait."""

    def __init__(self, db: str | None, words: Sequence[str]) -> None:
        """Take what is to be played; nothing is started yet.

        Args:
            db: path of the store; None for the usual place.
            words: as `words_of` or `words_again` give them.
        """
        self.db = db
        """Path of the store; None for the usual place."""
        self.record: TournamentRecord | None = None
        """The play, once it has begun."""
        self.news: tuple[str, ...] = ()
        """What the coordinator said about the bot when the play began, a sentence each."""
        self._words = list(words)
        self._launched: Launched | None = None
        self._is_held = False
        self._next_look = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether the coordinator runs that was started, or found."""
        if self._launched is not None:
            return self._launched.poll() is None
        if self.record is None:
            return False
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LEASE_LOOK_S
            self._is_held = self._find_held(self.record.name) is not None
        return self._is_held

    def begin(self, wait: Callable[[float], object]) -> TournamentRecord:
        """Start a coordinator and wait until the play is stored; go on with one that has begun before.

        A play that is to be gone on with may have a coordinator that lives: its screen was killed.

        Args:
            wait: waits so many seconds; a true answer gives up.

        Raises:
            PlayEndedError: the coordinator ended instead; says why.
            ArenaError: it cannot be started.
        """
        words = self._words if self.record is None else words_again(self.record.name)
        if words[: len(_AGAIN)] == _AGAIN and (held := self._find_held(words[-1])) is not None:
            self.record, self._launched = held, None
            return held
        launched = start_tournament(words, db=self.db)
        while not launched.tournament():
            status = launched.poll()
            # Its last words may have been written after the look before.
            if status is not None and not launched.tournament():
                raise PlayEndedError(_complaint(launched), status)
            if wait(_LOOK_S):
                raise PlayEndedError("nobody waits for it any more", 1)
        self._launched, self.news = launched, launched.news()
        with open_store(self.db, read_only=True, create=False) as store:
            self.record = store.tournament(launched.tournament())
        if self.record is None:
            raise ArenaError(f"there is no play {launched.tournament()} in the store")
        return self.record

    def ask(self, kind: str, payload: str, wait: Callable[[float], object]) -> str:
        """Leave a command and wait for its answer; who hears none in five seconds is told so.

        Raises:
            ArenaError: the command cannot be left.
        """
        if self.record is None:
            return "the play has not begun"
        with open_store(self.db, read_only=True, create=False) as store:
            command = store.ask(self.record.id, kind, payload)
            end = time.monotonic() + (_HINT_S if kind == "hint" else _ANSWER_S)
            while time.monotonic() < end:
                found = store.command(command)
                if found is not None and found.answered_at is not None:
                    return found.answer
                if wait(_LOOK_S) or not self.is_alive:
                    break
        return "no answer"

    def _find_held(self, name: str) -> TournamentRecord | None:
        """Give a play whose coordinator lives; None where it has none."""
        with suppress(ArenaError), open_store(self.db, read_only=True, create=False) as store:
            record = store.tournament(name)
            lease = store.lease(record.id) if record is not None and record.type == "play" else None
            if lease is not None and lease.is_alive:
                return record
        return None

    def leave(self, *, number: int, is_rated: bool) -> None:
        """End the play without waiting for it: a rated match is resigned, any other one does not count."""
        if self.record is None or not self.is_alive:
            return
        with suppress(ArenaError), open_store(self.db, read_only=True, create=False) as store:
            if is_rated:
                store.ask(self.record.id, "resign", Wish(number=number, ply=0).to_text())
            store.ask(self.record.id, "stop" if is_rated else "abort")


def _complaint(launched: Launched) -> str:
    text = launched.complaint()
    return text.removeprefix("arena: ") or f"it ended without a word; see {launched.log}"
