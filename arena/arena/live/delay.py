"""Shows running matches some plies late, so that viewers cannot help a player."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.errors import ArenaError
from arena.live.geometry import position

if TYPE_CHECKING:
    from arena.live.views import LiveView, MatchView, SeatView


class Delay:
    """Delays the positions of running matches; unchanged matches keep their object identity."""

    def __init__(self, plies: int) -> None:
        """Set the delay in plies; 0 disables it."""
        self.plies = plies
        self._known: dict[int, tuple[MatchView, MatchView]] = {}

    def of(self, view: LiveView) -> LiveView:
        """Return the view with running matches as they were `plies` plies ago; others are unchanged."""
        if not self.plies:
            return view
        known, self._known = self._known, {}
        for number, match in view.matches.items():
            source, shown = known.get(number, (None, None))
            if source is not match or shown is None:
                shown = delayed_match(match, self.plies)
            self._known[number] = (match, shown)
        return replace(view, matches={number: shown for number, (_, shown) in self._known.items()})


def delayed_match(match: MatchView, plies: int) -> MatchView:
    """Return a running match as it was `plies` plies ago, but not before the end of its opening.

    Clocks and move times are removed: those of the earlier position are unknown, and the current ones reveal
    how long a bot thinks about a hidden position.
    """
    if match.is_over or not plies:
        return match
    opening = sum(move.is_opening for move in match.moves)
    num = max(opening, match.ply - plies)
    moves, actions = match.moves[:num], match.actions[:num]
    try:
        state = position(match.game, actions)
    except ArenaError:
        # Without the game's rules there is no board; the number of moves tells whose turn it is.
        cells, to_move = (), num % 2
    else:
        cells, to_move = tuple(state.cells), state.current_player
    return replace(
        match,
        cells=cells if match.rows else (),
        winning=(),
        actions=actions,
        moves=moves,
        to_move=to_move,
        clock_t=0.0,
        free_ms=0,
        last_t=match.started_t,
        trouble="",
        seats=(_silent(match, 0, num), _silent(match, 1, num)),
    )


def _silent(match: MatchView, player: int, num: int) -> SeatView:
    """Return a seat with what its bot reported with its last visible move."""
    own = [move for move in match.moves[:num] if move.player == player and not move.is_opening]
    return replace(
        match.seats[player],
        clock_ms=None,
        thoughts=None,
        thoughts_ply=0,
        thinking=None,
        eval=own[-1].eval if own else None,
    )
