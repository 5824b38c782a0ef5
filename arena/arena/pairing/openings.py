"""Openings: starting positions of matches, so that strong bots do not repeat the same match."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError, IllegalMoveError, InvalidMoveError, PluginError
from arena.games.notation import parse_moves, spec_of
from arena.games.symmetry import canonical
from arena.pairing.sampling import draw_number, sample_openings
from arena.pairing.solve import exact_value, is_decided
from arena_plugins.regular import read_regular
from arena_plugins.spec import OptionReader, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arena_plugins.contract import Game, State

_PLIES = {"tic-tac-toe": 2, "gomoku:k=4,size=6": 2}
"""Default number of plies by spec; after 4, the first game has few openings left, the second too many to
list."""
_USUAL_PLIES = 4
_MAX_PLIES = 100
_MAX_START = 10**9
"""Largest number of the first opening that can be asked for."""
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
            start=reader.integer("start", 1, low=1, high=_MAX_START),
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
        # Of the lists that ship, all of drawn positions, the deepest is the longest.
        depths = [max(shipped)]
    else:
        usual = _PLIES.get(str(spec_of(game)), _USUAL_PLIES)
        depths = range(usual, usual + _DEEPER)
    best: tuple[OpeningPlan, list[tuple[int, ...]]] | None = None
    for plies in depths:
        deeper = plan._replace(plies=plies)
        found = make_openings(game, deeper, seed=seed, wanted=most).openings
        # Only a longer list replaces one, so of equally long ones the first, with fewer plies, stays.
        if best is None or len(found) > len(best[1]):
            best = deeper, found
        if len(found) == most:
            break
    return best or (plan, [])


def _auto(game: Game, plan: OpeningPlan, seed: int, wanted: int) -> list[tuple[int, ...]]:
    """Return the openings from `plan.start` on; empty only if a game has none at its default plies."""
    usual = _PLIES.get(str(spec_of(game)), _USUAL_PLIES)
    before = plan.start - 1
    # A small board has no openings at its usual depth, because matches end before: then shorter ones.
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

    If there are too many to list, random openings are yielded.
    """
    if plan.balance == "drawn" or (plan.balance == "auto" and is_shipped(game, plies)):
        yield from _ordered(drawn_openings(game, plies), plan, seed)
    elif is_enumerable(game, plies):
        states = {state.history: state for state in enumerate_positions(game, plies)}
        for actions in _ordered(states, plan, seed):
            # One by one, because looking for forced wins is slow, and most tournaments need few openings.
            if not is_decided(game, states[actions]):
                yield actions
    else:
        yield from sample_openings(game, plies, seed)


def _ordered(openings: Iterable[tuple[int, ...]], plan: OpeningPlan, seed: int) -> Iterable[tuple[int, ...]]:
    if plan.order == "sequential":
        return openings
    # By a hash of each, as `random` may shuffle otherwise in another version of Python.
    return sorted(openings, key=lambda actions: draw_number(f"{seed}/{actions}"))


SHIPPED_PLIES = (2, 4, 6)
"""Numbers of plies after which the drawn positions of Connect Four are shipped."""
_TINY = 9
"""Games with at most this many actions are solved when needed; tic-tac-toe takes a tenth of a second."""


def is_shipped(game: Game, plies: int) -> bool:
    """Return whether the draws after `plies` actions are shipped: those of Connect Four 6x7."""
    return str(spec_of(game)) == "connect-four" and plies in SHIPPED_PLIES


def drawn_openings(game: Game, plies: int) -> list[tuple[int, ...]]:
    """Return the least sequence of `plies` actions for each class of drawn positions, in canonical order.

    Raises:
        ConfigError: they are not known for this game or this number of actions.
    """
    if is_shipped(game, plies):
        return _read(game, plies)
    if game.max_length > _TINY:
        raise ConfigError(
            f"balance=drawn is not known for {spec_of(game)} after {plies} plies, only for connect-four after"
            f" {', '.join(map(str, SHIPPED_PLIES))} and for tic-tac-toe; use balance=undecided"
        )
    known: dict[tuple[int, ...], float] = {}
    return [
        state.history
        for state in enumerate_positions(game, plies)
        if not state.is_terminal and exact_value(state, known) == 0
    ]


def drawn_path(plies: int) -> Path:
    """Return the file of the drawn Connect Four positions after `plies` plies; `make book` rebuilds it."""
    return Path(__file__).parent / "data" / f"connect-four-{plies}.txt"


def _read(game: Game, plies: int) -> list[tuple[int, ...]]:
    text = drawn_path(plies).read_text(encoding="ascii")
    return [parse_moves(game, line) for line in text.splitlines() if not line.startswith("#")]


def read_openings(game: Game, path: str) -> list[tuple[int, ...]]:
    """Return the action sequences of a file, in its order.

    Raises:
        ConfigError: the file cannot be read, has no opening, or a line is not a valid opening; the text names
            file and line.
    """
    try:
        # `utf-8-sig`, because editors on Windows begin a file with a byte order mark.
        text = read_regular(Path(path).expanduser()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text file of openings (UTF-8), one a line") from error
    except (OSError, RuntimeError, ValueError) as error:
        # RuntimeError is raised for the home of an unknown user, `~nobody/book.txt`; ValueError for a NUL.
        raise ConfigError(f"cannot read the openings in {path}: {error}") from error
    openings: list[tuple[int, ...]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        moves = line.partition("#")[0].strip()
        if moves:
            openings.append(_read_line(game, moves, f"{path}, line {number}"))
    if not openings:
        raise ConfigError(f"{path} has no opening; write one a line, as moves of {game.name}")
    return openings


def _read_line(game: Game, moves: str, where: str) -> tuple[int, ...]:
    try:
        actions = parse_moves(game, moves)
    except (IllegalMoveError, InvalidMoveError) as error:
        raise ConfigError(f"{where}: {error}") from error
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    if state.is_terminal:
        raise ConfigError(f"{where}: the match is over after {moves}; omit some moves")
    return actions


_MAX_SEQUENCES = 250_000
"""Maximum number of enumerated action sequences, symmetric ones counted once: 6x6 after 4 plies takes 2.8
s."""


def is_enumerable(game: Game, plies: int) -> bool:
    """Return whether `enumerate_positions` is fast enough, judged by the actions of the initial state."""
    # Only one sequence of each class is followed, so about one in `len(symmetries)` is looked at.
    return len(game.initial_state().legal_actions) ** plies <= _MAX_SEQUENCES * len(game.symmetries)


def enumerate_positions(game: Game, plies: int) -> list[State]:
    """Return one state per class of symmetric positions after exactly `plies` actions, in canonical order.

    Each is the state that the least action sequence of its class leads to; terminal states are included.
    """
    start = game.initial_state()
    layer = {canonical(game, start).key: start}
    for _ in range(plies):
        deeper: dict[tuple[tuple[int, ...], int], State] = {}
        # Each layer is sorted by history, so the first state of a class has the least one. No class is
        # missed: every prefix of a least sequence is a least sequence, since otherwise a symmetry would map
        # the whole to a smaller one.
        for state in layer.values():
            for action in state.legal_actions:
                child = state.child(action)
                deeper.setdefault(canonical(game, child).key, child)
        layer = deeper
    return [layer[key] for key in sorted(layer)]
