"""The dialogue with a bot: the greeting, the preparation of a match, a question and its answer."""

from __future__ import annotations

import functools
import secrets
import time
from typing import TYPE_CHECKING

import msgspec

from arena.referee.remarks import NewsGate
from arena.referee.thoughts import read_remark
from arena.referee.verdict import FaultError
from arena_plugins.contract import Game, State, Termination
from arena_plugins.entries import version_of
from arena_plugins.thoughts import Thoughts
from arena_plugins.wire import (
    PROTOCOL,
    Action,
    ArenaHello,
    BotHello,
    BotMessage,
    Error,
    GameSpec,
    Go,
    Info,
    Limits,
    NewMatch,
    Ping,
    Pong,
    Ready,
    Resign,
)

if TYPE_CHECKING:
    from collections.abc import Container

    from arena.referee.connection import Connection
    from arena.referee.seats import SeatSetup

_INIT_ERRORS = {
    "oom": Termination.OOM,
    "no_common_protocol": Termination.NO_COMMON_PROTOCOL,
}
"""Termination for the code of an `error` sent before `ready`; any other code means `init_crash`."""


_ERRORS = {
    "malformed": Termination.MALFORMED,
    "oom": Termination.OOM,
}
"""Termination for the code of an `error` sent in a match; any other code means `bot_error`."""


class Question(msgspec.Struct, frozen=True):
    """A question that a bot has been asked."""

    go: Go
    state: State
    """The state it asks about."""
    game: Game
    news: NewsGate[Thoughts] | None
    """Receives the bot's remarks before its answer."""
    lateness: Termination
    """The termination if no answer comes in time."""


def greet(connection: Connection, limits: Limits, deadline: float) -> BotHello:
    """Exchange `hello` messages with a new process.

    Raises:
        FaultError: its `hello` is invalid, or did not arrive by `deadline` (`time.monotonic`).
    """
    # A `hello` that the bot wrote before it had read the arena's cannot contain this nonce.
    nonce = secrets.token_hex(8)
    connection.send(ArenaHello(protocols=[PROTOCOL], arena=_version(), limits=limits, nonce=nonce))
    hello = _receive(connection, deadline)
    if not isinstance(hello, BotHello):
        raise _out_of_order(hello, "hello")
    if hello.nonce != nonce:
        raise FaultError(
            Termination.PROTOCOL_ORDER, "its hello has a wrong nonce", repr(hello.nonce).encode()
        )
    if hello.protocol != PROTOCOL:
        cause = f"it speaks arena-bot/{hello.protocol}, the arena arena-bot/{PROTOCOL}"
        raise FaultError(Termination.NO_COMMON_PROTOCOL, cause)
    return hello


def is_awake(connection: Connection, deadline: float) -> bool:
    """Return whether a waiting bot answers a `ping` correctly by `deadline` (`time.monotonic`)."""
    # Random, so that a bot cannot write the answer beforehand; 31 bits fit the int of 32 bits that some
    # languages have.
    n = secrets.randbits(31)
    try:
        connection.send(Ping(n=n))
        return connection.receive(deadline) == Pong(n=n)
    except FaultError:
        return False


def get_ready(connection: Connection, setup: SeatSetup, seconds: float) -> bool:
    """Announce a match and wait for `ready`; return whether the bot declares itself deterministic.

    Raises:
        FaultError: its `ready` is invalid, or did not arrive within `seconds`.
    """
    # What a bot wrote after its last match would otherwise be taken for its answer in this one.
    connection.refuse_leftovers()
    game = setup.game
    connection.send(
        NewMatch(
            match=setup.match,
            game=GameSpec(name=game.name, params=dict(game.params)),
            num_actions=game.num_actions,
            player=setup.player,
            seed=setup.seed,
            tc=setup.control.to_wire(),
        )
    )
    ready = _receive(connection, time.monotonic() + seconds)
    if not isinstance(ready, Ready):
        raise _out_of_order(ready, "ready")
    if ready.match != setup.match:
        raise FaultError(
            Termination.PROTOCOL_ORDER, "it is ready for another match", repr(ready.match).encode()
        )
    return ready.deterministic is True


def await_reply(
    connection: Connection, question: Question, deadline: float
) -> tuple[Action | Resign, Info | None]:
    """Wait for the answer to a question; its time is then in `connection.received_at`.

    Returns:
        The answer (if it is an action, a legal one) and the last `info` before it.

    Raises:
        FaultError: no answer came in time (`question.lateness`), or it is invalid.
    """
    info: Info | None = None
    go, news = question.go, question.news
    pulse = None if news is None else news.pulse
    while True:
        message = connection.receive(deadline, pulse)
        # First, because nearly every message is the answer; the rest is matched below.
        if type(message) is Action and message.id == go.id:
            check_action(message.action, go.legal)
            return message, info
        match message:
            case None:
                raise FaultError(question.lateness, "it did not answer in time")
            case Info(id=go.id):
                info = message
                if news is not None:
                    news.offer(
                        len(go.actions),
                        # Read only if a viewer gets it: checking a line of actions costs the opponent's
                        # waiting time.
                        functools.partial(read_remark, message, question.state, question.game),
                    )
            case Resign(id=go.id):
                return message, info
            case Error(id=None | go.id):
                raise _reported(message)
            case _:
                raise _out_of_order(message, f"an answer to {go.id}")


def check_action(action: int, legal: Container[int]) -> None:
    """Check that an action is legal; call it before `check_time`, so a late illegal answer counts as illegal.

    Raises:
        FaultError: it is illegal (`illegal_move`).
    """
    if action not in legal:
        raise FaultError(Termination.ILLEGAL_MOVE, "its action is not a legal one", repr(action).encode())


def check_time(elapsed_s: float, allowance_s: float, lateness: Termination) -> None:
    """Check that an answer came in time.

    Raises:
        FaultError: it came too late (`lateness`).
    """
    if elapsed_s > allowance_s:
        raise FaultError(lateness, "its answer came too late")


def _receive(connection: Connection, deadline: float) -> BotMessage:
    message = connection.receive(deadline)
    if message is None:
        raise FaultError(Termination.INIT_TIMEOUT, "it did not get ready in time")
    check_time(connection.received_at, deadline, Termination.INIT_TIMEOUT)
    if isinstance(message, Error):
        termination = _INIT_ERRORS.get(message.code, Termination.INIT_CRASH)
        raise FaultError(termination, f"it reported {message.code}: {message.message}")
    return message


def _reported(error: Error) -> FaultError:
    termination = _ERRORS.get(error.code, Termination.BOT_ERROR)
    return FaultError(termination, f"it reported {error.code}: {error.message}")


def _out_of_order(message: BotMessage, expected: str) -> FaultError:
    got = type(message).__name__
    return FaultError(Termination.PROTOCOL_ORDER, f"it sent {got}, not {expected}", repr(message).encode())


@functools.cache
def _version() -> str:
    return version_of("bot-arena")
