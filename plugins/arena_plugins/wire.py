"""The messages of arena-bot/1 and their strict codec (docs/reference/protocol.md).

A message is one line of UTF-8 JSON, terminated by LF. Unknown keys are ignored; everything else is strict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from arena_plugins.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROTOCOL = 1
"""The version of arena-bot that this code speaks."""
MAX_BOT_LINE = 65_536
"""Maximum bytes of a line from a bot, LF included: the referee holds one line of each bot in memory."""
MAX_ARENA_LINE = 1 << 20
"""Maximum length in bytes of a line to a bot, LF included."""
MAX_GO_BYTES = 1 << 20
"""Maximum number of bytes that a bot may send in answer to one `go`."""
MAX_GO_LINES = 2_000
"""Maximum lines in answer to one `go`: a bot that floods is stopped before that costs others time."""
MAX_TEXT = 200
"""Maximum length in characters of the text of an `info`."""


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base of all messages; the tag `type` is the class name in snake case."""


class Limits(Message, frozen=True, omit_defaults=False):
    """The limits that the arena enforces on a bot."""

    line_bytes: int = msgspec.field(default=MAX_BOT_LINE)
    go_bytes: int = msgspec.field(default=MAX_GO_BYTES)
    go_lines: int = msgspec.field(default=MAX_GO_LINES)
    memory_bytes: int = 1 << 30
    scratch_bytes: int = 1 << 26


class ArenaHello(Message, frozen=True, tag="hello", omit_defaults=False):
    """Arena to bot, once: the supported protocols, and a nonce that the answer must echo."""

    protocols: list[int]
    arena: str
    limits: Limits
    nonce: str


class GameSpec(Message, frozen=True, omit_defaults=False):
    """A game's name and all its parameters."""

    name: str
    params: dict[str, int | str]


class ClockSpec(Message, frozen=True):
    """How the bot's clock runs: `mode` is move, fischer or bank; times are in milliseconds."""

    mode: str
    move_ms: int
    base_ms: int
    inc_ms: int
    margin_ms: int
    moves: int | None = None
    nodes: int | None = None


class NewMatch(Message, frozen=True, tag="new_match", omit_defaults=False):
    """Arena to bot: a match begins."""

    match: str
    game: GameSpec
    num_actions: int
    player: int
    seed: int
    tc: ClockSpec


class Clock(Message, frozen=True, omit_defaults=False):
    """Remaining time on both clocks, in milliseconds."""

    you_ms: int
    opp_ms: int


class Go(Message, frozen=True, tag="go"):
    """Arena to bot: make a move. `actions` is the whole match; the first `opening` actions were preset."""

    id: str
    actions: Sequence[int]
    opening: int
    legal: Sequence[int]
    clock: Clock
    board: Sequence[int] | None = None


class Ping(Message, frozen=True, tag="ping"):
    """Arena to bot: check that it is alive; never sent while the bot thinks."""

    n: int


class MatchOver(Message, frozen=True, tag="match_over"):
    """Arena to bot: the match ended."""

    match: str
    outcome: str
    termination: str


class Quit(Message, frozen=True, tag="quit"):
    """Arena to bot: exit; the process is killed one second later."""


class BotHello(Message, frozen=True, tag="hello"):
    """Bot to arena: the answer to `hello`; `board` false means that `go` may omit the board."""

    protocol: int
    name: str
    version: str
    games: list[str]
    nonce: str
    deterministic: bool | None = None
    board: bool | None = None


class Ready(Message, frozen=True, tag="ready"):
    """Bot to arena: it is ready for the match; `deterministic` is only known at this point."""

    match: str
    deterministic: bool | None = None


class Info(Message, frozen=True, tag="info"):
    """Bot to arena: progress while it thinks; displayed, never trusted."""

    id: str
    value: float | None = None
    wdl: tuple[float, float, float] | None = None
    visits: list[tuple[int, int]] | None = None
    policy: list[tuple[int, float]] | None = None
    pv: list[int] | None = None
    nodes: int | None = None
    depth: int | None = None
    text: str | None = None


class Action(Message, frozen=True, tag="action"):
    """Bot to arena: the answer to `go`."""

    id: str
    action: int
    value: float | None = None
    policy: list[tuple[int, float]] | None = None
    visits: list[tuple[int, int]] | None = None


class Resign(Message, frozen=True, tag="resign"):
    """Bot to arena: it resigns the match."""

    id: str


class Error(Message, frozen=True, tag="error"):
    """Bot to arena: it cannot continue and forfeits the match."""

    code: str
    message: str
    id: str | None = None


class Pong(Message, frozen=True, tag="pong"):
    """Bot to arena: the answer to `ping`."""

    n: int


BotMessage = BotHello | Ready | Info | Action | Resign | Error | Pong
ArenaMessage = ArenaHello | NewMatch | Go | Ping | MatchOver | Quit

# An escaped NUL; an even number of backslashes before it escape each other, not the NUL.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

_encode = msgspec.json.Encoder().encode
_from_bot: msgspec.json.Decoder[BotMessage] = msgspec.json.Decoder(BotMessage)
_from_arena: msgspec.json.Decoder[ArenaMessage] = msgspec.json.Decoder(ArenaMessage)


def encode(message: Message) -> bytes:
    """Return the line of a message, LF included."""
    return _encode(message) + b"\n"


def decode_bot(line: bytes) -> BotMessage:
    """Decode a line from a bot, without its LF.

    Raises:
        ProtocolError: it is not a message that a bot may send.
    """
    return _decode(line, MAX_BOT_LINE, _from_bot.decode)


def decode_arena(line: bytes) -> ArenaMessage:
    """Decode a line from the arena, without its LF.

    Raises:
        ProtocolError: it is not a message that the arena may send.
    """
    return _decode(line, MAX_ARENA_LINE, _from_arena.decode)


def _decode(line: bytes, limit: int, decode: Callable[[bytes], Any]) -> Any:  # noqa: ANN401 - narrowed by the callers
    if len(line) >= limit:
        raise ProtocolError(f"a line of {len(line)} bytes; {limit} are allowed")
    try:
        message = decode(line)
        # A line equal to what `encode` writes has no duplicate keys and only valid UTF-8; Python hosts send
        # such lines. This comparison costs a tenth of the full check.
        if _encode(message) != line or b"\\u0000" in line:
            _check_text(line)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise ProtocolError(f"not an arena-bot/1 message: {error}") from error
    return message


def _check_text(line: bytes) -> None:
    """Reject what msgspec accepts: NUL, bad UTF-8 in an ignored value, duplicate keys.

    Raises:
        ValueError: the line contains one of them.
        RecursionError: the nesting is too deep.
    """
    if _NUL.search(line):
        raise ValueError("NUL in a text")
    _parse(line.decode("utf-8"))


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    seen = dict(pairs)
    if len(seen) != len(pairs):
        raise ValueError("an object has a duplicate key")
    return seen


_parse = json.JSONDecoder(object_pairs_hook=_refuse_duplicates).decode
