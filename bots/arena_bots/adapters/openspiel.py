"""The bot `openspiel`: a bot of OpenSpiel, which follows the match on an OpenSpiel state."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from arena_plugins.contract import PlayResult
from arena_plugins.errors import PluginError
from arena_plugins.extras import require_modules
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import Game, Limit, State

_SIMULATIONS = 1000
"""Default number of simulations, that of OpenSpiel's own examples."""
_UCT_C = 2.0
"""Default exploration constant, that of OpenSpiel's own examples."""
_TREE_MB = 256
"""Megabytes for the search tree, out of a bot's gigabyte."""
_PROBE = 16
"""Number of simulations that are timed to estimate the duration of one."""
_LEAST_S = 0.001
"""Shortest time limit of a search in seconds; OpenSpiel takes -1 as no limit."""
_TIME_SHARE = 0.9
"""Share of the time that a search uses; the rest is for its last simulation and for sending the answer."""
_MAX_SEED = 2**31 - 1
"""Largest seed that OpenSpiel's C++ bots accept: a signed 32-bit integer."""


class Uniform:
    """Makes OpenSpiel's uniformly random bots."""

    def __init__(self, spiel: Any) -> None:  # noqa: ANN401 - OpenSpiel has no stubs
        self._spiel = spiel

    def settings(self, state: Any, limit: Limit) -> tuple[float, ...]:  # noqa: ANN401, ARG002 - no stubs, no settings
        """Return the settings for a bot in this state: none."""
        return ()

    def make(self, player: int, seed: int, settings: tuple[float, ...]) -> Any:  # noqa: ANN401, ARG002 - as above
        """Make a bot."""
        return self._spiel.make_uniform_random_bot(player, seed)


class Mcts:
    """Makes OpenSpiel's MCTS bots, with random rollouts."""

    def __init__(self, spiel: Any, game: Any, simulations: int, uct_c: float) -> None:  # noqa: ANN401 - as above
        self._spiel = spiel
        self._game = game
        self._simulations = simulations
        self._uct_c = uct_c

    def settings(self, state: Any, limit: Limit) -> tuple[float, ...]:  # noqa: ANN401 - no stubs
        """Return the number of simulations, and the seconds that limit the search instead, or -1.

        OpenSpiel obeys only one of the two limits, so a few simulations are timed to decide which one binds.
        """
        wanted = self._simulations if limit.nodes is None else min(self._simulations, limit.nodes)
        if limit.seconds is None or wanted <= _PROBE:
            return wanted, -1.0
        began = time.perf_counter()
        self.make(0, 0, (_PROBE, -1.0)).mcts_search(state)
        elapsed_s = time.perf_counter() - began
        left_s = _TIME_SHARE * limit.seconds - elapsed_s
        return wanted, -1.0 if elapsed_s / _PROBE * wanted <= left_s else max(left_s, _LEAST_S)

    def make(self, player: int, seed: int, settings: tuple[float, ...]) -> Any:  # noqa: ANN401, ARG002 - it plays for both
        """Make a bot."""
        simulations, seconds = settings
        return self._spiel.MCTSBot(
            self._game,
            self._spiel.RandomRolloutEvaluator(1, seed),
            self._uct_c,
            int(simulations),
            _TREE_MB,
            True,  # noqa: FBT003 - `solve`: stop the search at a proven result
            seed,
            False,  # noqa: FBT003 - `verbose`
            max_wall_clock_time=seconds,
        )


class OpenSpielBot:
    """Follows the match on an OpenSpiel state; keeps one bot as long as side and settings stay the same."""

    deterministic = True

    def __init__(self, game: Any, maker: Uniform | Mcts, seed: int) -> None:  # noqa: ANN401 - OpenSpiel has no stubs
        self._maker = maker
        self._seed = seed
        self._state: Any = game.new_initial_state()
        self._start: Any = self._state.clone()
        self._key: tuple[int, tuple[float, ...]] | None = None
        self._bot: Any = None

    def new_match(self, seed: int) -> None:
        """Begin a match with a new OpenSpiel bot."""
        self._seed = seed
        self._key = None

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the action of OpenSpiel's bot, with its policy if it has one."""
        news = self._advance(state)
        key = (state.current_player, self._maker.settings(self._state, limit))
        if news is None or key != self._key:
            # The ply is part of the seed: bots made one after another must not all draw the same actions.
            seed = (self._seed + len(state.history)) % _MAX_SEED
            self._key, self._bot = key, self._maker.make(key[0], seed, key[1])
            self._bot.restart_at(self._state)
            news = []
        for before, action in news:
            # The bot knows its own actions; it is informed of the opponent's only.
            if before.current_player() != state.current_player:
                self._bot.inform_action(before, before.current_player(), action)
        return self._asked()

    def _asked(self) -> PlayResult:
        if not self._bot.provides_policy():
            return PlayResult(int(self._bot.step(self._state)))
        policy, action = self._bot.step_with_policy(self._state)
        return PlayResult(int(action), policy={int(a): float(p) for a, p in policy})

    def _advance(self, state: State) -> list[tuple[Any, int]] | None:
        """Advance the OpenSpiel state to `state`; return the steps as (position, action).

        Returns None if `state` does not follow from the previous one.
        """
        known = list(self._state.history())
        is_jump = not known or known != list(state.history[: len(known)])
        if is_jump:
            self._state, known = self._start.clone(), []
        news: list[tuple[Any, int]] = []
        for action in state.history[len(known) :]:
            news.append((self._state.clone(), action))
            self._state.apply_action(action)
        return None if is_jump else news


def game_name(game: Game) -> str:
    """Return a game in OpenSpiel's notation; its actions are the same ints.

    Raises:
        PluginError: OpenSpiel does not have the game.
    """
    params = game.params
    match game.name:
        case "connect-four":
            return f"connect_four(rows={params['rows']},columns={params['cols']},x_in_row={params['k']})"
        case "tic-tac-toe":
            return "tic_tac_toe"
        case "gomoku" if params["exact"] == "off":
            return f"gomoku(size={params['size']},connect={params['k']})"
        case "gomoku":
            raise PluginError("OpenSpiel's gomoku lets more than k in a row win; enter it with exact=off")
        case _:
            raise PluginError(f"OpenSpiel's bots are offered for the bundled games only, not for {game.name}")


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> OpenSpielBot:
    """Make the bot; options `bot` (mcts or random), and for mcts `simulations` and `uct_c`.

    Raises:
        OptionError: an option is rejected.
        PluginError: OpenSpiel is not installed, or does not have the game.
    """
    reader = OptionReader("openspiel", options)
    name = reader.choice("bot", "mcts", ("mcts", "random"))
    simulations = reader.integer("simulations", _SIMULATIONS, low=1, high=10**9)
    uct_c = reader.number("uct_c", _UCT_C, low=0.0, high=100.0)
    reader.done()
    theirs = game_name(game)
    require_modules("openspiel", "bot-arena[openspiel]", "pyspiel")
    spiel: Any = importlib.import_module("pyspiel")
    loaded = spiel.load_game(theirs)
    maker = Uniform(spiel) if name == "random" else Mcts(spiel, loaded, simulations, uct_c)
    return OpenSpielBot(loaded, maker, seed)
