"""The messages of arena-bot/1 and their strict codec (docs/reference/protocol.md).

One message is one line of UTF-8 JSON that ends with LF. Unknown keys are ignored, all else is strict.
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
"""Bytes of one line from a bot, LF included."""
MAX_ARENA_LINE = 1 << 20
"""Bytes of one line to a bot, LF included."""
MAX_GO_BYTES = 1 << 20
"""Bytes a bot may send in answer to one `go`."""
MAX_GO_LINES = 2_000
"""Lines a bot may send in answer to one `go`."""
MAX_TEXT = 200
"""Characters of the text of an `info`."""


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base of all messages; `type` is the name of the class in snake case."""


class Limits(Message, frozen=True, omit_defaults=False):
    """What the arena accepts from a bot."""

    line_bytes: int = msgspec.field(default=MAX_BOT_LINE)
    go_bytes: int = msgspec.field(default=MAX_GO_BYTES)
    go_lines: int = msgspec.field(default=MAX_GO_LINES)
    memory_bytes: int = 1 << 30
    scratch_bytes: int = 1 << 26


class ArenaHello(Message, frozen=True, tag="hello", omit_defaults=False):
    """Arena to bot, once: the protocols it speaks, and a nonce that the answer echoes."""

    protocols: list[int]
    arena: str
    limits: Limits
    nonce: str


class GameSpec(Message, frozen=True, omit_defaults=False):
    """A game by its name and all its parameters."""

    name: str
    params: dict[str, int | str]


class TimeControl(Message, frozen=True):
    """How the bot's clock runs: `mode` is move, fischer or bank; times in milliseconds."""

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
    tc: TimeControl


class Clock(Message, frozen=True, omit_defaults=False):
    """What remains on both clocks, in milliseconds."""

    you_ms: int
    opp_ms: int


class Go(Message, frozen=True, tag="go"):
    """Arena to bot: your move. `actions` holds the match from its start, `opening` how many were given."""

    id: str
    actions: Sequence[int]
    opening: int
    legal: Sequence[int]
    clock: Clock
    board: Sequence[int] | None = None


class Ping(Message, frozen=True, tag="ping"):
    """Arena to bot: are you there? Never while the bot thinks."""

    n: int


class MatchOver(Message, frozen=True, tag="match_over"):
    """Arena to bot: the match ended."""

    match: str
    outcome: str
    termination: str


class Quit(Message, frozen=True, tag="quit"):
    """Arena to bot: end now; one second later the process is killed."""


class BotHello(Message, frozen=True, tag="hello"):
    """Bot to arena: the answer to `hello`; `board` false means that `go` may leave the board out."""

    protocol: int
    name: str
    version: str
    games: list[str]
    nonce: str
    deterministic: bool | None = None
    board: bool | None = None


class Ready(Message, frozen=True, tag="ready"):
    """Bot to arena: it is set up for the match; only now can a bot know whether it is `deterministic`."""

    match: str
    deterministic: bool | None = None


class Info(Message, frozen=True, tag="info"):
    """Bot to arena: thoughts while it thinks; never trusted."""

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
    """Bot to arena: it gives the match up."""

    id: str


class Error(Message, frozen=True, tag="error"):
    """Bot to arena: it cannot go on; a graceful forfeit."""

    code: str
    message: str
    id: str | None = None


class Pong(Message, frozen=True, tag="pong"):
    """Bot to arena: the answer to `ping`."""

    n: int


BotMessage = BotHello | Ready | Info | Action | Resign | Error | Pong
ArenaMessage = ArenaHello | NewMatch | Go | Ping | MatchOver | Quit

# An escaped NUL, unless its backslash is itself escaped.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

_encode = msgspec.json.Encoder().encode
_from_bot: msgspec.json.Decoder[BotMessage] = msgspec.json.Decoder(BotMessage)
_from_arena: msgspec.json.Decoder[ArenaMessage] = msgspec.json.Decoder(ArenaMessage)


def encode(message: Message) -> bytes:
    """Give the line of a message, LF included."""
    return _encode(message) + b"\n"


def decode_bot(line: bytes) -> BotMessage:
    """Read a line from a bot, without its LF.

    Raises:
        ProtocolError: for whatever is not a message a bot may send.
    """
    return _decode(line, MAX_BOT_LINE, _from_bot.decode)


def decode_arena(line: bytes) -> ArenaMessage:
    """Read a line from the arena, without its LF.

    Raises:
        ProtocolError: for whatever is not a message the arena may send.
    """
    return _decode(line, MAX_ARENA_LINE, _from_arena.decode)


def _decode(line: bytes, limit: int, decode: Callable[[bytes], Any]) -> Any:  # noqa: ANN401 - narrowed by the callers
    if len(line) >= limit:
        raise ProtocolError(f"a line of {len(line)} bytes; {limit} are allowed")
    try:
        message = decode(line)
        # What `encode` writes has no key twice, and every byte of it is UTF-8; hosts in Python write such
        # lines. To see that costs a tenth of what the full check does.
        if _encode(message) != line or b"\\u0000" in line:
            _check_text(line)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise ProtocolError(f"not an arena-bot/1 message: {error}") from error
    return message


def _check_text(line: bytes) -> None:
    """See to what msgspec lets through: NUL, bad UTF-8 in an ignored value, the last of two equal keys.

    Raises:
        ValueError: one of them is there, or the nesting is too deep (RecursionError).
    """
    if _NUL.search(line):
        raise ValueError("NUL in a text")
    _parse(line.decode("utf-8"))


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    seen = dict(pairs)
    if len(seen) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return seen


_parse = json.JSONDecoder(object_pairs_hook=_refuse_duplicates).decode
