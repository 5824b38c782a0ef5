"""The parameters of the API; filters are the words of `arena matches`, read by its parser."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from arena.errors import ConfigError
from arena.results.condition import WORDS, Condition, read_condition, read_pairs

MOST_MATCHES: Final = 1000
LONGEST_WAIT_S: Final = 30
_Repeated: TypeAlias = tuple[str, ...]


class BasicFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Words that choose matches by what they were played under; a comparison begins with its sign: `<20`."""

    tournament: str | None = None
    game: str | None = None
    pool: str | None = None
    tc: str | None = None
    st: str | None = None
    nodes: str | None = None
    tier: str | None = None
    date: _Repeated = ()
    where: str | None = None
    """Further conditions as they are typed: `bot:mcts* ply<20`."""

    def condition(self) -> Condition:
        """Return the condition that all words make.

        Raises:
            ConfigError: a value means nothing, or words exclude each other; names the word.
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
    """Which matches are rated, and of which bot rows are shown."""

    bot: str | None = None


class MatchWords(BasicFilters, frozen=True, kw_only=True):
    """All words that choose matches."""

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
    """Unrated and void matches, too."""


class OpeningChoice(MatchWords, frozen=True, kw_only=True):
    """A position, and in which matches it is looked for."""

    moves: str = ""
    """That lead to it from the initial position, with blanks between them; empty for the initial position."""


class MatchFilters(MatchWords, frozen=True, kw_only=True):
    """Which matches are listed, newest first."""

    before: str | None = None
    """Address of a match: only those stored before it."""
    limit: Annotated[int, Meta(ge=1, le=MOST_MATCHES)] = 100


class TournamentFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Which tournaments are listed, newest first."""

    all: bool = False
    """Archived ones, too."""
    before: str | None = None
    """Name of a tournament: only those that began before it."""
    limit: Annotated[int, Meta(ge=1, le=MOST_MATCHES)] = 100


class TableChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Which table of a tournament."""

    tie_breaks: bool = False
    """The table by place: points, then tie-breaks."""


class EventsChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Which events."""

    after: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 0
    """Only those with a higher number."""
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT_S)] = 0
    """Seconds to wait for the first one; of no effect on a stream."""


class BadgeChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Which rating a badge shows; by default that of the pool where the bot played most."""

    game: str | None = None
    pool: str | None = None
