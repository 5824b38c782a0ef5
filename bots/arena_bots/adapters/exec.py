"""The bot `exec`: any program that speaks arena-bot/1.

In matches the arena starts such a program itself, in place of a host. This module implements the arena's side
of the protocol for callers that load the bot in Python: the conformance kit, and matches without isolation.
"""

from __future__ import annotations

import secrets
from importlib.metadata import version
from typing import TYPE_CHECKING

from arena_bots.adapters.child import open_child
from arena_plugins.contract import PlayResult
from arena_plugins.errors import BotError, OptionError, PluginError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.program import exec_command
from arena_plugins.wire import (
    PROTOCOL,
    Action,
    ArenaHello,
    BotHello,
    BotMessage,
    Clock,
    ClockSpec,
    Error,
    GameSpec,
    Go,
    Info,
    Limits,
    Message,
    NewMatch,
    Ready,
    Resign,
    decode_bot,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_plugins.contract import Game, Limit, State

_NO_LIMIT_MS = 86_400_000
"""A day, the milliseconds per move that a program gets if there is no limit: arena-bot/1 demands a number."""


class ProgramBot:
    """Plays with a separate program, which is started again for every match."""

    def __init__(self, game: Game, seed: int, command: Sequence[str]) -> None:
        """Start the program and greet it.

        Raises:
            PluginError: it cannot be started, or does not answer with a valid greeting.
            OptionError: it rejects an option.
            BotError: it reports another error.
        """
        self._game = game
        self._seed = seed
        self._child = open_child(command)
        self._announced: tuple[int, float | None, int | None] | None = None
        nonce = secrets.token_hex(8)
        hello = self._ask(
            ArenaHello(protocols=[PROTOCOL], arena=version("bot-arena"), limits=Limits(), nonce=nonce)
        )
        if isinstance(hello, Error):
            raise _failed(hello)
        if not isinstance(hello, BotHello) or (hello.protocol, hello.nonce) != (PROTOCOL, nonce):
            raise PluginError(f"{command[0]} answered {hello!r} to hello")
        self.deterministic = hello.deterministic

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the program's action and the information sent with it.

        Raises:
            BotError: the program reports an error or answers out of order.
            ProtocolError: it sends something that is not arena-bot/1.
        """
        milliseconds = _NO_LIMIT_MS if limit.seconds is None else round(limit.seconds * 1000)
        # The rest of a bank changes with every move, which must not start a new match.
        terms = (state.current_player, limit.seconds, limit.nodes)
        if self._announced != terms:
            self._announce(state.current_player, limit, milliseconds)
            self._announced = terms
        go = Go(
            id=secrets.token_hex(8),
            actions=list(state.history),
            opening=0,
            legal=list(state.legal_actions),
            clock=Clock(you_ms=milliseconds, opp_ms=milliseconds),
            board=list(state.cells),
        )
        info: Info | None = None
        answer = self._ask(go)
        while isinstance(answer, Info):
            info, answer = answer, decode_bot(self._child.read())
        match answer:
            case Action(id=go.id):
                return _result(answer, info)
            case Resign(id=go.id):
                return PlayResult(go.legal[0], resign=True)
            case _:
                raise _failed(answer)

    def _announce(self, player: int, limit: Limit, milliseconds: int) -> None:
        match = NewMatch(
            match=secrets.token_hex(4),
            game=GameSpec(self._game.name, dict(self._game.params)),
            num_actions=self._game.num_actions,
            player=player,
            seed=self._seed,
            tc=ClockSpec(
                mode="move", move_ms=milliseconds, base_ms=0, inc_ms=0, margin_ms=0, nodes=limit.nodes
            ),
        )
        ready = self._ask(match)
        if not isinstance(ready, Ready) or ready.match != match.match:
            raise _failed(ready)
        self.deterministic = ready.deterministic

    def _ask(self, message: Message) -> BotMessage:
        self._child.send(encode(message))
        return decode_bot(self._child.read())


def _result(action: Action, info: Info | None) -> PlayResult:
    told = info or Info(id=action.id)
    policy, visits = action.policy or told.policy, action.visits or told.visits
    return PlayResult(
        action.action,
        value=told.value if action.value is None else action.value,
        policy=None if policy is None else dict(policy),
        visits=None if visits is None else dict(visits),
        pv=None if told.pv is None else tuple(told.pv),
        nodes=told.nodes,
        depth=told.depth,
        text=told.text,
    )


def _failed(message: BotMessage) -> BotError | OptionError:
    if isinstance(message, Error) and message.code == "bad_option":
        return OptionError(message.message)
    if isinstance(message, Error):
        return BotError(f"it reported {message.code}: {message.message}")
    return BotError(f"it sent {message!r} out of order")


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> ProgramBot:
    """Make the bot; its option `cmd` is the program with its arguments.

    Raises:
        OptionError: an option is rejected.
        PluginError: the program does not start.
    """
    return ProgramBot(game, seed, exec_command(options))
