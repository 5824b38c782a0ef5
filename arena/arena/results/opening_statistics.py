"""Statistics of next moves in a position over stored matches, with transpositions and mirror images."""

from __future__ import annotations

import dataclasses
import struct
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from arena.analysis import analyse_position, grading_nodes, has_solver
from arena.errors import ConfigError, NotFoundError
from arena.games.k_in_a_row import KInARow
from arena.games.notation import parse_moves
from arena.games.symmetry import leading
from arena.live.opening_views import BestPlay, NextMove, OpeningsView, with_best_play
from arena.rating.shares import wilson
from arena_db.records import MatchFilter
from arena_plugins import load_game
from arena_plugins.errors import IllegalMoveError, InvalidMoveError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.games.solver.solved import Solved
    from arena.results.condition import Condition
    from arena_db.plays import BegunLine
    from arena_db.store import Store
    from arena_plugins.contract import Game, State

_WIDE: Final = 256
"""Number of actions of a game above which two bytes per action are used."""
_DIGITS: Final = 6
"""Number of decimals of a displayed score."""
_NODES: Final = 2_000_000
"""Node limit of the solver for one position, which takes about a tenth of a second."""


def find_openings(
    store: Store,
    condition: Condition,
    moves: str,
    *,
    rated_only: bool = True,
    is_wanted: Callable[[], bool] = lambda: True,
) -> OpeningsView:
    """Return the statistics of the next moves after a line, over all matches that fit.

    Args:
        store: the store with the matches.
        condition: selects the matches; if it names no game, the game with the most matches is used.
        moves: the line, as people write moves; empty for the initial position.
        rated_only: whether only matches that count for ratings are included.
        is_wanted: polled between pages of matches; once it returns False, the counts so far are returned.

    Raises:
        ConfigError: the moves are not legal in the game.
        NotFoundError: there is no stored match.
        PluginError: the game is not installed.
    """
    spec = _game_of(store, condition)
    game, actions = _line_of(spec, moves)
    where = dataclasses.replace(
        replace(condition, game=spec).to_filter(store, rated_only=rated_only), game=spec
    )
    counting = _Counting(game, actions)
    for page in store.plays.begun_lines(where, game.num_actions, len(actions) + 1):
        counting.add(page)
        if not is_wanted():
            break
    return counting.view(spec, condition.text)


def find_best_play(view: OpeningsView, nodes: int = _NODES) -> OpeningsView:
    """Return a view with the outcome under perfect play for each move that the solver finds quickly.

    The solver loads compiled code, so small viewer processes must not call this function.

    Args:
        view: view of a position.
        nodes: node limit of the solver.
    """
    game = load_game(view.game)
    if not has_solver(game) or not view.rows:
        return view
    solved = analyse_position(game, _state_of(game, view.actions), nodes=nodes)
    return with_best_play(view, _known(game, _state_of(game, view.actions), solved))


def solve_moves(
    spec: str, moves: str, tell: Callable[[list[BestPlay]], None], nodes: int | None = None
) -> list[BestPlay]:
    """Return the outcome under perfect play of every legal move of a position, by the exact solver.

    The solver loads compiled code and may take seconds, so viewers must not call this function.

    Args:
        spec: spec of the game.
        moves: the line from the initial position, as people write moves.
        tell: called repeatedly with everything known so far.
        nodes: node limit; None for the limit of gradings per ply.

    Raises:
        ConfigError: the moves are not legal in the game, or there is no solver for it.
        PluginError: the game is not installed.
    """
    game, actions = _line_of(spec, moves)
    state = _state_of(game, actions)
    if state.is_terminal:
        return []
    solved = analyse_position(
        game,
        state,
        nodes=nodes or grading_nodes(game),
        on_progress=lambda found: tell(_known(game, state, found)),
    )
    return _known(game, state, solved)


def _known(game: Game, state: State, solved: Solved) -> list[BestPlay]:
    """Return the solved actions with their outcomes."""
    return [
        BestPlay(move=game.move(state, action), action=action, perfect=worth.outcome, plies=worth.distance)
        for action, worth in solved.actions.items()
        if worth.outcome is not None
    ]


def _line_of(spec: str, moves: str) -> tuple[Game, tuple[int, ...]]:
    """Return a game, and a line of its moves as actions.

    Raises:
        ConfigError: the moves are not legal in the game.
    """
    game = load_game(spec)
    try:
        return game, tuple(parse_moves(game, moves))
    except (IllegalMoveError, InvalidMoveError) as error:
        raise ConfigError(f"{moves} is not a line of {spec}: {error} (--game names another game)") from error


def _game_of(store: Store, condition: Condition) -> str:
    """Return the canonical spec of the game with the most matches, among those that a condition allows."""
    own = condition.to_filter(rated_only=False)
    sizes: Counter[str] = Counter()
    for tally in store.sums.tallies(MatchFilter(game=own.game, tournament=own.tournament, rated_only=False)):
        sizes[tally.game] += tally.num_matches
    if not sizes:
        raise NotFoundError("no stored match fits; arena matches --unrated shows what there is")
    return sizes.most_common(1)[0][0]


def _state_of(game: Game, actions: Sequence[int]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


@dataclass
class _Counted:
    """Counts of a position; the last three are by action."""

    games: int = 0
    transposed: int = 0
    ended: int = 0
    results: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    given: Counter[int] = field(default_factory=Counter)
    hashes: defaultdict[int, set[bytes]] = field(default_factory=lambda: defaultdict(set))


class _Counting:
    """Counts the next moves in one position."""

    def __init__(self, game: Game, actions: tuple[int, ...]) -> None:
        self._game = game
        self._actions = actions
        self._num = len(actions)
        self._state = _state_of(game, actions)
        self._is_byte = game.num_actions <= _WIDE
        self._size = self._num * (1 if self._is_byte else 2)
        # Maps each action to the smallest action that a symmetry of the position maps it to.
        own = [game.symmetries[number].actions for number in leading(game, self._state, self._state)]
        self._least = {action: min(image[action] for image in own) for action in self._state.legal_actions}
        # In games whose stones never move, two positions are equal if their stones are. That can be tested
        # without playing the moves, and for most matches by comparing bytes.
        self._is_placing = isinstance(game, KInARow)
        images = [[symmetry.actions[action] for action in actions] for symmetry in game.symmetries]
        self._images = set(map(_placed, images))
        self._bags = {bytes(sorted(image)) for image in images} if self._is_byte else None
        self._known: dict[bytes, tuple[int, ...] | None] = {}
        """Cache of examined beginnings of lines: the position's action for each action; None for a line that
        leads elsewhere."""
        self._found: defaultdict[tuple[bytes, bool, str], list[bytes]] = defaultdict(list)
        """Hashes of the matches that reached the position, by their first actions, whether the last of these
        belongs to the opening, and outcome."""

    def add(self, page: Sequence[BegunLine]) -> None:
        """Count the matches of a page that reached the position."""
        known, size, num, found = self._known, self._size, self._num, self._found
        for _, line, num_opening, outcome, match_hash in page:
            start = line[:size]
            if start not in known:
                known[start] = self._led(start)
            if known[start] is not None:
                found[line, num_opening > num, outcome].append(match_hash)

    def _count(self) -> _Counted:
        """Sum up the matches that were added."""
        counted = _Counted()
        for (line, is_given, outcome), hashes in self._found.items():
            images, played = self._known[line[: self._size]], self._unpacked(line)
            counted.games += len(hashes)
            counted.transposed += len(hashes) * (played[: self._num] != self._actions)
            if len(played) <= self._num or images is None:
                counted.ended += len(hashes)
                continue
            action = self._least[images[played[self._num]]]
            counted.results[action][outcome] += len(hashes)
            counted.given[action] += len(hashes) * is_given
            counted.hashes[action].update(hashes)
        return counted

    def view(self, spec: str, condition: str) -> OpeningsView:
        """Return the statistics of all added matches."""
        game, state = self._game, self._state
        shown = game.initial_state()
        line: list[str] = []
        for action in self._actions:
            line.append(game.move(shown, action))
            shown = shown.child(action)
        counted = self._count()
        rows = [self._row(action, counted) for action in counted.results]
        return OpeningsView(
            game=spec,
            line=tuple(line),
            actions=self._actions,
            player=state.current_player,
            games=counted.games,
            transposed=counted.transposed,
            ended=counted.ended,
            rows=tuple(sorted(rows, key=lambda row: (-row.games, row.action))),
            condition=condition,
        )

    def _row(self, action: int, counted: _Counted) -> NextMove:
        mine, other = ("first", "second") if self._state.current_player == 0 else ("second", "first")
        results = counted.results[action]
        games, different = results.total(), len(counted.hashes[action])
        score = (results[mine] + results["draw"] / 2) / games
        # The interval of a binomial share with this mean. Draws reduce the variance, so it is never too
        # narrow.
        low, high = wilson(score * different, different)
        twins = [twin for twin, least in self._least.items() if least == action and twin != action]
        return NextMove(
            move=self._game.move(self._state, action),
            action=action,
            twins=tuple(self._game.move(self._state, twin) for twin in twins),
            games=games,
            given=counted.given[action],
            wins=results[mine],
            draws=results["draw"],
            losses=results[other],
            different=different,
            score=round(score, _DIGITS),
            score_low=round(low / 100, _DIGITS),
            score_high=round(high / 100, _DIGITS),
        )

    def _led(self, start: bytes) -> tuple[int, ...] | None:
        """Return the position's action for each action after a line; None if the line leads elsewhere."""
        if self._is_placing and self._bags is not None and bytes(sorted(start)) not in self._bags:
            return None
        actions = self._unpacked(start)
        if len(actions) != self._num or (self._is_placing and _placed(actions) not in self._images):
            return None
        found = leading(self._game, _state_of(self._game, actions), self._state)
        return self._game.symmetries[found[0]].actions if found else None

    def _unpacked(self, line: bytes) -> tuple[int, ...]:
        if self._is_byte:
            return tuple(line)
        return struct.unpack(f"<{len(line) // 2}H", line)


def _placed(actions: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the actions of both players, each sorted, so that the order of moves does not matter."""
    return tuple(sorted(actions[::2])), tuple(sorted(actions[1::2]))
