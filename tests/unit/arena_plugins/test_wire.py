"""The messages of arena-bot/1: every written message can be read; everything else is a ProtocolError."""

from __future__ import annotations

import contextlib
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_plugins import wire
from arena_plugins.errors import ProtocolError

INTEGERS = st.integers(-(2**63), 2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
# NUL is the one character of JSON texts that the protocol refuses.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
PAIRS = st.none() | st.lists(st.tuples(INTEGERS, FLOATS))
VISITS = st.none() | st.lists(st.tuples(INTEGERS, INTEGERS))
OPTIONAL_INTEGERS = st.none() | INTEGERS
FROM_BOT = st.one_of(
    st.builds(
        wire.BotHello, INTEGERS, TEXTS, TEXTS, st.lists(TEXTS), TEXTS, *([st.none() | st.booleans()] * 2)
    ),
    st.builds(wire.Ready, TEXTS, st.none() | st.booleans()),
    st.builds(
        wire.Info,
        TEXTS,
        value=st.none() | FLOATS,
        wdl=st.none() | st.tuples(FLOATS, FLOATS, FLOATS),
        visits=VISITS,
        policy=PAIRS,
        pv=st.none() | st.lists(INTEGERS),
        nodes=OPTIONAL_INTEGERS,
        depth=OPTIONAL_INTEGERS,
        text=st.none() | TEXTS,
    ),
    st.builds(wire.Action, TEXTS, INTEGERS, st.none() | FLOATS, PAIRS, VISITS),
    st.builds(wire.Resign, TEXTS),
    st.builds(wire.Error, TEXTS, TEXTS, st.none() | TEXTS),
    st.builds(wire.Pong, INTEGERS),
)
CLOCKS = st.builds(wire.Clock, INTEGERS, INTEGERS)
CONTROLS = st.builds(
    wire.ClockSpec, TEXTS, *([INTEGERS] * 4), moves=OPTIONAL_INTEGERS, nodes=OPTIONAL_INTEGERS
)
GAMES = st.builds(wire.GameSpec, TEXTS, st.dictionaries(TEXTS, INTEGERS | TEXTS))
LISTS = st.lists(INTEGERS)
FROM_ARENA = st.one_of(
    st.builds(wire.ArenaHello, LISTS, TEXTS, st.just(wire.Limits()), TEXTS),
    st.builds(wire.NewMatch, TEXTS, GAMES, INTEGERS, INTEGERS, INTEGERS, CONTROLS),
    st.builds(wire.Go, TEXTS, LISTS, INTEGERS, LISTS, CLOCKS, st.none() | LISTS),
    st.builds(wire.Ping, INTEGERS),
    st.builds(wire.MatchOver, TEXTS, TEXTS, TEXTS),
    st.just(wire.Quit()),
)


@given(FROM_BOT)
def test_messages_of_bots_are_read_as_written(message: wire.Message) -> None:
    line = wire.encode(message)
    assert line.count(b"\n") == 1
    assert wire.decode_bot(line[:-1]) == message


@given(FROM_BOT)
def test_messages_are_read_however_they_are_spaced(message: wire.Message) -> None:
    loose = json.dumps(json.loads(wire.encode(message)), indent=1).replace("\n", " ").encode()
    assert wire.decode_bot(loose) == message


@given(FROM_ARENA)
def test_messages_of_the_arena_are_read_as_written(message: wire.Message) -> None:
    assert wire.decode_arena(wire.encode(message)[:-1]) == message


@given(st.binary() | st.text().map(lambda text: json.dumps(text).encode()))
def test_decoding_raises_only_protocol_errors(line: bytes) -> None:
    # Hypothesis also draws bytes that it finds in the code, and some of those are messages.
    for decode, kinds in ((wire.decode_bot, wire.BotMessage), (wire.decode_arena, wire.ArenaMessage)):
        with contextlib.suppress(ProtocolError):
            assert isinstance(decode(line), get_args(kinds))


@pytest.mark.parametrize(
    "line", [b"", b"\xff", b'"pong"', b"[" * 60_000, b'{"type":"pong","n":' + b"1" * 5000 + b"}"]
)
def test_what_is_no_message_is_refused(line: bytes) -> None:
    for decode in (wire.decode_bot, wire.decode_arena):
        with pytest.raises(ProtocolError):
            decode(line)


@given(FROM_BOT, st.data())
def test_damaged_messages_raise_only_protocol_errors(message: wire.Message, data: st.DataObject) -> None:
    line = bytearray(wire.encode(message)[:-1])
    line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ProtocolError):
        assert isinstance(wire.decode_bot(bytes(line)), get_args(wire.BotMessage))


GOOD = b'{"type":"action","id":"x","action":3}'


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xef\xbb\xbf" + GOOD,
        GOOD + b" {}",
        b"[" + GOOD + b"]",
        GOOD.replace(b"3", b"true"),
        GOOD.replace(b"3", b"3.0"),
        GOOD.replace(b"3", b'"3"'),
        GOOD.replace(b"3", b"null"),
        GOOD.replace(b"3", b"NaN"),
        GOOD.replace(b"3", b'3,"action":4'),
        GOOD.replace(b"3", b'3,"else":{"a":1,"a":2}'),
        GOOD.replace(b"3", b'3,"else":"\xff"'),
        GOOD.replace(b"3", b'3,"else":NaN'),
        GOOD.replace(b"3", b'3,"else":' + b"[" * 30_000),
        GOOD.replace(b'"x"', b'"\\u0000"'),
        GOOD.replace(b'"x"', b'"\\\\\\u0000"'),
        GOOD.replace(b'"x"', b'"\\ud800"'),
        GOOD.replace(b"3", b"3" * 5000),
        GOOD.replace(b"action", b"go"),
        b'{"id":"x","action":3}',
    ],
)
def test_what_is_strict(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        wire.decode_bot(line)


def test_what_is_not() -> None:
    action = wire.Action(id="x", action=3)
    assert wire.decode_bot(GOOD.replace(b"3", b' 3 , "else": [1]')) == action
    assert wire.decode_bot(GOOD + b"\r") == action
    assert wire.decode_bot(GOOD.replace(b"3", b"3" * 30)) == wire.Action(id="x", action=int("3" * 30))
    # An escaped backslash before u0000 is text about NUL, not a NUL.
    assert wire.decode_bot(GOOD.replace(b'"x"', b'"\\\\u0000"')) == wire.Action(id="\\u0000", action=3)


def test_lines_have_a_limit() -> None:
    for decode, limit in ((wire.decode_bot, wire.MAX_BOT_LINE), (wire.decode_arena, wire.MAX_ARENA_LINE)):
        line = (
            b'{"type":"error","code":"c","message":""}' if limit == wire.MAX_BOT_LINE else b'{"type":"quit"}'
        )
        # The line feed counts: a line may fill the limit to the last byte.
        decode(line + b" " * (limit - 1 - len(line)))
        with pytest.raises(ProtocolError, match=f"{limit} are allowed"):
            decode(line + b" " * (limit - len(line)))
