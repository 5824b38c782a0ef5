"""The wall of boards: which boards a page shows, in which order, and the row of numbers above each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar, get_args

import msgspec

from arena.errors import ArenaError
from arena.live.geometry import geometry
from arena.live.views import MatchView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.live.geometry import Geometry
    from arena.live.views import LiveView
    from arena_plugins.thoughts import Thoughts

_Number = TypeVar("_Number", int, float)
Sort = Literal["place", "activity", "number", "ply"]
SORTS: tuple[Sort, ...] = get_args(Sort)
"""Orders of boards. `place`: a new match takes the place of one that is over; `activity`: last event
first."""


class WallView(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the wall."""

    boards: tuple[MatchView, ...]
    page: int
    """Number of the page, from 0."""
    num_pages: int
    """Number of pages, at least 1."""
    start: int
    """Index of the page's first board among all boards, from 0."""
    total: int
    sort: Sort

    @property
    def caption(self) -> str:
        """The range of boards on the page: `boards 1-6 of 8`."""
        if not self.boards:
            return "no boards"
        return f"boards {self.start + 1}-{self.start + len(self.boards)} of {self.total}"


def wall(
    view: LiveView, *, sort: Sort = "place", page: int = 0, size: int = 6, keep: int | None = None
) -> WallView:
    """Return a page of `size` boards; if `keep` is on the wall, the page with this match."""
    boards = sorted_boards(view, sort)
    size = max(1, size)
    num_pages = max(1, -(-len(boards) // size))
    numbers = [board.number for board in boards]
    page = numbers.index(keep) // size if keep in numbers else min(max(page, 0), num_pages - 1)
    start = page * size
    return WallView(
        boards=tuple(boards[start : start + size]),
        page=page,
        num_pages=num_pages,
        start=start,
        total=len(boards),
        sort=sort,
    )


def sorted_boards(view: LiveView, sort: Sort) -> list[MatchView]:
    """Return all matches of the wall in order; except by `place`, those that are not running come last."""
    boards = [view.matches[number] for number in view.places]
    if sort == "activity":
        boards.sort(key=lambda board: (not board.is_played, -board.last_t))
    elif sort == "number":
        boards.sort(key=lambda board: (not board.is_played, board.number))
    elif sort == "ply":
        boards.sort(key=lambda board: (not board.is_played, -board.ply))
    return boards


def without_stale(view: LiveView, seconds: float) -> LiveView:
    """Return the view without boards of earlier matches, while a match is played.

    A board is removed if its match had been over for more than `seconds` seconds when the newest board
    changed. Boards of matches that have just ended stay, so that the next matches take their places.
    """
    if not any(match.is_played for match in view.matches.values()):
        return view
    newest_t = max(match.last_t for match in view.matches.values())
    stale = {
        number
        for number, match in view.matches.items()
        if match.is_over and newest_t - match.last_t > seconds
    }
    if not stale:
        return view
    return msgspec.structs.replace(
        view,
        matches={number: match for number, match in view.matches.items() if number not in stale},
        places=tuple(number for number in view.places if number not in stale),
    )


class SearchTable(msgspec.Struct, frozen=True, kw_only=True):
    """A bot's report on its moves: in board order if actions are columns, else best first."""

    player: int
    moves: tuple[str, ...]
    actions: tuple[int, ...]
    visits: tuple[int | None, ...] | None
    """Visits of each move, None for a move without visits; None if the bot reports no visits at all."""
    shares: tuple[float | None, ...] | None
    """Shares of all visits, 0 to 1."""
    policy: tuple[float | None, ...] | None


def tenths(match: MatchView) -> tuple[str, ...]:
    """Return, by column, the visits of the last move in tenths, else its policy, else `-`.

    The digit 9 means nine tenths or more. If actions are cells, a column shows the sum over its cells.
    """
    found = match.last_thoughts()
    weights = None if found is None else _weights(found[1])
    shape = _shape(match)
    if weights is None or shape is None or shape.kind == "other":
        return ("-",) * match.columns
    sums = [0.0] * shape.columns
    for action, weight in weights.items():
        if 0 <= action < len(shape.targets):
            sums[shape.targets[action] % shape.columns] += weight
    total = sum(sums)
    if total <= 0:
        return ("-",) * match.columns
    return tuple(str(min(9, round(10 * weight / total))) for weight in sums)


def search_table(match: MatchView, size: int, *, live: bool = False) -> SearchTable | None:
    """Return the report on the last move or, with `live`, the current one of the bot to move.

    At most `size` moves; None if nothing was reported about any move.
    """
    found = match.last_thoughts()
    if live and match.to_move in (0, 1) and match.seats[match.to_move].thinking is not None:
        thinking = match.seats[match.to_move].thinking
        found = None if thinking is None else (match.to_move, thinking)
    shape = _shape(match)
    if found is None or shape is None or (found[1].visits is None and found[1].policy is None):
        return None
    player, thoughts = found
    visits, policy = _mapping(thoughts.visits), _mapping(thoughts.policy)
    if shape.kind == "columns":
        actions = sorted(range(len(shape.targets)), key=lambda action: shape.targets[action] % shape.columns)
    else:
        weights = _weights(thoughts) or {}
        actions = sorted(weights, key=lambda action: (-weights[action], action))
    actions = actions[:size]
    total = sum(visits.values()) if visits else 0
    return SearchTable(
        player=player,
        moves=tuple(_move_name(shape, action) for action in actions),
        actions=tuple(actions),
        visits=None if visits is None else tuple(visits.get(action) for action in actions),
        shares=None
        if visits is None or total <= 0
        else tuple(None if action not in visits else visits[action] / total for action in actions),
        policy=None if policy is None else tuple(policy.get(action) for action in actions),
    )


def _move_name(shape: Geometry, action: int) -> str:
    if not 0 <= action < len(shape.targets):
        return str(action)
    row, column = divmod(shape.targets[action], shape.columns)
    return shape.column_names[column] + (shape.row_names[row] if shape.kind == "cells" else "")


def _shape(match: MatchView) -> Geometry | None:
    try:
        return geometry(match.game) if match.columns else None
    except ArenaError:
        return None


def _weights(thoughts: Thoughts) -> Mapping[int, float] | None:
    return _mapping(thoughts.visits) or _mapping(thoughts.policy)


def _mapping(pairs: tuple[tuple[int, _Number], ...] | None) -> dict[int, _Number] | None:
    return None if pairs is None else dict(pairs)
