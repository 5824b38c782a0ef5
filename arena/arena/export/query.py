"""Which matches an export is about, and how many they are."""

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
"""A folder of positions, one row each."""
MATCH_FORMATS: Final = ("pgn", "sgf")
"""One text file of matches."""
FORMATS: Final = POSITION_FORMATS + MATCH_FORMATS
_OPTIONS: Final = {"limit": "tc", "min_tier": "min-tier", "judge": "graded"}
"""The filters whose options have other names."""
_OTHERWISE: Final = frozenset(
    {"rated_only", "plies", "durations", "mistakes", "openings", "is_graded", "outcome"}
)
"""The filters that an option says in other words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuery:
    """Which matches to export.

    Matches that a bot forfeited stay out unless asked for, by `include_forfeits` or by a filter on their
    termination; void ones have no result to learn from and always stay out.
    """

    where: MatchFilter
    """`rated_only=False` lets matches in that do not count for ratings."""
    include_forfeits: bool = False
    include_void: bool = False
    """Whether matches that `arena void` took out of all tables are exported, too."""
    limit: int | None = None
    """The newest, at most so many; None for all."""

    @property
    def terminations(self) -> tuple[str, ...]:
        """How the matches ended that are exported."""
        wanted = self.where.termination
        if wanted is not None:
            return tuple(kind for kind in Termination if is_like(kind, wanted)) or (wanted,)
        return tuple(
            kind for kind in Termination if kind.is_regular or (self.include_forfeits and not kind.is_void)
        )

    def asked(self) -> dict[str, str | int | float | bool]:
        """Give what narrows the query, by the names of the options."""
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
        """Give the query as the store takes it."""
        return MatchSelection(
            where=self.where,
            terminations=self.terminations,
            limit=self.limit,
            include_void=self.include_void,
        )


def _say_opening(opening: OpeningFilter) -> str:
    """Write the actions that a match begins with: `connect-four 3 2 *` where more may follow."""
    return " ".join([opening.game, *map(str, opening.actions), *"*" * opening.is_beginning])


class Count(NamedTuple):
    """How much an export would hold."""

    num_matches: int
    num_positions: int
    """Positions in which an action followed, those of openings included."""
    games: tuple[str, ...]
    """Specs of the games; an export holds only one."""


def count(store: Store, query: ExportQuery) -> Count:
    """Count what an export would hold, by one walk over the matches: about a second a million."""
    volumes = store.volumes(query.selection())
    return Count(
        sum(volume.num_matches for volume in volumes),
        sum(volume.num_actions for volume in volumes),
        tuple(sorted({volume.game for volume in volumes})),
    )
