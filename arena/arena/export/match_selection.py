"""The selection of matches to export, and counting them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.live.views import RESULTS
from arena_db.records import MatchSelection
from arena_db.wild import is_like
from arena_plugins.contract import Termination

if TYPE_CHECKING:
    from arena_db.records import MatchFilter, OpeningFilter
    from arena_db.store import Store

POSITION_FORMATS: Final = ("parquet", "npz", "jsonl", "csv")
"""Formats that write a folder of positions, one row each."""
MATCH_FORMATS: Final = ("pgn", "sgf")
"""Formats that write one text file of matches."""
FORMATS: Final = POSITION_FORMATS + MATCH_FORMATS
_OPTIONS: Final = {"limit": "tc", "min_tier": "min-tier", "judge": "graded"}
"""Filters whose options have other names."""
_OTHERWISE: Final = frozenset(
    {"rated_only", "plies", "durations", "mistakes", "openings", "is_graded", "outcome"}
)
"""Filters that options express in another form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuery:
    """The matches to export.

    Matches that a bot forfeited are left out unless requested, by `include_forfeits` or by a filter on their
    termination. Matches whose outcome is void have no result to learn from and are always left out.
    """

    where: MatchFilter
    """The filter; `rated_only=False` includes matches that do not count for ratings."""
    include_forfeits: bool = False
    include_void: bool = False
    """Whether to include matches that `arena void` has taken out of all tables."""
    limit: int | None = None
    """Maximum number of matches, the newest ones; None for all."""

    @property
    def terminations(self) -> tuple[str, ...]:
        """The terminations of exported matches."""
        wanted = self.where.termination
        if wanted is not None:
            return tuple(kind for kind in Termination if is_like(kind, wanted)) or (wanted,)
        return tuple(
            kind for kind in Termination if kind.is_regular or (self.include_forfeits and not kind.is_void)
        )

    def asked(self) -> dict[str, str | int | float | bool]:
        """Return the conditions of the query, by the names of their options."""
        given: dict[str, str | float | bool | None] = {
            _OPTIONS.get(name, name): value
            for name in self.where.__dataclass_fields__
            if name not in _OTHERWISE and (value := getattr(self.where, name)) is not None
        }
        if self.where.outcome is not None:
            given["result"] = RESULTS[self.where.outcome]
        where = self.where
        for option, unit, comparisons in (
            ("ply", "", where.plies),
            ("duration", "ms", where.durations),
            ("mistakes", "", where.mistakes),
        ):
            if comparisons:
                given[option] = " ".join(f"{sign}{number}{unit}" for sign, number in comparisons)
        if where.is_graded is not None:
            given["graded"] = "yes" if where.is_graded else "no"
        if where.openings:
            given["opening"] = "; ".join(map(_say_opening, where.openings))
        if not self.where.rated_only:
            given["unrated"] = True
        if self.include_forfeits:
            given["include-forfeits"] = True
        if self.include_void:
            given["include-void"] = True
        if self.limit is not None:
            given["limit"] = self.limit
        return {name: value for name, value in given.items() if value is not None}

    def selection(self) -> MatchSelection:
        """Return the query in the form that the store accepts."""
        return MatchSelection(
            where=self.where,
            terminations=self.terminations,
            limit=self.limit,
            include_void=self.include_void,
        )


def _say_opening(opening: OpeningFilter) -> str:
    """Format the first actions of a match: `connect-four 3 2 *` if others may follow."""
    return " ".join([opening.game, *map(str, opening.actions), *"*" * opening.is_beginning])


class Count(NamedTuple):
    """The size of an export."""

    num_matches: int
    num_positions: int
    """Number of positions in which an action followed, openings included."""
    games: tuple[str, ...]
    """Specs of the games; an export can hold only one."""


def count(store: Store, query: ExportQuery) -> Count:
    """Count the matches and positions of an export, in one pass that takes a second per million matches."""
    volumes = store.bulk.volumes(query.selection())
    return Count(
        sum(volume.num_matches for volume in volumes),
        sum(volume.num_actions for volume in volumes),
        tuple(sorted({volume.game for volume in volumes})),
    )
