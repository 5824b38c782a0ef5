"""The conformance checks for bots; each function checks one requirement of the contract."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.answer import as_integer, make_answer
from arena_plugins.checks import ConformanceError, random_match, require
from arena_plugins.contract import Bot, Game, Limit, PlayResult
from arena_plugins.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_plugins.contract import State

Factory = Callable[[Game, int, Mapping[str, str]], Bot]
"""A function of game, seed and options that makes a bot, such as a plugin's `make_bot`."""

_SEED = 1
_NUM_POSITIONS = 12
"""Number of positions that each check asks about: enough for openings, middle games and ends in a few
seconds."""
_OVERHEAD_S = 0.25
"""Seconds that an answer may exceed its limit by: the referee's margin plus delays on a busy machine."""
_NODE_SLACK = 2
"""Allowed ratio of used nodes to the node limit; a search that works in batches may overshoot."""
_SUM_TOLERANCE = 1e-3
"""Allowed distance of a policy's sum from one, the same as in arena-bot/1."""


class BotUnderTest(NamedTuple):
    """The subject of the bot checks: how to make the bot, the game, and the limits for one answer."""

    factory: Factory
    options: Mapping[str, str]
    game: Game
    seconds: float
    """Seconds for one answer."""
    nodes: int
    """Search nodes for one answer."""

    def make(self, seed: int = _SEED) -> Bot:
        """Make a new bot."""
        return self.factory(self.game, seed, self.options)

    @property
    def limit(self) -> Limit:
        """The time and node limits together, for checks that look only at the content of an answer."""
        return Limit(seconds=self.seconds, nodes=self.nodes)

    def positions(self) -> Iterator[State]:
        """Yield non-terminal states of random matches, from the opening to the endgame."""
        for seed in range(_NUM_POSITIONS):
            states = [state for state in random_match(self.game, seed) if not state.is_terminal]
            yield states[seed * len(states) // _NUM_POSITIONS]

    def answers(self) -> Iterator[tuple[State, PlayResult]]:
        """Yield each position with the answer of one bot."""
        bot = self.make()
        for state in self.positions():
            yield state, bot.play(state, self.limit)


def makes(test: BotUnderTest) -> str:
    """The bot can be made and has a method play."""
    bot: object = test.make()
    require(callable(getattr(bot, "play", None)), f"a {type(bot).__name__} has no play(state, limit)")
    return type(bot).__name__


def refuses_options(test: BotUnderTest) -> str:
    """An unknown option raises OptionError."""
    try:
        test.factory(test.game, _SEED, {**test.options, "no-such-option": "1"})
    except OptionError as error:
        return str(error)
    raise ConformanceError(
        "no-such-option=1 was accepted; call OptionReader.done(), or leave out the parameter options"
    )


def plays_legally(test: BotUnderTest) -> str:
    """Answers are PlayResults whose fields have the right types, with legal actions."""
    for state, result in test.answers():
        make_answer("", result, state.legal_actions)
        require(
            result.resign or result.action in state.legal_actions, f"{result.action} after {state.history}"
        )
    return f"{_NUM_POSITIONS} positions"


def leaves_states(test: BotUnderTest) -> str:
    """Choosing an action does not change the state."""
    bot = test.make()
    for state in test.positions():
        before = (state.current_player, state.legal_actions, state.is_terminal, state.history, state.cells)
        bot.play(state, test.limit)
        after = (state.current_player, state.legal_actions, state.is_terminal, state.history, state.cells)
        require(before == after, f"the state changed after {before[3]}")
    return f"{_NUM_POSITIONS} positions"


def plays_matches(test: BotUnderTest) -> str:
    """The bot plays a whole match against itself."""
    bots = (test.make(1), test.make(2))
    state = test.game.initial_state()
    while not state.is_terminal:
        result = bots[state.current_player].play(state, test.limit)
        if result.resign:
            return f"resigned after {len(state.history)} actions"
        state = state.child(as_integer(result.action, "the action"))
    return f"{len(state.history)} actions"


def keeps_time(test: BotUnderTest) -> str:
    """The bot answers within its time."""
    bot = test.make()
    bot.play(test.game.initial_state(), test.limit)  # the first answer may compile kernels or load a model
    times: list[float] = []
    for state in islice(test.positions(), 3):
        start = time.perf_counter()
        bot.play(state, Limit(seconds=test.seconds))
        times.append(time.perf_counter() - start)
    # The best of three answers counts: a bot that ignores the limit exceeds it every time, while a busy
    # machine delays only some answers.
    require(
        min(times) <= test.seconds + _OVERHEAD_S, f"{min(times):.2f} s where {test.seconds:g} s were allowed"
    )
    return f"{min(times):.2f} s of {test.seconds:g} s"


def keeps_nodes(test: BotUnderTest) -> str:
    """The number of nodes that the bot reports respects its node limit."""
    bot = test.make()
    most = 0
    for state in islice(test.positions(), 4):
        result = bot.play(state, Limit(nodes=test.nodes))
        if result.nodes is not None:
            most = max(most, result.nodes)
    require(most <= _NODE_SLACK * test.nodes, f"{most} nodes where {test.nodes} were allowed")
    return f"{most} of {test.nodes} nodes" if most else "it reports no nodes"


def hurries(test: BotUnderTest) -> str:
    """Answers are legal with almost no time, and with one node."""
    bot = test.make()
    state = test.game.initial_state()
    for limit in (Limit(seconds=0.001, nodes=1), Limit(seconds=test.seconds, nodes=1), Limit(seconds=0.0)):
        result = bot.play(state, limit)
        require(result.resign or result.action in state.legal_actions, f"{result.action} with {limit}")
    return "0.001 s and 1 node"


def values(test: BotUnderTest) -> str:
    """A value lies in [-1, 1]."""
    seen = [result.value for _, result in test.answers() if result.value is not None]
    require(all(-1 <= value <= 1 for value in seen), f"values are {seen}")
    return f"{len(seen)} values"


def policies(test: BotUnderTest) -> str:
    """A policy sums to one over legal actions; visits are counts of legal actions."""
    count = 0
    for state, result in test.answers():
        for what, given in (("policy", result.policy), ("visits", result.visits)):
            if given is not None:
                count += 1
                require(
                    set(given) <= set(state.legal_actions), f"{what} has illegal actions: {sorted(given)}"
                )
                require(all(number >= 0 for number in given.values()), f"{what} has numbers below 0")
        if result.policy is not None:
            total = sum(result.policy.values())
            require(abs(total - 1) <= _SUM_TOLERANCE, f"a policy sums to {total}")
    return f"{count} policies and visits"


def repeats(test: BotUnderTest) -> str:
    """A bot that declares itself deterministic plays the same actions from the same seed."""
    bot = test.make()
    if not getattr(bot, "deterministic", False):
        return "not declared"
    return _same(test, _actions(test, bot), test.make(), "a second bot of the same seed")


def starts_anew(test: BotUnderTest) -> str:
    """After new_match the bot plays like a newly made one."""
    bot = test.make(_SEED + 1)
    new_match = getattr(bot, "new_match", None)
    if new_match is None:
        return "no new_match: the bot is made again for every match"
    _actions(test, bot)
    new_match(_SEED)
    if not getattr(bot, "deterministic", False):
        _actions(test, bot)
        return "not declared deterministic: it plays on, but its actions cannot be compared"
    return _same(test, _actions(test, test.make()), bot, "after new_match, the bot")


def _actions(test: BotUnderTest, bot: Bot) -> list[int | None]:
    results = [bot.play(state, Limit(nodes=test.nodes)) for state in test.positions()]
    return [None if result.resign else result.action for result in results]


def _same(test: BotUnderTest, expected: list[int | None], bot: Bot, who: str) -> str:
    actions = _actions(test, bot)
    require(actions == expected, f"{who} played {actions}, not {expected}")
    return f"{len(actions)} actions"


CHECKS: tuple[Callable[[BotUnderTest], str], ...] = (
    makes,
    refuses_options,
    plays_legally,
    leaves_states,
    plays_matches,
    keeps_time,
    keeps_nodes,
    hurries,
    values,
    policies,
    repeats,
    starts_anew,
)
"""All checks in the order of their numbers."""
