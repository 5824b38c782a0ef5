"""The query parameters of the API; filters are the terms of `arena matches`, parsed by the same code."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from arena.errors import ConfigError
from arena.results.condition import WORDS, Condition, read_condition, read_pairs

MOST_MATCHES: Final = 1000
"""Maximum number of rows on a page."""
LONGEST_WAIT_S: Final = 30
"""Maximum seconds that a request may wait for an event."""
_Repeated: TypeAlias = tuple[str, ...]


class BasicFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on how matches were played; a comparison begins with its sign: `<20`."""

    tournament: str | None = None
    game: str | None = None
    pool: str | None = None
    tc: str | None = None
    st: str | None = None
    nodes: str | None = None
    tier: str | None = None
    date: _Repeated = ()
    where: str | None = None
    """Further conditions in the filter language: `bot:mcts* ply<20`."""

    def condition(self) -> Condition:
        """Return the conjunction of all conditions.

        Raises:
            ConfigError: a value is invalid, or conditions exclude each other; the error names the term.
        """
        pairs: list[tuple[str, str]] = []
        for name in WORDS:
            given: str | _Repeated | None = getattr(self, name, None)
            pairs += [(name, text) for text in ((given,) if isinstance(given, str) else given or ())]
        try:
            pairs += read_condition(self.where or "").pairs()
        except ConfigError as error:
            raise ConfigError(f"where: {error}") from error
        return read_pairs(pairs)


class LeaderboardFilters(BasicFilters, frozen=True, kw_only=True):
    """The matches that are rated, and the bot whose rows are shown."""

    bot: str | None = None


class MatchWords(BasicFilters, frozen=True, kw_only=True):
    """All conditions on matches."""

    bot: str | None = None
    vs: str | None = None
    result: str | None = None
    end: str | None = None
    ply: _Repeated = ()
    opening: str | None = None
    duration: _Repeated = ()
    mistakes: _Repeated = ()
    graded: str | None = None
    unrated: bool = False
    """Whether to include unrated and void matches."""


class OpeningChoice(MatchWords, frozen=True, kw_only=True):
    """A position, and conditions on the matches."""

    moves: str = ""
    """Moves from the initial position, separated by blanks; empty for the initial position."""


class MatchFilters(MatchWords, frozen=True, kw_only=True):
    """A page of matches, newest first."""

    before: str | None = None
    """Address of a match: only matches stored before it."""
    limit: Annotated[int, Meta(ge=1, le=MOST_MATCHES)] = 100


class TournamentFilters(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tournaments, newest first."""

    all: bool = False
    """Whether to include archived tournaments."""
    before: str | None = None
    """Name of a tournament: only those that began before it."""
    limit: Annotated[int, Meta(ge=1, le=MOST_MATCHES)] = 100


class TableChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The choice between the tables of a tournament."""

    tie_breaks: bool = False
    """Whether to return the table by place: points, then tie-breaks."""


class EventsChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A range of events."""

    after: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 0
    """Only events with a higher number."""
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT_S)] = 0
    """Seconds to wait for the first event; ignored by a stream."""


class BadgeChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The rating that a badge shows; by default that of the pool with most of the bot's matches."""

    game: str | None = None
    pool: str | None = None
