"""Openings: where matches start, so that strong bots do not repeat one match for ever."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError, PluginError
from arena.games.notation import spec_of
from arena.pairing.drawn import SHIPPED_PLIES, drawn_openings, is_shipped
from arena.pairing.opening_file import read_openings
from arena.pairing.positions import enumerate_positions, is_enumerable
from arena.pairing.sampling import draw_number, sample_openings
from arena.pairing.solve import is_decided
from arena_plugins.spec import OptionReader, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arena_plugins.contract import Game

_PLIES = {"tic-tac-toe": 2, "gomoku:k=4,size=6": 2}
"""Default number of actions by spec; after 4, few are left in the one, too many to list in the other."""
_USUAL_PLIES = 4
_MAX_PLIES = 100
_DEEPER = 3
"""Numbers of plies, from the usual one on, among which the longest list is looked for."""


class OpeningPlan(NamedTuple):
    """What `--openings` asks for; `str()` gives its canonical text, defaults left out."""

    kind: str = "auto"
    """auto, file or none."""
    path: str = ""
    """Of the file."""
    plies: int | None = None
    """Actions before the bots are asked; None is the game's default."""
    balance: str = "auto"
    """undecided, drawn, or auto: drawn where the list ships with the package, else undecided."""
    order: str = "random"
    """random (by the tournament's seed) or sequential."""
    start: int = 1
    """The opening to begin with, from 1."""

    @classmethod
    def parse(cls, text: str) -> OpeningPlan:
        """Read `auto`, `auto:plies=,balance=,order=,start=`, `file:PATH` or `none`.

        Raises:
            ConfigError: it is none of these, or an option is unknown or has an impossible value.
        """
        kind, _, rest = text.strip().partition(":")
        if kind == "file" and rest:
            return cls(kind="file", path=rest)
        if text.strip() == "none":
            return cls(kind="none")
        if kind != "auto":
            raise ConfigError(f'openings "{text}" are not auto, auto:OPTION=VALUE,…, file:PATH or none')
        try:
            return cls._parse_auto(Spec.parse(text, versioned=False))
        except PluginError as error:
            raise ConfigError(f"--openings: {error}") from error

    @classmethod
    def _parse_auto(cls, spec: Spec) -> OpeningPlan:
        reader = OptionReader(spec.name, spec.options)
        plan = cls(
            plies=reader.integer("plies", None, low=1, high=_MAX_PLIES),
            balance=reader.choice("balance", "auto", ("auto", "undecided", "drawn")),
            order=reader.choice("order", "random", ("random", "sequential")),
            start=reader.integer("start", 1, low=1, high=10**9),
        )
        reader.done()
        return plan

    def __str__(self) -> str:
        """Give the canonical text."""
        if self.kind == "file":
            return f"file:{self.path}"
        options = {
            key: str(value)
            for key, value in self._asdict().items()
            if key != "kind" and value != self._field_defaults[key]
        }
        return str(Spec(self.kind, options))


class Openings(NamedTuple):
    """The openings of a tournament."""

    openings: list[tuple[int, ...]]
    """Actions from the initial state; pair k starts from entry k, counted around the list."""
    warnings: list[str]
    """What the user should know about them."""


def make_openings(game: Game, plan: OpeningPlan, *, seed: int, wanted: int) -> Openings:
    """Give the first `wanted` openings of the plan, or all of them where there are fewer.

    Asking for more only appends, so a tournament can be enlarged.

    Raises:
        ConfigError: the plan has no opening in this game, or its file cannot be read.
    """
    if plan.kind == "none":
        return Openings([()], [])
    found = read_openings(game, plan.path) if plan.kind == "file" else _auto(game, plan, seed, wanted)
    if not found:
        return Openings([()], [f"no opening fits {spec_of(game)}; all matches start from the initial state"])
    if len(found) < wanted:
        return Openings(found, [f"{wanted} pairs share {len(found)} openings: some are repeated"])
    return Openings(found[:wanted], [])


def longest_list(
    game: Game, plan: OpeningPlan, *, seed: int, most: int
) -> tuple[OpeningPlan, list[tuple[int, ...]]]:
    """Return the openings after that number of plies which has most of them, and the plan that gives them.

    Drawn positions that come with the package are preferred to longer lists of others; of two lists of a
    length it is the one of fewer plies. A plan that says how many plies, or that is no list of the arena's
    own, stays as it is.

    Args:
        game: the game.
        plan: what `--openings` asks for.
        seed: of the tournament.
        most: openings that are enough; no more are returned.

    Raises:
        ConfigError: as `make_openings`.
    """
    shipped = [plies for plies in SHIPPED_PLIES if is_shipped(game, plies)]
    if plan.kind != "auto" or plan.plies:
        depths: Sequence[int | None] = [plan.plies]
    elif shipped and plan.balance != "undecided":
        depths = [max(shipped)]
    else:
        usual = _PLIES.get(str(spec_of(game)), _USUAL_PLIES)
        depths = range(usual, usual + _DEEPER)
    best: tuple[OpeningPlan, list[tuple[int, ...]]] | None = None
    for plies in depths:
        deeper = plan._replace(plies=plies)
        found = make_openings(game, deeper, seed=seed, wanted=most).openings
        if best is None or len(found) > len(best[1]):
            best = deeper, found
        if len(found) == most:
            break
    return best or (plan, [])


def _auto(game: Game, plan: OpeningPlan, seed: int, wanted: int) -> list[tuple[int, ...]]:
    """Give the openings from `plan.start` on; none only where a game at its default plies has none."""
    usual = _PLIES.get(str(spec_of(game)), _USUAL_PLIES)
    before = plan.start - 1
    for plies in [plan.plies] if plan.plies else range(usual, 0, -1):
        found = list(islice(_candidates(game, plan, plies, seed), before + wanted))
        if before < len(found):
            # Where the list ends before all are found, those before `start` come last.
            return found[before:] + found[:before]
        if found or plan.plies:
            raise ConfigError(
                f"{spec_of(game)} has {len(found)} openings of {plies} plies, too few for {plan};"
                " use another plies= or a smaller start="
            )
    return []


def _candidates(game: Game, plan: OpeningPlan, plies: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Give all openings of one length, in the order of the plan; drawn by chance where they are too many."""
    if plan.balance == "drawn" or (plan.balance == "auto" and is_shipped(game, plies)):
        yield from _ordered(drawn_openings(game, plies), plan, seed)
    elif is_enumerable(game, plies):
        states = {state.history: state for state in enumerate_positions(game, plies)}
        for actions in _ordered(states, plan, seed):
            if not is_decided(game, states[actions]):
                yield actions
    else:
        yield from sample_openings(game, plies, seed)


def _ordered(openings: Iterable[tuple[int, ...]], plan: OpeningPlan, seed: int) -> Iterable[tuple[int, ...]]:
    if plan.order == "sequential":
        return openings
    return sorted(openings, key=lambda actions: draw_number(f"{seed}/{actions}"))
