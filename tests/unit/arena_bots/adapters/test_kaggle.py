from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.sandbox.tier import Tier
from arena_bots.adapters.kaggle import KaggleBot, Struct, make_bot
from arena_plugins.contract import Limit, Termination
from arena_plugins.errors import OptionError, PluginError, ProtocolError
from arena_plugins.manager import load_bot, load_game
from kaggle_zoo import PLACE, ZOO, Submission, write_submission

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.match import MatchResult
    from arena_plugins.contract import State

    Play = Callable[..., list[MatchResult]]
    Write = Callable[..., Path]

GAME = load_game("connect-four")
TWO_SECONDS = Limit(seconds=2.0)
HUMAN = """
import random
def helper(obs): return [c for c in range(7) if obs["board"][c] == 0]
def agent(observation, configuration):
    print("thinking about", observation.step)
    return random.choice([c for c in range(configuration.columns) if not observation.board[c]])
"""
TELLING = """
class Told(Exception): pass
def agent(obs, conf): raise Told(obs, conf)
"""


def bot_of(path: Path, spec: str = "connect-four", seed: int = 1, **options: str) -> KaggleBot:
    return make_bot(load_game(spec), seed, {"file": str(path), **options})


def told(bot: KaggleBot, state: State, limit: Limit = TWO_SECONDS) -> tuple[Struct, Struct]:
    with pytest.raises(Exception, match="mark") as caught:
        bot.play(state, limit)
    return caught.value.args


@pytest.mark.parametrize(
    "source",
    [
        "def agent(): return 3",
        "def agent(obs): return 3 if obs.mark == 1 else None",
        "def agent(obs, conf): return conf.columns // 2",
        "def agent(obs, conf, memory=[]): return 3",
        "def agent(*rest): return 3 if not rest else None",
        "agent = lambda obs: 3",
        "agent = lambda obs, conf: conf['columns'] // 2",
        "first = lambda obs: 0\nagent = lambda: 3",
        "class Agent:\n  def __call__(self, obs, conf): return conf.inarow - 1\nagent = Agent()",
        "class Agent:\n  def __call__(self, obs): return 3\nagent = Agent()",
        "class Agent:\n  def __call__(self, *both): return len(both) + 1\nagent = Agent()",
        "class Agent:\n  def act(self, obs, conf): return conf.inarow - 1\nagent = Agent().act",
        "class Agent:\n  def act(self, obs): return 3\nagent = Agent().act",
        "from functools import partial\nagent = partial(lambda move, obs, conf: move, 3)",
        "import numpy as np\ndef agent(obs): return np.int64(3)",
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n  x: 'int'\ndef agent(): return A(3).x",
    ],
)
def test_the_last_callable_gets_the_arguments_it_takes(source: str, write: Write) -> None:
    assert bot_of(write(source)).play(GAME.initial_state(), TWO_SECONDS).action == 3


def test_the_agent_is_told_what_kaggle_tells(write: Write, after: Callable[..., State]) -> None:
    path = write(TELLING)
    state = after(load_game("connect-four:cols=5,k=3,rows=4"), 2, 2, 0)
    observation, configuration = told(bot_of(path, "connect-four:cols=5,k=3,rows=4"), state)
    board = [0] * 12 + [0, 0, 2, 0, 0, 1, 0, 1, 0, 0]
    assert observation == {"board": board[2:], "mark": 2, "step": 3, "remainingOverageTime": 60.0}
    assert configuration == {
        "rows": 4,
        "columns": 5,
        "inarow": 3,
        "actTimeout": 2,
        "timeout": 2,
        "agentTimeout": 60.0,
        "episodeSteps": 1000,
        "runTimeout": 1200,
        "__raw_path__": str(path),
    }
    assert isinstance(configuration.timeout, int)
    assert (observation.mark, observation.board) == (observation["mark"], observation["board"])


def test_the_time_of_a_move_is_the_limit(write: Write) -> None:
    bot = bot_of(write(TELLING))
    times = [
        told(bot, GAME.initial_state(), Limit(seconds=seconds))[1].actTimeout for seconds in (0.5, 3.0, None)
    ]
    assert times == [0.5, 3, 2]


def test_time_beyond_the_limit_is_taken_off_the_bank(write: Write) -> None:
    source = "left = []\ndef agent(obs):\n  left.append(obs.remainingOverageTime)\n  return len(left)"
    bot = bot_of(write(source + "if len(left) < 3 else str(left)"))
    for _ in range(2):
        bot.play(GAME.initial_state(), Limit(seconds=0.0))
    with pytest.raises(ProtocolError) as caught:
        bot.play(GAME.initial_state(), Limit(seconds=0.0))
    first, second, third = (float(number) for number in re.findall(r"[0-9.]{4,}", str(caught.value)))
    assert first == 60
    assert 60 > second > third > 0
    small = bot_of(write(TELLING), overage="1.5")
    assert told(small, GAME.initial_state())[0].remainingOverageTime == 1.5


def test_the_bank_of_the_match_is_the_true_one(write: Write) -> None:
    bot = bot_of(write(TELLING), overage="1.5")
    shown = [
        told(bot, GAME.initial_state(), Limit(seconds=2.0, bank=bank))[0].remainingOverageTime
        for bank in (60.0, 59.25, 0.0)
    ]
    assert shown == [60.0, 59.25, 0.0]


def test_an_agent_may_change_what_it_is_given(write: Write) -> None:
    bot = bot_of(
        write("def agent(obs):\n  obs.board[0] += 1\n  obs.mine = 1\n  return obs['mine'] + obs.board[0]")
    )
    for _ in range(2):
        assert bot.play(GAME.initial_state(), TWO_SECONDS).action == 2


def test_a_struct_lacks_what_it_lacks() -> None:
    assert not hasattr(Struct(rows=6), "row")
    with pytest.raises(AttributeError, match=r"no row here \(but rows\)"):
        _ = Struct(rows=6).row


@pytest.mark.parametrize("answer", ["None", "True", "3.0", "'3'", "[3]", "10**30"])
def test_no_integer_is_no_answer(answer: str, write: Write) -> None:
    bot = bot_of(write(f"def agent(): return {answer}"))
    with pytest.raises(ProtocolError, match="the agent's answer"):
        bot.play(GAME.initial_state(), TWO_SECONDS)


def test_globals_are_fresh_and_chance_is_seeded(write: Write) -> None:
    path = write("import random, numpy\ndef agent(): return random.randrange(6) + numpy.random.randint(2)")
    drawn: list[list[int]] = []
    for seed in (2**50, 2**50, 1):
        bot = bot_of(path, seed=seed)
        drawn.append([bot.play(GAME.initial_state(), TWO_SECONDS).action for _ in range(9)])
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_file_beside_it_can_be_imported(write: Write) -> None:
    write("COLUMN = 5", "beside_the_agent.py")
    path = write("from beside_the_agent import COLUMN\ndef agent(): return COLUMN")
    assert bot_of(path).play(GAME.initial_state(), TWO_SECONDS).action == 5


def test_what_cannot_be_an_agent_is_refused(write: Write) -> None:
    with pytest.raises(PluginError, match=r"agent\.py defines no function"):
        bot_of(write("x = 1"))
    with pytest.raises(PluginError, match="connect-four, not tic-tac-toe"):
        bot_of(write(HUMAN), "tic-tac-toe")
    with pytest.raises(PluginError, match=r"agent\.py is not valid Python: invalid syntax \(line 1\)$"):
        load_bot(f"kaggle:file={write('def')}", GAME, seed=1)
    with pytest.raises(OptionError, match=r'no file "nowhere\.py"; write kaggle:file='):
        load_bot("kaggle:file=nowhere.py", GAME, seed=1)
    with pytest.raises(OptionError, match='no option "fiel"; did you mean "file"'):
        load_bot("kaggle:fiel=nowhere.py", GAME, seed=1)


@pytest.mark.parametrize(("module", "package"), [("torch", "torch"), ("cv2", "opencv-python-headless")])
def test_a_missing_library_is_named_with_its_command(
    module: str, package: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = write(f"import {module}\ndef agent(obs): return 3")
    words = rf"agent\.py imports {module}, which is neither installed nor .*; run pip install {package} or"
    with pytest.raises(PluginError, match=words):
        bot_of(path)


def test_an_archive_in_this_process_is_refused_in_words(tmp_path: Path) -> None:
    path = write_submission(ZOO["folder with a helper"]._replace(packed=".tar.gz"), tmp_path)
    with pytest.raises(OptionError, match="of its own; leave out --isolation none, or unpack it"):
        bot_of(path)


def test_two_agents_in_one_process_keep_their_files_and_helpers(tmp_path: Path) -> None:
    agents: list[KaggleBot] = []
    for column in "25":
        source = "import json\nfrom pathlib import Path\nfrom helper import C\ndef agent(obs):\n  "
        files = {
            "main.py": f"{source}return C if json.loads(Path('{PLACE}/data').read_text()) == C else 0",
            "helper.py": f"C = {column}",
            "data": column,
        }
        agents.append(bot_of(write_submission(Submission(files), tmp_path, f"team-{column}")))
    for _ in range(2):
        assert [bot.play(GAME.initial_state(), TWO_SECONDS).action for bot in agents] == [2, 5]
    assert not Path(PLACE).exists()


def test_the_folder_of_an_agent_comes_last(write: Write, tmp_path: Path) -> None:
    write("import nothing_here", "json.py")
    for _ in range(2):
        bot_of(write("import json\ndef agent(): return 3"))
    assert sys.path[-1] == str(tmp_path)
    assert sys.path.count(str(tmp_path)) == 1


@pytest.mark.parametrize("game", ["connect-four", "connect-four:cols=5,k=3,rows=4"])
def test_it_plays_matches(play: Play, write: Write, game: str) -> None:
    path = write(HUMAN.replace("range(7)", "range(configuration.columns)"))
    results = play(f"kaggle:file={path}", "random", game, matches=3)
    assert [result.termination for result in results] == [Termination.RULES] * 3
    assert all(result.tier == "T1" for result in results)


@pytest.mark.parametrize("tier", [Tier.T0, Tier.T1])
@pytest.mark.parametrize(
    ("body", "termination"),
    [
        ("return None", Termination.MALFORMED),
        ("return 9", Termination.ILLEGAL_MOVE),
        ("return obs.nothing", Termination.BOT_ERROR),
        ("import sys; sys.exit(3)", Termination.CRASH),
    ],
)
def test_a_bad_agent_forfeits(
    play: Play, write: Write, body: str, termination: Termination, tier: Tier
) -> None:
    path = write(f"def agent(obs, conf):\n  if obs.step < 2: return 3\n  {body}")
    (result,) = play(f"kaggle:file={path}", "random", tier=tier)
    assert (result.termination, result.fault_player, len(result.actions)) == (termination, 0, 2)


def test_two_agents_of_one_name_play_each_other(play: Play, write: Write) -> None:
    path = write(HUMAN)
    (result,) = play(f"kaggle:file={path}", f"kaggle:file={path}")
    assert result.termination is Termination.RULES
