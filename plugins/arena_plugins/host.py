"""The process a bot lives in: loads one plugin, answers arena-bot/1.

Started by `arena_plugins.command.host_command`. Exit codes: 0 after `quit` or the end of input, 2 when the
bot refused an option, 1 when it could not start or the arena's line could not be read.
"""

from __future__ import annotations

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
"""Characters of the text of an `error`."""


class Host:
    """Answers messages; `exit_code` is set when the process is to end after the answer."""

    exit_code: int | None

    def __init__(self, start: Start) -> None:
        self.exit_code = None
        self._start = start
        self._plugin: Plugin | None = None
        self._spec: GameSpec | None = None
        self._game: Game | None = None
        self._bot: Bot | None = None
        self._match: NewMatch | None = None
        self._state: State | None = None
        self._actions: Sequence[int] = ()
        """Those that lead to the state."""

    def handle(self, message: ArenaMessage) -> list[Message]:
        """Give the answers to one message; SystemExit and KeyboardInterrupt of the bot pass through."""
        if isinstance(message, Go):  # first, as it is by far the most frequent
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
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is its failure to start
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
            # An OptionError would be taken for the bot's.
            raise PluginError(str(error)) from error
        self._spec = spec

    def _set_bot(self, seed: int) -> None:
        if self._plugin is None or self._game is None:
            raise PluginError("a match began before hello")
        new_match = getattr(self._bot, "new_match", None)
        if callable(new_match):
            new_match(seed)
        else:
            self._bot = None  # the old one's memory first, it may be large
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
        # The own ones of those after the opening, whoever made its last.
        own = (len(actions) - opening + (opening + match.player + 1) % 2) // 2
        try:
            result = bot.play(state, make_limit(match.tc, go.clock, own))
            return make_answer(go.id, result, go.legal)
        except ProtocolError as error:
            # Of a bot that speaks for another program: what that one said is no answer.
            return [Error(id=go.id, code="malformed", message=describe(error))]
        except MemoryError:  # without a traceback, which takes memory
            return [Error(id=go.id, code="oom", message="out of memory")]
        except Exception as error:  # noqa: BLE001 - whatever a bot raises is its forfeit
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
    """Write an exception to stderr; of one of ours that has a cause, the traceback of the cause alone.

    The frames in which an adapter or the arena put the cause into words lie behind those of the bot's own
    code. They would hide its innermost line from its author, and from whoever looks for that line.
    """
    if isinstance(error, ArenaError) and error.__cause__ is not None:
        traceback.print_exception(error.__cause__)
        sys.stderr.write("".join(traceback.format_exception_only(error)))
    else:
        traceback.print_exception(error)


def describe(error: BaseException) -> str:
    """Give an exception in one clean line: our own by their text, foreign ones with their class."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the text of a foreign exception is foreign code
        text = "its text cannot be read"
    if not isinstance(error, ArenaError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return clean_text(text, _MAX_ERROR)


def read_lines(fd: int) -> Iterator[bytes]:
    """Give the lines of a raw descriptor without their line ends, empty ones left out.

    Raises:
        ProtocolError: a line has no end within `MAX_ARENA_LINE` bytes.
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
    """Answer the arena on two descriptors until it quits; give the exit code."""
    host = Host(msgspec.json.decode(argument, type=Start))
    try:
        for line in read_lines(reader):
            answers = host.handle(decode_arena(line))
            _flush_prints()
            # At once, for the arena wakes up at each part.
            _write(writer, b"".join(map(encode, answers)))
            if host.exit_code is not None:
                return host.exit_code
    except ProtocolError as error:
        _write(writer, encode(Error(code="malformed", message=describe(error))))
        return 1
    except BrokenPipeError:
        return 0  # the arena is gone
    return 0


def _flush_prints() -> None:
    """Write what the bot printed before its answer: then it counts for this ply, and no kill can lose it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a bot may have put anything in their place
            stream.flush()


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
