"""Openings: starting positions of matches, so that strong bots do not repeat the same match."""

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
"""Default number of plies by spec; after 4, the first game has few openings left, the second too many to
list."""
_USUAL_PLIES = 4
_MAX_PLIES = 100
_DEEPER = 3
"""Number of depths, from the usual one on, among which the longest list is searched."""


class OpeningPlan(NamedTuple):
    """The parsed value of `--openings`; `str()` returns its canonical text without defaults."""

    kind: str = "auto"
    """auto, file or none."""
    path: str = ""
    """Path of the file."""
    plies: int | None = None
    """Number of actions before the bots are asked; None for the game's default."""
    balance: str = "auto"
    """undecided, drawn, or auto: drawn if the list ships with the package, otherwise undecided."""
    order: str = "random"
    """random (by the tournament's seed) or sequential."""
    start: int = 1
    """Number of the first opening, from 1."""

    @classmethod
    def parse(cls, text: str) -> OpeningPlan:
        """Parse `auto`, `auto:plies=,balance=,order=,start=`, `file:PATH` or `none`.

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
        """Return the canonical text."""
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
    """Actions from the initial state; pair k starts from entry k, modulo their number."""
    warnings: list[str]
    """Warnings about them for the user."""


def make_openings(game: Game, plan: OpeningPlan, *, seed: int, wanted: int) -> Openings:
    """Return the first `wanted` openings of the plan, or all of them if there are fewer.

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
    """Return the longest list of openings over some numbers of plies, and the plan that yields it.

    Drawn positions that come with the package are preferred to longer lists of others; of two equally long
    lists the one with fewer plies is returned. A plan that sets the number of plies, or that is not one of
    arena's own lists, is not changed.

    Args:
        game: the game.
        plan: the parsed `--openings`.
        seed: seed of the tournament.
        most: number of openings that is enough; no more are returned.

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
    """Return the openings from `plan.start` on; empty only if a game has none at its default plies."""
    usual = _PLIES.get(str(spec_of(game)), _USUAL_PLIES)
    before = plan.start - 1
    for plies in [plan.plies] if plan.plies else range(usual, 0, -1):
        found = list(islice(_candidates(game, plan, plies, seed), before + wanted))
        if before < len(found):
            # If the list ends before enough are found, those before `start` come last.
            return found[before:] + found[:before]
        if found or plan.plies:
            raise ConfigError(
                f"{spec_of(game)} has {len(found)} openings of {plies} plies, too few for {plan};"
                " use another plies= or a smaller start="
            )
    return []


def _candidates(game: Game, plan: OpeningPlan, plies: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield all openings of one length, in the order of the plan.

    Random ones if there are too many to list.
    """
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
