"""The process in which a bot runs: loads one plugin and speaks arena-bot/1.

It is started by `arena_plugins.command.host_command`. Exit codes: 0 after `quit` or the end of input, 2 if
the bot rejected an option, 1 if it could not start or a line from the arena could not be read.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from arena_plugins.answer import make_answer
from arena_plugins.clock import make_limit
from arena_plugins.command import Start
from arena_plugins.errors import ArenaError, OptionError, PluginError, ProtocolError
from arena_plugins.manager import BOTS, GAMES, Plugin, load_entry
from arena_plugins.text import clean_text
from arena_plugins.wire import (
    MAX_ARENA_LINE,
    PROTOCOL,
    ArenaHello,
    ArenaMessage,
    BotHello,
    Error,
    GameSpec,
    Go,
    Message,
    NewMatch,
    Ping,
    Pong,
    Quit,
    Ready,
    decode_arena,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena_plugins.contract import Bot, Game, State

_MAX_ERROR = 500
"""Maximum characters of an `error` message: with the rest it stays far below the 65,536 bytes of a line."""
_NOT_YET = (0, 1, 1)
"""Thresholds of the garbage collector that turn it off until the bot is ready.

Imports create hundreds of thousands of objects and hardly any garbage: searching them took a fifth of the
start of a bot. A bot that sets thresholds of its own, or calls `gc.disable`, keeps its setting.
"""


class Host:
    """Answers messages of the arena. Once `exit_code` is set, the process ends after sending the answer."""

    exit_code: int | None
    is_frozen: bool
    """Whether the objects of the bot that is playing are hidden from the garbage collector."""

    def __init__(self, start: Start) -> None:
        self.exit_code = None
        self.is_frozen = False
        self._start = start
        self._plugin: Plugin | None = None
        self._spec: GameSpec | None = None
        self._game: Game | None = None
        self._bot: Bot | None = None
        self._match: NewMatch | None = None
        self._state: State | None = None
        self._actions: Sequence[int] = ()
        """The actions that lead to `_state`, so that a `go` only replays the new ones."""

    def handle(self, message: ArenaMessage) -> list[Message]:
        """Return the answers to one message; SystemExit and KeyboardInterrupt raised by the bot propagate."""
        if isinstance(message, Go):  # tested first because it is by far the most frequent message
            return self._go(message)
        match message:
            case ArenaHello():
                return [self._hello(message)]
            case NewMatch():
                return [self._new_match(message)]
            case Ping():
                return [Pong(n=message.n)]
            case Quit():
                self.exit_code = 0
                return []
            case _:
                return []

    def _hello(self, hello: ArenaHello) -> Message:
        if PROTOCOL not in hello.protocols:
            self.exit_code = 1
            return Error(code="no_common_protocol", message=f"this host speaks arena-bot/{PROTOCOL} only")
        try:
            self._plugin = load_entry(BOTS, self._start.name, self._start.entry)
        except (PluginError, MemoryError) as error:
            return self._not_started(error)
        return BotHello(
            protocol=PROTOCOL,
            name=self._start.name,
            version=self._start.version,
            games=list(self._start.games),
            nonce=hello.nonce,
            board=False,
        )

    def _new_match(self, match: NewMatch) -> Message:
        self._match = self._state = None
        try:
            self._set_game(match.game)
            self._set_bot(match.seed)
        except Exception as error:  # noqa: BLE001 - any exception of a plugin means that it failed to start
            return self._not_started(error)
        self._match = match
        declared = getattr(self._bot, "deterministic", None)
        return Ready(match=match.match, deterministic=declared if isinstance(declared, bool) else None)

    def _set_game(self, spec: GameSpec) -> None:
        if spec == self._spec:
            return
        self._spec = self._game = self._bot = None
        entry = self._start.games.get(spec.name)
        if entry is None:
            raise PluginError(f'this host was not given the game "{spec.name}"')
        params = {key: str(value) for key, value in spec.params.items()}
        try:
            self._game = load_entry(GAMES, spec.name, entry).make_game(params)
        except OptionError as error:
            # As an OptionError the failure would be reported as a bad option of the bot.
            raise PluginError(str(error)) from error
        self._spec = spec

    def _set_bot(self, seed: int) -> None:
        if self._plugin is None or self._game is None:
            raise PluginError("a match began before hello")
        new_match = getattr(self._bot, "new_match", None)
        if callable(new_match):
            new_match(seed)
        else:
            self._bot = None  # release the old bot's memory first; it may be large
            if self.is_frozen:
                gc.unfreeze()  # of a bot with reference cycles, only the collector can release it
                self.is_frozen = False
            self._bot = self._plugin.make_bot(self._game, seed, self._start.options)

    def _go(self, go: Go) -> list[Message]:
        bot, game, match = self._bot, self._game, self._match
        if bot is None or game is None or match is None:
            return [Error(id=go.id, code="protocol_order", message="go came before ready")]
        actions, opening = go.actions, go.opening
        try:
            state = self._advance(game, actions)
        except ArenaError as error:
            return [Error(id=go.id, code="rules_mismatch", message=describe(error))]
        # The number of moves this player has made itself, which depends on who moved last in the opening.
        own = (len(actions) - opening + (opening + match.player + 1) % 2) // 2
        try:
            result = bot.play(state, make_limit(match.tc, go.clock, own))
            return make_answer(go.id, result, go.legal)
        except ProtocolError as error:
            # The bot is an adapter, and the program behind it sent a line that is not an answer.
            return [Error(id=go.id, code="malformed", message=describe(error))]
        except MemoryError:  # no traceback, because printing one needs memory
            return [Error(id=go.id, code="oom", message="out of memory")]
        except Exception as error:  # noqa: BLE001 - any exception of a bot forfeits the match
            _print_traceback(error)
            return [Error(id=go.id, code="bot_error", message=describe(error))]

    def _advance(self, game: Game, actions: Sequence[int]) -> State:
        state, num_known = self._state, len(self._actions)
        if state is None or self._actions != actions[:num_known]:
            state, num_known = game.initial_state(), 0
        for action in actions[num_known:]:
            state = state.child(action)
        self._state, self._actions = state, actions
        return state

    def _not_started(self, error: BaseException) -> Error:
        _print_traceback(error)
        if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
            code = "oom"
        elif isinstance(error, OptionError):
            code = "bad_option"
        else:
            code = "init_error"
        self.exit_code = 2 if code == "bad_option" else 1
        return Error(code=code, message=describe(error))


def _print_traceback(error: BaseException) -> None:
    """Write an exception to stderr; for an ArenaError with a cause, only the traceback of the cause.

    The outer frames belong to the adapter or the arena, which wrapped the cause. Printed last, they would
    hide the innermost line of the bot's own code, which is the line its author looks for.
    """
    if isinstance(error, ArenaError) and error.__cause__ is not None:
        traceback.print_exception(error.__cause__)
        sys.stderr.write("".join(traceback.format_exception_only(error)))
    else:
        traceback.print_exception(error)


def describe(error: BaseException) -> str:
    """Describe an exception in one clean line: an ArenaError by its text, others with their class name."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the text of a plugin's exception is computed by the plugin
        text = "its text cannot be read"
    if not isinstance(error, ArenaError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return clean_text(text, _MAX_ERROR)


def read_lines(fd: int) -> Iterator[bytes]:
    """Yield the non-empty lines read from a descriptor, without their line ends.

    Raises:
        ProtocolError: a line exceeds `MAX_ARENA_LINE` bytes.
    """
    rest = b""
    while chunk := os.read(fd, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if text := line.removesuffix(b"\r"):
                yield text
        if len(rest) >= MAX_ARENA_LINE:
            raise ProtocolError(f"a line of more than {MAX_ARENA_LINE} bytes")


def serve(argument: str, reader: int, writer: int) -> int:
    """Serve the arena on two descriptors until it quits or closes the pipe; return the exit code."""
    host = Host(msgspec.json.decode(argument, type=Start))
    thresholds = gc.get_threshold()
    gc.set_threshold(*_NOT_YET)
    try:
        for line in read_lines(reader):
            answers = host.handle(decode_arena(line))
            _flush_prints()
            if gc.get_threshold() == _NOT_YET and any(isinstance(answer, Ready) for answer in answers):
                _collect_from_now(host, thresholds)
            # All answers in one write, because every write wakes up the arena.
            _write(writer, b"".join(map(encode, answers)))
            if host.exit_code is not None:
                return host.exit_code
    except ProtocolError as error:
        _write(writer, encode(Error(code="malformed", message=describe(error))))
        return 1
    except BrokenPipeError:
        return 0  # the arena closed the pipe
    finally:
        gc.set_threshold(*thresholds)
    return 0


def _collect_from_now(host: Host, thresholds: tuple[int, int, int]) -> None:
    """Turn garbage collection on for later objects; to search the present ones would take time of a move."""
    gc.freeze()
    host.is_frozen = True
    gc.set_threshold(*thresholds)


def _flush_prints() -> None:
    """Flush what the bot printed, before its answer is sent.

    The output is then attributed to this ply, and it survives if the process is killed.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a bot may have replaced the streams with anything
            stream.flush()


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
