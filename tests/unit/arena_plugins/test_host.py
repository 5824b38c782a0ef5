"""The host's answers, message by message, in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_plugins import ProtocolError, wire
from arena_plugins.command import Start, host_command
from arena_plugins.host import Host, describe, read_lines, serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    WriteModule = Callable[[str], str]

HELLO = wire.ArenaHello([1, 2], "arena", wire.Limits(), "nonce")
TC = wire.ClockSpec("move", 1000, 0, 0, 50)
CLOCK = wire.Clock(1000, 1000)
BOT = """
from arena_plugins import OptionError, PlayResult, hookimpl
class Bot:
    def play(self, state, limit):
        {play}
@hookimpl
def make_bot(game, seed, options):
    {make}
    return Bot()
"""

pytestmark = pytest.mark.usefixtures("third_party")


def start(entry: str = "misere_bots", **options: str) -> Start:
    games = {"misere": "misere"}
    return Start(entry=entry, name="mine", version="1.2", options=options, games=games, path=[])


def new_match(seed: int = 5, size: int = 3, match: str = "m1") -> wire.NewMatch:
    game = wire.GameSpec("misere", {"size": size})
    return wire.NewMatch(match, game, size * size, 0, seed, TC)


def go(*actions: int, opening: int = 0) -> wire.Go:
    legal = [action for action in range(9) if action not in actions]
    return wire.Go("g1", list(actions), opening, legal, CLOCK)


def playing(entry: str = "misere_bots", **options: str) -> Host:
    host = Host(start(entry, **options))
    host.handle(HELLO)
    (ready,) = host.handle(new_match())
    assert isinstance(ready, wire.Ready), ready
    return host


def error(answers: list[wire.Message]) -> tuple[str, str]:
    (answer,) = answers
    assert isinstance(answer, wire.Error), answer
    return answer.code, answer.message


def test_a_whole_match() -> None:
    host = Host(start())
    assert host.handle(HELLO) == [wire.BotHello(1, "mine", "1.2", ["misere"], "nonce", board=False)]
    assert host.handle(new_match()) == [wire.Ready("m1", deterministic=True)]
    info, action = host.handle(go())
    assert info == wire.Info("g1", value=0.5, nodes=1, text="[1mhi")
    assert action == wire.Action("g1", 0, 0.5)
    assert host.handle(go(0, 1))[1] == wire.Action("g1", 2, 0.5)
    assert host.handle(wire.MatchOver("m1", "first", "rules")) == []
    assert host.handle(wire.Ping(7)) == [wire.Pong(7)]
    assert host.exit_code is None
    assert host.handle(wire.Quit()) == []
    assert host.exit_code == 0


def test_any_history_is_followed() -> None:
    host = playing()
    for actions, answer in (((0, 1), 2), ((0, 1, 2, 5), 3), ((8, 0), 1), ((), 0), ((0,), 1)):
        assert host.handle(go(*actions))[1] == wire.Action("g1", answer, 0.5)


def test_no_common_protocol() -> None:
    host = Host(start())
    hello = wire.ArenaHello([2], "arena", wire.Limits(), "n")
    assert error(host.handle(hello)) == ("no_common_protocol", "this host speaks arena-bot/1 only")
    assert host.exit_code == 1


@pytest.mark.parametrize(
    ("source", "code", "message", "exit_code"),
    [
        ("raise RuntimeError('no\\nlicence')", "init_error", "RuntimeError: no licence", 1),
        ("x = 1", "init_error", "has no hook make_bot", 1),
        ("raise MemoryError", "oom", "MemoryError", 1),
    ],
)
def test_a_bot_that_cannot_be_loaded(
    write_module: WriteModule, source: str, code: str, message: str, exit_code: int
) -> None:
    host = Host(start(write_module(source)))
    found, text = error(host.handle(HELLO))
    assert (found, host.exit_code) == (code, exit_code)
    assert message in text


@pytest.mark.parametrize(
    ("make", "code", "message", "exit_code"),
    [
        ("raise OptionError('mine has no option \"x\"')", "bad_option", 'mine has no option "x"', 2),
        ("raise KeyError('x')", "init_error", "KeyError: 'x'", 1),
        ("return None", "init_error", "has no play", 1),
        ("raise MemoryError", "oom", "MemoryError", 1),
    ],
)
def test_a_bot_that_cannot_be_made(
    write_module: WriteModule, make: str, code: str, message: str, exit_code: int
) -> None:
    host = Host(start(write_module(BOT.format(play="pass", make=make))))
    host.handle(HELLO)
    found, text = error(host.handle(new_match()))
    assert (found, host.exit_code) == (code, exit_code)
    assert message in text
    assert error(host.handle(go()))[0] == "protocol_order"


def test_a_game_it_was_not_given() -> None:
    host = Host(start())
    host.handle(HELLO)
    match = wire.NewMatch("m", wire.GameSpec("chess", {}), 9, 0, 1, TC)
    assert error(host.handle(match)) == ("init_error", 'this host was not given the game "chess"')


def test_refused_params_are_no_option_of_the_bot() -> None:
    host = Host(start())
    host.handle(HELLO)
    code, message = error(host.handle(new_match(size=9)))
    assert (code, host.exit_code) == ("init_error", 1)
    assert "size=9" in message


def test_messages_out_of_order() -> None:
    host = Host(start())
    assert error(host.handle(go())) == ("protocol_order", "go came before ready")
    assert error(host.handle(new_match())) == ("init_error", "a match began before hello")


@pytest.mark.parametrize(
    ("play", "code", "message"),
    [
        ("raise ValueError('bad \\x1b[1m')", "bot_error", "ValueError: bad [1m"),
        ("raise MemoryError", "oom", "out of memory"),
        ("return 3", "bot_error", "play returned 3 (int), not a PlayResult; return PlayResult(action)"),
        ("return PlayResult(True)", "bot_error", "the action is True, a bool"),
        ("return self.play(state, limit)", "bot_error", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_a_bot_that_fails_forfeits(write_module: WriteModule, play: str, code: str, message: str) -> None:
    host = playing(write_module(BOT.format(play=play, make="pass")))
    found, text = error(host.handle(go()))
    assert found == code
    assert text.startswith(message)


def test_a_bot_may_resign(write_module: WriteModule) -> None:
    module = write_module(BOT.format(play="return PlayResult(0, resign=True)", make="pass"))
    assert playing(module).handle(go()) == [wire.Resign("g1")]


@pytest.mark.parametrize("exception", [SystemExit, KeyboardInterrupt])
def test_leaving_is_no_answer(write_module: WriteModule, exception: type[BaseException]) -> None:
    host = playing(write_module(BOT.format(play=f"raise {exception.__name__}(3)", make="pass")))
    with pytest.raises(exception):
        host.handle(go())


def test_rules_that_differ_are_told() -> None:
    assert error(playing().handle(go(0, 0)))[0] == "rules_mismatch"
    assert error(playing().handle(go(99)))[0] == "rules_mismatch"


def test_a_bot_gets_limit_options_and_seed(write_module: WriteModule) -> None:
    play = "return PlayResult(0, text=f'{limit.seconds} {limit.nodes} {self.given}')"
    make = "Bot.given = (game.params, seed, dict(options))"
    host = playing(write_module(BOT.format(play=play, make=make)), depth="3")
    info = host.handle(go())[0]
    assert isinstance(info, wire.Info)
    assert info.text == "1.0 None ({'size': 3}, 5, {'depth': '3'})"


def test_own_moves_are_counted_without_the_opening(write_module: WriteModule) -> None:
    module = write_module(BOT.format(play="return PlayResult(0, text=str(limit.seconds))", make="pass"))
    host = playing(module)
    tc = wire.ClockSpec("fischer", 10**8, 10_000, 0, 0, moves=2)
    for player, actions, opening, seconds in (
        (0, (), 0, "5.0"),
        (0, (0, 1), 0, "10.0"),
        (0, (0, 1, 3, 4), 0, "5.0"),
        (0, (0, 1), 2, "5.0"),
        (1, (0, 1, 3), 1, "10.0"),
        (1, (0, 1, 3), 3, "5.0"),
    ):
        match = new_match()
        host.handle(msgspec.structs.replace(match, player=player, tc=tc))
        clock = wire.Clock(10_000, 0)
        info = host.handle(msgspec.structs.replace(go(*actions, opening=opening), clock=clock))[0]
        assert isinstance(info, wire.Info)
        assert info.text == seconds, (player, actions, opening)


def test_a_bot_is_kept_only_when_it_can_start_anew(write_module: WriteModule) -> None:
    fresh = BOT.format(play="return PlayResult(0, text=str(id(type(self).made)))", make="Bot.made = object()")
    warm = BOT.replace("class Bot:", "class Bot:\n    def new_match(self, seed): self.seed = seed")
    warm = warm.format(play="return PlayResult(0, text=str(self.seed))", make="Bot.seed = 0")
    for source, kept in ((fresh, False), (warm, True)):
        host = playing(write_module(source))
        bots = [host._bot]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what the test is about
        for match in (new_match(6), new_match(7), new_match(8, size=4), new_match(9)):
            assert host.handle(match)[0] == wire.Ready("m1")
            bots.append(host._bot)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what the test is about
        assert (bots[0] is bots[1] is bots[2]) is kept
        # Another game always needs another bot.
        assert bots[2] is not bots[3] is not bots[4]


def test_a_new_match_that_fails(write_module: WriteModule) -> None:
    source = BOT.replace("class Bot:", "class Bot:\n    def new_match(self, seed): raise OSError('gone')")
    host = playing(write_module(source.format(play="pass", make="pass")))
    assert error(host.handle(new_match(6))) == ("init_error", "OSError: gone")
    assert host.exit_code == 1


def test_an_exception_without_a_text() -> None:
    class Mute(Exception):  # noqa: N818 - its name is in the text
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(Mute()) == "Mute: its text cannot be read"
    assert describe(AssertionError()) == "AssertionError"
    assert len(describe(ValueError("x" * 10_000))) == 500


class Pipe:
    """Both ends of a pipe."""

    def __init__(self, *chunks: bytes) -> None:
        self.reader, self.writer = os.pipe()
        for chunk in chunks:
            os.write(self.writer, chunk)
        if chunks:
            self.close(self.writer)

    def close(self, *ends: int) -> None:
        for end in ends or (self.reader, self.writer):
            os.close(end)


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b""))))
def test_lines_are_split(lines: list[bytes]) -> None:
    pipe = Pipe(
        b"".join(line + ending for line, ending in zip(lines, [b"\n", b"\r\n"] * 99, strict=False)) + b"x"
    )
    assert list(read_lines(pipe.reader)) == [line for line in lines if line]
    pipe.close(pipe.reader)


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "line").write_bytes(b"x" * wire.MAX_ARENA_LINE)
    fd = os.open(tmp_path / "line", os.O_RDONLY)
    with pytest.raises(ProtocolError, match="a line of more than"):
        list(read_lines(fd))
    os.close(fd)


def served(*messages: bytes) -> tuple[int, list[wire.BotMessage]]:
    argument = msgspec.json.encode(start()).decode()
    asked, answered = Pipe(*messages), Pipe()
    code = serve(argument, asked.reader, answered.writer)
    answered.close(answered.writer)
    answers = [wire.decode_bot(line) for line in read_lines(answered.reader)]
    asked.close(asked.reader)
    answered.close(answered.reader)
    return code, answers


def test_serving_until_quit() -> None:
    code, answers = served(wire.encode(HELLO) + wire.encode(wire.Quit()) + wire.encode(wire.Ping(1)))
    assert code == 0
    assert [type(answer) for answer in answers] == [wire.BotHello]


def test_serving_until_the_end_of_input() -> None:
    assert served(wire.encode(wire.Ping(1))) == (0, [wire.Pong(1)])


def test_serving_nonsense() -> None:
    code, answers = served(b"nonsense\n")
    assert code == 1
    assert isinstance(answers[0], wire.Error)
    assert answers[0].code == "malformed"


def test_serving_nobody() -> None:
    asked, answered = Pipe(wire.encode(wire.Ping(1))), Pipe()
    answered.close(answered.reader)
    assert serve(msgspec.json.encode(start()).decode(), asked.reader, answered.writer) == 0
    asked.close(asked.reader)
    answered.close(answered.writer)


COLLECTED = """
import gc, weakref
from arena_plugins import PlayResult, hookimpl
loading = gc.get_threshold()[0]
bots = []
class Bot:
    def __init__(self):
        self.itself = self
        bots.append(weakref.ref(self))
    def play(self, state, limit):
        said = f"{loading} {gc.get_threshold()[0] > 0} {gc.get_freeze_count() > 0}"
        gc.collect()
        return PlayResult(state.legal_actions[0], text=f"{said} {sum(bot() is not None for bot in bots)}")
@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""
"""A bot that only the garbage collector can release, and that reports the collector's work."""


def texts(write_module: WriteModule, source: str) -> list[str | None]:
    """Return a bot's texts in two matches in a separate process, whose garbage collector it may configure."""
    command = host_command(
        sys.executable,
        entry=write_module(source),
        name="mine",
        version="1",
        options={},
        games={"misere": "misere"},
        path=sys.path,
    )
    messages = [HELLO, new_match(), go(), new_match(match="m2"), go(), wire.Quit()]
    done = subprocess.run(  # noqa: S603 - our own host
        command, input=b"".join(map(wire.encode, messages)), stdout=subprocess.PIPE, timeout=60, check=True
    )
    answers = [wire.decode_bot(line) for line in done.stdout.splitlines()]
    return [answer.text for answer in answers if isinstance(answer, wire.Info)]


def test_garbage_is_collected_from_the_first_match_on(write_module: WriteModule) -> None:
    assert texts(write_module, COLLECTED) == ["0 True True 1", "0 True False 1"]


@pytest.mark.parametrize(
    ("setting", "said"), [("gc.set_threshold(5)", "5 True False 1"), ("", "0 True True 1")]
)
def test_a_bot_keeps_its_own_thresholds(write_module: WriteModule, setting: str, said: str) -> None:
    source = COLLECTED.replace("loading =", f"{setting}\nloading =")
    assert texts(write_module, source)[0] == said
