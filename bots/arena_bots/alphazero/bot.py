"""The bot `alphazero`: a search guided by a network, or the network alone."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.k_in_a_row import KInARowState
from arena.games.kernels.layout import words_of
from arena.games.notation import spec_of
from arena_bots.alphazero.network import load_net
from arena_bots.alphazero.supported_games import GAMES
from arena_bots.search.budget import Budget
from arena_bots.search.lockstep.forest import DRAW, NOWHERE, UNKNOWN, Rule
from arena_bots.search.lockstep.search import MOST_ENDINGS, LockstepSearch, LockstepSettings, most_endings
from arena_bots.search.lockstep.selecting import edge_proofs
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import Game, Limit, State

RECIPES = ("best", "article", "article-selfplay")
"""Recipes whose weights may be shipped with the bot, one file per game."""
WEIGHTS = Path(__file__).with_name("weights")
_SIMULATIONS = 400
_MAX_SIMULATIONS = 10**6
_MIN_SECONDS = 0.001
"""Lower bound of the option `seconds`."""
_MAX_SECONDS = 3600.0
"""Upper bound of the option `seconds`."""
_NODES = 1 << 12
"""Nodes reserved for the tree, unless the limit on simulations needs more."""
_MOST_BYTES = 1 << 26
"""Maximum size of the tree in bytes."""
_BYTES_PER_ACTION = 16
_ENDINGS = 12
"""Default number of empty cells at which a leaf is solved exactly."""
_ALPHA = 0.3
"""Dirichlet concentration; Silver et al. (2018) use 10 / the usual number of actions, about as much here."""
_C_PUCT = 1.5


class Exploration(NamedTuple):
    """How much a bot varies its play."""

    temperature: float
    """Temperature of the choice among the visited actions; 0 for the most visited one."""
    noise: float
    """Share of Dirichlet noise in the priors of the root."""


class AlphaZeroBot:
    """Plays the most visited action of a search, or, without simulations, the network's favourite.

    It is deterministic unless a time limit ends the search.
    """

    def __init__(
        self,
        search: LockstepSearch,
        seed: int,
        *,
        simulations: int | None,
        seconds: float | None,
        exploration: Exploration,
    ) -> None:
        self.deterministic = seconds is None
        self._search = search
        self._simulations = simulations
        self._seconds = seconds
        self._temperature, self._noise = exploration
        self._history: tuple[int, ...] | None = None
        self._random = Random(seed)  # noqa: S311 # not used for secrets

    def new_match(self, seed: int) -> None:
        """Begin a match: discard the tree, and draw all randomness from `seed`."""
        self._search.forget()
        self._random.seed(seed)
        self._history = None

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose an action: a proven win if there is one, a proven loss only if nothing else is left."""
        budget = Budget.of(limit, nodes=self._simulations, seconds=self._seconds)
        if not budget.nodes:
            return self._glance(state)
        asked = self._search.num_asked
        self._place(state)
        if self._noise:
            self._mix_noise()
        self._simulate(budget)
        found = self._search.results()
        # By legal actions: those that lose at once are not searched and have no visits, but are legal.
        visits = {action: int(found.visits[0, action]) for action in state.legal_actions}
        policy = self._policy(state, visits)
        action = self._choose(policy, visits, self._known())
        self._history = state.history
        return PlayResult(
            action,
            value=float(np.clip(found.values[0], -1, 1)),
            policy=policy,
            visits=visits if sum(visits.values()) else None,
            pv=tuple(self._line(action)),
            nodes=max(sum(visits.values()), 1),
            text=f"{self._search.num_asked - asked} positions judged",
        )

    def _glance(self, state: State) -> PlayResult:
        """Choose without a search, by the network alone."""
        self._history = None
        self._place(state)
        logits, worth = self._search.judged()
        legal = list(state.legal_actions)
        # Softmax over the legal actions alone; the largest logit is subtracted so that exp does not overflow.
        shares = np.exp(logits[0, legal] - logits[0, legal].max())
        policy = dict(zip(legal, (shares / shares.sum()).tolist(), strict=True))
        action = self._choose(policy, dict.fromkeys(legal, 0), {})
        return PlayResult(action, value=float(worth[0]), policy=policy, pv=(action,), nodes=1)

    def _place(self, state: State) -> None:
        """Make `state` the root; keep its subtree if the current tree contains it."""
        known = self._history
        if known is not None and state.history[: len(known)] == known:
            # Own action, then the opponent's: the tree moves down one action at a time.
            kept = all(
                bool(self._search.advance(np.array([action], np.int32))[0])
                for action in state.history[len(known) :]
            )
            if kept and len(state.history) > len(known):
                return
        _plant(self._search, state)

    def _simulate(self, budget: Budget) -> None:
        search, everywhere = self._search, np.ones(1, np.bool_)
        visits = search.forest.visits[0, 0]
        made = 0
        while made < budget.nodes and search.is_open[0] and not budget.is_late:
            # The most visited action cannot be overtaken any more; with a temperature, all shares matter.
            first, second = np.partition(visits, -2)[-1:-3:-1].tolist()
            if not self._temperature and first - second > budget.nodes - made:
                break
            search.step(everywhere)
            made += 1

    def _mix_noise(self) -> None:
        # Gamma numbers in proportion to their sum, which `mix_priors` takes, have a Dirichlet distribution.
        drawn = [self._random.gammavariate(_ALPHA, 1) for _ in range(self._search.forest.prior.shape[2])]
        self._search.mix_priors(np.array([drawn], np.float32), self._noise)

    def _policy(self, state: State, visits: Mapping[int, int]) -> dict[int, float]:
        """Return each action's share of the visits, or the network's priors if there are none."""
        shares: Mapping[int, float] = visits
        if not sum(visits.values()):
            priors = self._search.forest.prior[0, 0]
            shares = {action: max(float(priors[action]), 0.0) for action in state.legal_actions}
        total = sum(shares.values())
        return {action: share / total for action, share in shares.items()}

    def _known(self) -> dict[int, int]:
        """Return proven results by action: 1, 0 or -1; includes unsearched actions that lose at once."""
        forest = self._search.forest
        proofs = np.zeros(forest.prior.shape[2], np.int8)
        edge_proofs(forest, 0, proofs)
        known = {action: DRAW - proof for action, proof in enumerate(proofs.tolist()) if proof != UNKNOWN}
        # Proofs of searched actions come last and replace the -1 of barred ones, because they are more exact.
        return dict.fromkeys(np.flatnonzero(forest.prior[0, 0] < 0).tolist(), -1) | known

    def _choose(
        self, policy: Mapping[int, float], visits: Mapping[int, int], known: Mapping[int, int]
    ) -> int:
        """Choose by proven result, then by probability, then by value, then at random."""
        best = max(known.get(action, 0) for action in policy)
        # A proven win is always played; between equal results that are not wins, chance may decide.
        if self._temperature and best <= 0:
            fair = [action for action in policy if known.get(action, 0) == best]
            top = max(policy[action] for action in fair)
            # In proportion to the largest: powers of small shares alone would underflow at low temperatures.
            weights = [(policy[action] / top) ** (1 / self._temperature) if top else 1.0 for action in fair]
            return self._random.choices(fair, weights)[0]
        total = self._search.forest.total[0, 0]
        return max(
            policy,
            key=lambda action: (
                known.get(action, 0),
                policy[action],
                float(total[action]) / max(visits[action], 1),
                self._random.random(),
            ),
        )

    def _line(self, action: int) -> list[int]:
        """Return the sequence of most visited actions that starts with the root's `action`."""
        forest = self._search.forest
        line, node = [action], int(forest.child[0, 0, action])
        while node and forest.visits[0, node].any():
            line.append(int(forest.visits[0, node].argmax()))
            node = int(forest.child[0, node, line[-1]])
        return line


def find_weights(game: Game, recipe: str) -> Path:
    """Return the weights file of a recipe for a game.

    Raises:
        OptionError: there is none; the text says how to train one.
    """
    name = "-".join([game.name, *(f"{key}{value}" for key, value in sorted(spec_of(game).options.items()))])
    recipes = [recipe] if recipe else list(RECIPES)
    for one in recipes:
        path = WEIGHTS / f"{name}-{one}.onnx"
        if path.is_file():
            return path
    asked = f"of the recipe {recipe} " if recipe else ""
    raise OptionError(
        f"alphazero has no weights {asked}for {spec_of(game)} yet: train some with"
        f' "arena train alphazero --recipe {recipe or "best"} --game {spec_of(game)} --out my.onnx"'
        " and enter alphazero:weights=my.onnx"
    )


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> AlphaZeroBot:
    """Make the bot; docs/reference/bots.md describes its options.

    Raises:
        OptionError: an option is rejected, or there are no weights for the game.
        PluginError: the weights cannot be read.
    """
    reader = OptionReader("alphazero", options)
    seconds = reader.number("seconds", None, low=_MIN_SECONDS, high=_MAX_SECONDS)
    simulations = reader.integer(
        "simulations", None if seconds else _SIMULATIONS, low=0, high=_MAX_SIMULATIONS
    )
    c_puct = reader.number("c_puct", _C_PUCT, low=0, high=100)
    temperature = reader.number("temperature", 0.0, low=0, high=10)
    noise = reader.number("noise", 0.0, low=0, high=1)
    endings = reader.integer("endings", _ENDINGS, low=0, high=MOST_ENDINGS)
    selection = reader.choice("selection", "puct", ("puct", "gumbel"))
    recipe = reader.choice("recipe", "", ("", *RECIPES))
    weights = reader.text("weights", "")
    reader.done()
    if str(spec_of(game)) not in GAMES:
        raise OptionError(f"alphazero plays {', '.join(GAMES)}, not {spec_of(game)}")
    if endings > (most := most_endings(game)):
        raise OptionError(
            f"alphazero: endings={endings} is only for connect-four; {game.name} allows at most {most}"
        )
    if recipe and weights:
        raise OptionError("alphazero: give recipe or weights, not both")
    net = load_net(weights or find_weights(game, recipe), game)
    rule = Rule(is_gumbel=selection == "gumbel", c_puct=c_puct, cautious=False)
    search = LockstepSearch(
        game,
        net,
        LockstepSettings(
            rule, nodes=_room(game, simulations), ending_cells=endings if simulations != 0 else 0
        ),
    )
    _load_kernels(search, game)
    return AlphaZeroBot(
        search,
        seed,
        simulations=simulations,
        seconds=seconds,
        exploration=Exploration(temperature, noise),
    )


def _room(game: Game, simulations: int | None) -> int:
    """Return the number of nodes to reserve for the tree."""
    # Children, visits, totals and priors have four bytes per action; the rest of a node is small.
    most = _MOST_BYTES // (game.num_actions * _BYTES_PER_ACTION)
    return min(most, max(_NODES, 4 * (simulations or 4 * _NODES)))


def _plant(search: LockstepSearch, state: State) -> None:
    """Start a new tree at `state`."""
    own, opp = words_of(state)
    last = state.last if isinstance(state, KInARowState) else 0
    search.plant(np.array([own]), np.array([opp]), np.array([last], np.uint64))


def _load_kernels(search: LockstepSearch, game: Game) -> None:
    """Run a small search, so that loading or compiling kernels does not take time from the first move."""
    _plant(search, game.initial_state())
    search.step(search.is_open)
    search.results()
    search.advance(np.full(1, NOWHERE, np.int32))
    edge_proofs(search.forest, 0, np.zeros(game.num_actions, np.int8))
