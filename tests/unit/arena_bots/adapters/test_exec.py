from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.executor.worker_seats import make_seat
from arena.sandbox.tier import Tier
from arena_plugins.conformance import assert_conforms, check_bot
from arena_plugins.contract import Limit, Termination
from arena_plugins.errors import BotError, OptionError, PluginError, ProtocolError
from arena_plugins.manager import load_bot, load_game
from arena_plugins.program import exec_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.match import MatchResult

    Play = Callable[..., list[MatchResult]]
    Write = Callable[..., Path]

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "first-legal.sh"
SHELL = f"exec:cmd=sh {EXAMPLE}"
GAME = load_game("tic-tac-toe")
PROGRAM = """
import json, os, sys
def say(**message): print(json.dumps(message), flush=True)
before = None
for line in sys.stdin:
    asked = json.loads(line)
    match asked["type"]:
        case "hello":
            nonce = asked["nonce"]
            {hello}
            say(type="hello", protocol=1, name="x", version="1", games=[], nonce=nonce)
        case "new_match":
            match = asked["match"]
            say(type="ready", match=match, deterministic=True) if {ready} else say(type="pong", n=1)
        case "go":
            id, first = asked["id"], asked["legal"][0]
            {go}
"""
THOUGHTS = """
            say(type="info", id=id, value=0.5, nodes=7, depth=2, pv=[first], text="hm", policy=[[first, 1.0]])
            say(type="action", id=id, action=first, visits=[[first, 3]])
"""


REFUSE = "say(type='error', code='bad_option', message='no level 9')"


def spec(write: Write, *, hello: str = "pass", ready: object = True, go: str = "pass") -> str:
    return f"exec:cmd={sys.executable} -I -S {write(PROGRAM.format(hello=hello, ready=ready, go=go.strip()))}"


@pytest.mark.parametrize("game", ["connect-four", "gomoku", "tic-tac-toe"])
def test_the_example_plays_every_game(play: Play, game: str) -> None:
    results = play(SHELL, game=game, matches=2) + play("random", SHELL, game)
    assert [result.termination for result in results] == [Termination.RULES] * 3


def test_the_program_is_started_in_place_of_a_host(play: Play, write: Write) -> None:
    go = "say(type='error', id=id, code='parent', message=str(os.getppid()))"
    (result,) = play(spec(write, go=go), game="tic-tac-toe")
    assert result.fault is not None
    assert result.fault["cause"] == f"it reported parent: {os.getpid()}"


def test_the_example_is_what_the_page_shows() -> None:
    page = (EXAMPLE.parents[1] / "how-to" / "enter-foreign-bots.md").read_text(encoding="utf-8")
    assert f"```sh\n{EXAMPLE.read_text(encoding='utf-8')}```\n" in page


@pytest.mark.parametrize("game", ["connect-four", "gomoku:k=4,size=6", "tic-tac-toe"])
def test_the_example_keeps_the_contract(game: str) -> None:
    assert_conforms(check_bot(SHELL, game, seconds=0.5, nodes=50))


def test_without_isolation(play: Play) -> None:
    (result,) = play(SHELL, "random", "tic-tac-toe", tier=Tier.T0)
    assert (result.termination, result.tier) == (Termination.RULES, "T0")


def test_thoughts_come_through(write: Write) -> None:
    bot = load_bot(spec(write, go=THOUGHTS), GAME, seed=1)
    result = bot.play(GAME.initial_state(), Limit(seconds=1.0, nodes=9))
    assert (result.action, result.value, result.nodes, result.depth) == (0, 0.5, 7, 2)
    assert (result.pv, result.text, result.policy, result.visits) == ((0,), "hm", {0: 1.0}, {0: 3})
    assert getattr(bot, "deterministic", None) is True


@pytest.mark.parametrize(
    ("go", "error", "text"),
    [
        ("say(type='error', id=id, code='lost', message='no way')", BotError, "it reported lost: no way"),
        ("say(type='action', id='other', action=0)", BotError, "out of order"),
        ("say(type='action', id=id, action=None)", ProtocolError, "not an arena-bot/1 message"),
        ("sys.exit(3)", SystemExit, "3"),
    ],
)
def test_a_failure_is_the_bots(write: Write, go: str, error: type[BaseException], text: str) -> None:
    bot = load_bot(spec(write, go=go), GAME, seed=1)
    with pytest.raises(error, match=text):
        bot.play(GAME.initial_state(), Limit())


def test_it_may_resign(write: Write) -> None:
    bot = load_bot(spec(write, go="say(type='resign', id=id)"), GAME, seed=1)
    assert bot.play(GAME.initial_state(), Limit()).resign


def test_a_wrong_greeting_is_refused(write: Write) -> None:
    with pytest.raises(PluginError, match="to hello"):
        load_bot(spec(write, hello="nonce = 'mine'"), GAME, seed=1)
    bot = load_bot(spec(write, ready=False), GAME, seed=1)
    with pytest.raises(BotError, match=r"Pong.* out of order"):
        bot.play(GAME.initial_state(), Limit())


def test_a_program_may_refuse_an_option(write: Write) -> None:
    with pytest.raises(OptionError, match="no level 9"):
        load_bot(spec(write, hello=f"{REFUSE}; continue"), GAME, seed=1)
    bot = load_bot(spec(write, ready=REFUSE), GAME, seed=1)
    with pytest.raises(OptionError, match="no level 9"):
        bot.play(GAME.initial_state(), Limit())


def test_another_error_at_the_start(write: Write) -> None:
    with pytest.raises(PluginError, match="it reported lost: no way"):
        load_bot(
            spec(write, hello="say(type='error', code='lost', message='no way'); continue"), GAME, seed=1
        )


def test_a_bank_that_shrinks_begins_no_new_match(write: Write) -> None:
    go = "say(type='action', id=id, action=0, visits=[[0, int(match == before)]]); before = match"
    bot = load_bot(spec(write, go=go), GAME, seed=1)
    state = GAME.initial_state()
    visits = [bot.play(state, Limit(seconds=1.0, bank=bank)).visits for bank in (60.0, 59.0)]
    visits.append(bot.play(state, Limit(seconds=2.0, bank=59.0)).visits)
    assert visits == [{0: 0}, {0: 1}, {0: 0}]


@pytest.mark.parametrize(
    ("go", "termination"),
    [
        ("say(type='action', id=id, action=99)", Termination.ILLEGAL_MOVE),
        ("say(type='action', id=id, action='0')", Termination.MALFORMED),
        ("sys.exit(3)", Termination.CRASH),
    ],
)
def test_the_referee_judges_it_as_any_bot(
    play: Play, write: Write, go: str, termination: Termination
) -> None:
    (result,) = play(spec(write, go=go), game="tic-tac-toe")
    assert (result.termination, result.fault_player) == (termination, 0)


def test_options_are_checked() -> None:
    for text, message in (("exec", "exec needs a program"), ("exec:cmd=sh,x=1", 'exec has no option "x"')):
        competitor = resolve([text], margin_ms=0)[0]
        with pytest.raises(OptionError, match=message):
            make_seat(competitor, "tic-tac-toe", Tier.T1)
        with pytest.raises(OptionError, match=message):
            load_bot(text, GAME, seed=1)


def test_files_in_a_command_are_known_by_their_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("here", "my bots"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bot.sh").write_text("exit")
    monkeypatch.chdir(tmp_path / "my bots")
    there = resolve(["exec:cmd=sh -e bot.sh"], margin_ms=0)[0]
    assert there.label == there.record.spec == "exec:cmd=sh -e bot.sh"
    assert exec_command(there.options_here()) == ["sh", "-e", str(tmp_path / "my bots" / "bot.sh")]
    assert exec_command(there.options_at("/bot")) == [shutil.which("sh"), "-e", "/bot/cmd/bot.sh"]
    here = resolve([f"exec:cmd=sh -e {tmp_path}/here/bot.sh"], margin_ms=0)[0]
    assert here.record.identity == there.record.identity
    assert resolve([there.spec], margin_ms=0)[0] == there
    (tmp_path / "here" / "bot.sh").write_text("exit 1")
    assert resolve([here.spec], margin_ms=0)[0].record.identity != here.record.identity
    plain = resolve(["exec:cmd=sh -e nothing.sh"], margin_ms=0)[0]
    assert (plain.options["cmd"], plain.record.files) == ("sh -e nothing.sh", "{}")
