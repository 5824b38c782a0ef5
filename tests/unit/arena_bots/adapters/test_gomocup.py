from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gomocup_engines
from arena.referee.timecontrol import TimeControl
from arena_bots.adapters.child import ENGINE_FDS
from arena_bots.adapters.gomocup import GomocupBot, make_bot
from arena_plugins.contract import Limit, Termination
from arena_plugins.errors import BotError, BotTimeoutError, OptionError, PluginError, ProtocolError
from arena_plugins.manager import load_bot, load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.match import MatchResult
    from arena_plugins.contract import Game, State

    Play = Callable[..., list[MatchResult]]
    After = Callable[..., State]

ENGINE = Path(__file__).with_name("fake_engine.py")
GAME = load_game("gomoku")
LIMIT = Limit(seconds=1.5)


class Told:
    """A bot with a fake engine, and the lines that the engine received."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "told"
        self._num_read = 0

    def cmd(self, fault: str = "", end: str = "crlf") -> str:
        return f"{sys.executable} -I -S {ENGINE} {self._log} {end} {fault}"

    def bot(self, fault: str = "", *, game: Game = GAME, end: str = "crlf", **options: str) -> GomocupBot:
        return make_bot(game, 1, {"cmd": self.cmd(fault, end), **options})

    def lines(self) -> list[str]:
        """Return the lines since the last call, of those that ended in CR LF."""
        lines = self._log.read_bytes().split(b"\r\n")[:-1]
        new, self._num_read = lines[self._num_read :], len(lines)
        return [line.decode() for line in new]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


# The adapter reserves 5 ms. ABOUT follows a new INFO, so that its answer marks the end of the answers to
# INFO.
TIME = ["INFO timeout_turn 1495", "ABOUT"]


def test_a_match_as_first_and_as_second(told: Told, after: After) -> None:
    bot = told.bot()
    result = bot.play(GAME.initial_state(), LIMIT)
    assert (result.action, result.text) == (0, "[1m cell")
    assert told.lines() == [
        "START 15",
        "INFO max_memory 367001600",
        "INFO timeout_match 0",
        "INFO game_type 1",
        "INFO rule 0",
        f"INFO folder {Path.cwd()}",
        "INFO time_left 2147483647",
        "ABOUT",
        *TIME,
        "BEGIN",
    ]
    # Action 16 is the second column of the second row.
    assert bot.play(after(GAME, 0, 16), LIMIT).action == 1
    assert bot.play(after(GAME, 0, 16, 1, 29), LIMIT).action == 2
    assert told.lines() == ["TURN 1,1", "TURN 14,1"]
    second = told.bot(memory="64")
    assert second.play(after(GAME, 1), LIMIT).action == 0
    lines = told.lines()
    assert lines[1] == "INFO max_memory 67108864"
    assert lines[-3:] == [*TIME, "TURN 1,0"]


def test_openings_and_jumps_are_told_as_a_board(told: Told, after: After) -> None:
    bot = told.bot()
    assert bot.play(after(GAME, 16, 30, 17), LIMIT).action == 0
    assert told.lines()[8:] == [*TIME, "BOARD", "1,1,2", "0,2,1", "2,1,2", "DONE"]
    assert bot.play(after(GAME, 16, 30, 17, 0, 18), LIMIT).action == 1
    assert told.lines() == ["TURN 3,1"]
    # Now the engine plays for the other side, then the same position again, then from the start.
    assert bot.play(after(GAME, 16, 30), LIMIT).action == 0
    assert told.lines() == ["RESTART", "BOARD", "1,1,1", "0,2,2", "DONE"]
    assert bot.play(after(GAME, 16, 30), LIMIT).action == 0
    assert told.lines() == ["RESTART", "BOARD", "1,1,1", "0,2,2", "DONE"]
    assert bot.play(GAME.initial_state(), Limit()).action == 0
    # A setting that the engine has accepted is sent without ABOUT. Without a limit the engine gets one
    # second, or it would never end its search.
    assert told.lines() == ["RESTART", "INFO timeout_turn 995", "BEGIN"]


def test_an_engine_without_restart_is_started_again(told: Told) -> None:
    bot = told.bot("no-restart")
    for _ in range(2):
        assert bot.play(GAME.initial_state(), LIMIT).action == 0
    lines = told.lines()
    again = lines.index("RESTART")
    # After a restart the engine may have lost its earlier settings, too.
    assert lines[again + 1 : again + 3] == ["START 15", "INFO max_memory 367001600"]


@pytest.mark.parametrize("end", ["crlf", "lf", "cr"])
@pytest.mark.parametrize("answer", ["", "blank", "suggest"])
def test_line_ends_and_ways_to_answer(told: Told, end: str, answer: str) -> None:
    bot = told.bot(answer, end=end)
    assert bot.play(GAME.initial_state(), LIMIT).action == 0


def test_exact_five_is_rule_1(told: Told) -> None:
    game = load_game("gomoku:exact=on,size=19")
    told.bot(game=game).play(game.initial_state(), LIMIT)
    assert told.lines()[0:5:4] == ["START 19", "INFO rule 1"]


def test_a_board_that_is_no_square(told: Told) -> None:
    game = load_game("gomoku")
    game.shape = (15, 20)
    told.bot(game=game).play(game.initial_state(), LIMIT)
    assert told.lines()[0] == "RECTSTART 20,15"


@pytest.mark.parametrize(
    ("fault", "error", "text"),
    [
        ("error", BotError, "the engine says: ERROR I am lost"),
        ("unknown", BotError, "the engine says: unknown command"),
        ("junk", ProtocolError, 'answered "I would like e5" to BEGIN; a move is column,row'),
        ("long", ProtocolError, "a line of more than 65536 bytes"),
    ],
)
def test_no_move_is_an_error(told: Told, fault: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        told.bot(fault).play(GAME.initial_state(), LIMIT)


@pytest.mark.parametrize(("fault", "code"), [("die", 7), ("kill", 139), ("deaf", 1)])
def test_the_death_of_the_engine_is_the_bots(told: Told, fault: str, code: int) -> None:
    bot = told.bot(fault)
    with pytest.raises(SystemExit) as caught:
        bot.play(GAME.initial_state(), LIMIT)
    assert caught.value.code == code
    with pytest.raises(SystemExit):
        bot.play(GAME.initial_state(), LIMIT)


def test_an_engine_the_arena_started(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(told.cmd().split(), bufsize=0, stdin=pipe, stdout=pipe) as engine:  # noqa: S603 - our own
        assert engine.stdin is not None
        assert engine.stdout is not None
        monkeypatch.setenv(ENGINE_FDS, f"{engine.stdout.fileno()},{engine.stdin.fileno()}")
        for _ in range(2):
            bot = make_bot(GAME, 1, {"cmd": "/nowhere/engine"})
            assert bot.play(GAME.initial_state(), LIMIT).action == 0
            bot.close()
        engine.kill()
        with pytest.raises(SystemExit):
            make_bot(GAME, 1, {"cmd": "/nowhere/engine"})


def zoo(name: str, *words: str, **options: str) -> GomocupBot:
    cmd = " ".join([sys.executable, "-I", "-S", gomocup_engines.__file__, name, *words])
    return make_bot(GAME, 1, {"cmd": cmd, **options})


def test_an_engine_that_is_not_ready_at_once_keeps_its_next_command(after: After) -> None:
    ready = zoo("LateState", "0.02", quiet="1000")
    assert ready.play(GAME.initial_state(), LIMIT).action == 0
    assert ready.play(after(GAME, 0, 16), LIMIT).action == 1
    # For twenty milliseconds the engine loses the first word of each line.
    hurried = zoo("LateState", "0.02", quiet="0")
    assert hurried.play(GAME.initial_state(), LIMIT).action == 0
    with pytest.raises(BotError, match="the engine says: UNKNOWN command; no move to TURN 1,1 followed"):
        hurried.play(after(GAME, 0, 16), LIMIT)


def test_refused_settings_are_no_refusal_of_the_next_question(after: After) -> None:
    for name in ("UnknownInfo", "ErrorInfo", "OkInfo", "UnknownAbout", "NoAbout", "SlowRefusal"):
        bot = zoo(name)
        # A board is refused at once, so any refusal of a setting must have been read before.
        assert bot.play(after(GAME, 16, 30, 17), LIMIT).action == 0
        assert bot.play(after(GAME, 16, 30, 17, 0, 18), Limit(seconds=1.0)).action == 1
        assert bot.play(after(GAME, 16, 30), Limit(seconds=2.0)).action == 0


def test_two_moves_are_a_fault_at_once(after: After) -> None:
    began = time.monotonic()
    with pytest.raises(ProtocolError, match='answered "0,0 0,1" to BEGIN'):
        zoo("TwoMoves").play(GAME.initial_state(), Limit(seconds=60))
    with pytest.raises(ProtocolError, match='answered "0,0" and then "0,1"'):
        zoo("TwoLines", quiet="500").play(GAME.initial_state(), Limit(seconds=60))
    late = zoo("TwoLines", quiet="0")
    assert late.play(GAME.initial_state(), Limit(seconds=60)).action == 0
    time.sleep(0.2)
    with pytest.raises(ProtocolError, match='sent "0,1" although it was not its turn'):
        late.play(after(GAME, 0, 16), Limit(seconds=60))
    assert time.monotonic() - began < 40


def test_a_refusal_ends_a_long_wait_after_a_second() -> None:
    began = time.monotonic()
    with pytest.raises(BotError, match="the engine says: ERROR I would not play 0,0; no move to BEGIN"):
        zoo("ErrorMove").play(GAME.initial_state(), Limit(seconds=60))
    assert time.monotonic() - began < 40


def test_after_a_fault_the_board_is_set_up_anew(told: Told) -> None:
    bot = told.bot("error")
    for _ in range(2):
        with pytest.raises(BotError):
            bot.play(GAME.initial_state(), Limit(seconds=0.1))
    assert told.lines()[-2:] == ["RESTART", "BEGIN"]


def test_an_engine_may_end_with_its_last_move(after: After) -> None:
    bot = zoo("Ends", quiet="500")
    assert bot.play(GAME.initial_state(), LIMIT).action == 0
    with pytest.raises(SystemExit):
        bot.play(after(GAME, 0, 16), LIMIT)


def test_what_an_engine_says_after_its_move_is_its_remark() -> None:
    assert zoo("Chatter", quiet="200").play(GAME.initial_state(), LIMIT).text == "your turn"


@pytest.mark.parametrize("name", ["NoRestart", "OneStart"])
def test_another_position_needs_restart_or_start(name: str, after: After) -> None:
    bot = zoo(name)
    assert bot.play(after(GAME, 16, 30), LIMIT).action == 0
    if name == "NoRestart":
        assert bot.play(after(GAME, 17, 31), LIMIT).action == 0
    else:
        with pytest.raises(BotError, match="supports neither RESTART nor a second START"):
            bot.play(after(GAME, 17, 31), LIMIT)


def test_a_silent_engine_is_not_waited_for_for_ever(capfd: pytest.CaptureFixture[str]) -> None:
    bot = zoo("Silent")
    words = "the engine has not answered BEGIN; a Gomocup engine reads standard input and flushes"
    with pytest.raises(BotTimeoutError, match=words):
        bot.play(GAME.initial_state(), Limit(seconds=0.1))
    assert words in capfd.readouterr().err


@pytest.mark.parametrize(
    ("game", "text"),
    [
        ("gomoku:k=4,size=6", "five in a row only, not gomoku with k=4"),
        ("tic-tac-toe", "five in a row only, not tic-tac-toe"),
        ("connect-four", "five in a row only, not connect-four with k=4"),
        ("gomoku:size=21", "the engine does not play on 21x21"),
    ],
)
def test_games_it_does_not_play(told: Told, game: str, text: str) -> None:
    with pytest.raises(PluginError, match=text):
        told.bot(game=load_game(game))


def test_what_cannot_be_an_engine_is_refused() -> None:
    with pytest.raises(PluginError, match="cannot run /nowhere/engine: No such file"):
        load_bot("gomocup:cmd=/nowhere/engine", GAME, seed=1)
    with pytest.raises(OptionError, match="gomocup needs a program; write gomocup:cmd=PATH"):
        load_bot("gomocup", GAME, seed=1)
    with pytest.raises(OptionError, match='no option "comand"; did you mean "cmd"'):
        load_bot("gomocup:comand=x", GAME, seed=1)


def test_it_plays_matches(told: Told, play: Play, tmp_path: Path) -> None:
    results = play(f"gomocup:cmd={told.cmd()}", game="gomoku", matches=2, opening=(112, 113))
    # A log that exists already would be a file of the bot, which is read-only for the engine.
    (tmp_path / "other").mkdir()
    other = Told(tmp_path / "other").cmd(end="cr")
    results += play("random", f"gomocup:cmd={other}", "gomoku:exact=on,size=9", opening=(40,))
    assert [result.termination for result in results] == [Termination.RULES] * 3
    assert all(result.fault is None for result in results)


@pytest.mark.parametrize(
    ("fault", "termination"),
    [
        ("outside", Termination.ILLEGAL_MOVE),
        ("junk", Termination.MALFORMED),
        ("error", Termination.BOT_ERROR),
        ("die", Termination.CRASH),
    ],
)
def test_a_bad_engine_forfeits(told: Told, play: Play, fault: str, termination: Termination) -> None:
    # A large margin for slow machines: the adapter's error after one second must come before the forfeit on
    # time.
    control = TimeControl(mode="move", move_ms=1000, margin_ms=20_000)
    (result,) = play(f"gomocup:cmd={told.cmd(fault)}", game="gomoku", controls=(control, control))
    assert (result.termination, result.fault_player) == (termination, 0)
    assert result.fault is not None
    assert result.fault["exit_code"] == (1 if fault == "die" else None)
