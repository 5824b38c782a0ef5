"""What was played next in a position over stored matches, transpositions and mirror images merged."""

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
from arena.live.openings import BestPlay, NextMove, OpeningsView, with_best_play
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
"""A game of more actions has two bytes for each."""
_DIGITS: Final = 6
"""Of a score that is shown."""
_NODES: Final = 2_000_000
"""Positions the solver searches at most for one position: about a tenth of a second."""


def find_openings(
    store: Store,
    condition: Condition,
    moves: str,
    *,
    rated_only: bool = True,
    is_wanted: Callable[[], bool] = lambda: True,
) -> OpeningsView:
    """Return what was played next after moves, over all matches that fit.

    Args:
        store: where they are.
        condition: which matches; where it names no game, that with most matches is taken.
        moves: from the initial position, as people write them; empty for the initial position.
        rated_only: whether only matches count that ratings count.
        is_wanted: asked between pages of matches; once it says no, what was counted so far is returned.

    Raises:
        ConfigError: the moves are none of the game.
        NotFoundError: there is no stored match.
        PluginError: the game is not installed.
    """
    spec = _game_of(store, condition)
    game, actions = _line_of(spec, moves)
    where = dataclasses.replace(
        replace(condition, game=spec).to_filter(store, rated_only=rated_only), game=spec
    )
    counting = _Counting(game, actions)
    for page in store.begun_lines(where, game.num_actions, len(actions) + 1):
        counting.add(page)
        if not is_wanted():
            break
    return counting.view(spec, condition.text)


def find_best_play(view: OpeningsView, nodes: int = _NODES) -> OpeningsView:
    """Return a view that says of each move what perfect play says, where that is known at once.

    It loads compiled code, which no viewer that must stay small may do.

    Args:
        view: of a position.
        nodes: positions that the solver may search.
    """
    game = load_game(view.game)
    if not has_solver(game) or not view.rows:
        return view
    solved = analyse_position(game, _state_of(game, view.actions), nodes=nodes)
    return with_best_play(view, _known(game, _state_of(game, view.actions), solved))


def solve_moves(
    spec: str, moves: str, tell: Callable[[list[BestPlay]], None], nodes: int | None = None
) -> list[BestPlay]:
    """Return what perfect play says of every legal move of a position, by the exact solver.

    It loads compiled code, and may take seconds: no viewer calls it.

    Args:
        spec: the game.
        moves: from the initial position, as people write them.
        tell: called now and then with all that is known so far.
        nodes: positions searched at most; None for as many as a grading takes for a ply.

    Raises:
        ConfigError: the moves are none of the game, or there is no solver for it.
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
    """Return what is known of each action whose outcome is known."""
    return [
        BestPlay(move=game.move(state, action), action=action, perfect=worth.outcome, plies=worth.distance)
        for action, worth in solved.actions.items()
        if worth.outcome is not None
    ]


def _line_of(spec: str, moves: str) -> tuple[Game, tuple[int, ...]]:
    """Return a game and moves of it as actions.

    Raises:
        ConfigError: the moves are none of the game.
    """
    game = load_game(spec)
    try:
        return game, tuple(parse_moves(game, moves))
    except (IllegalMoveError, InvalidMoveError) as error:
        raise ConfigError(f"{moves} is no line of {spec}: {error} (--game names another game)") from error


def _game_of(store: Store, condition: Condition) -> str:
    """Return the canonical spec of the game with most matches, of those that a condition allows."""
    own = condition.to_filter(rated_only=False)
    sizes: Counter[str] = Counter()
    for tally in store.tallies(MatchFilter(game=own.game, tournament=own.tournament, rated_only=False)):
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
    """What was counted; the last three are by action."""

    games: int = 0
    transposed: int = 0
    ended: int = 0
    results: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    given: Counter[int] = field(default_factory=Counter)
    hashes: defaultdict[int, set[bytes]] = field(default_factory=lambda: defaultdict(set))


class _Counting:
    """Counts what was played next in one position."""

    def __init__(self, game: Game, actions: tuple[int, ...]) -> None:
        self._game = game
        self._actions = actions
        self._num = len(actions)
        self._state = _state_of(game, actions)
        self._is_byte = game.num_actions <= _WIDE
        self._size = self._num * (1 if self._is_byte else 2)
        # To an action the least one that a symmetry of the position makes of it.
        own = [game.symmetries[number].actions for number in leading(game, self._state, self._state)]
        self._least = {action: min(image[action] for image in own) for action in self._state.legal_actions}
        # Where stones stay where they are put, equal positions have equal stones: seen without playing, and
        # of most matches by the bytes alone.
        self._is_placing = isinstance(game, KInARow)
        images = [[symmetry.actions[action] for action in actions] for symmetry in game.symmetries]
        self._images = set(map(_placed, images))
        self._bags = {bytes(sorted(image)) for image in images} if self._is_byte else None
        self._known: dict[bytes, tuple[int, ...] | None] = {}
        """Beginnings that were looked at: actions in the position by those in theirs; None for others."""
        self._found: defaultdict[tuple[bytes, bool, str], list[bytes]] = defaultdict(list)
        """Hashes of the matches that had the position, by their first actions, whether the last of these was
        given, and outcome."""

    def add(self, page: Sequence[BegunLine]) -> None:
        """Count the matches of a page that had the position."""
        known, size, num, found = self._known, self._size, self._num, self._found
        for _, line, num_opening, outcome, match_hash in page:
            start = line[:size]
            if start not in known:
                known[start] = self._led(start)
            if known[start] is not None:
                found[line, num_opening > num, outcome].append(match_hash)

    def _count(self) -> _Counted:
        """Count what was taken."""
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
        """Return what was counted."""
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
        # A share with as many points as the score has: draws vary less, so this is never too narrow.
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
        """Return what actions after a beginning are in the position; None where it leads elsewhere."""
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
    """Return the actions of both players in an order of their own."""
    return tuple(sorted(actions[::2])), tuple(sorted(actions[1::2]))
