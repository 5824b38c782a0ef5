"""Forfeits of stored matches: which bot forfeited, and how many matches each bot has forfeited.

A forfeit counts as a loss of the bot that failed; a void match is not counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Protocol, TypeVar

from arena.referee.blame import forfeiter
from arena_plugins.contract import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from arena_db.records import Tally

_Bot = TypeVar("_Bot", bound="Hashable")


class Decided(Protocol):
    """A decided match, or a tally of equal ones."""

    @property
    def outcome(self) -> str:
        """Outcome: first, second, draw or void."""
        ...

    @property
    def termination(self) -> str:
        """Reason for the end of the match."""
        ...


def loser(match: Decided) -> int | None:
    """Return the player (0 or 1) that forfeited a match; None if neither did or the match is void."""
    return forfeiter(match.outcome, match.termination)


def count_matches(tallies: Iterable[Tally]) -> Counter[str]:
    """Count the matches of each competitor, by identity; a match against itself counts once."""
    found: Counter[str] = Counter()
    for tally in tallies:
        if tally.outcome != Outcome.VOID:
            for identity in dict.fromkeys((tally.first, tally.second)):
                found[identity] += tally.num_matches
    return found


def count_forfeits(
    tallies: Iterable[Tally], bots: Callable[[Tally], tuple[_Bot, _Bot]]
) -> defaultdict[_Bot, Counter[str]]:
    """Count the matches that each bot forfeited, by termination.

    Args:
        tallies: tallies of any matches.
        bots: returns the keys of a tally's two bots, the one that moved first and the other.
    """
    found: defaultdict[_Bot, Counter[str]] = defaultdict(Counter)
    for tally in tallies:
        player = loser(tally)
        if player is not None:
            found[bots(tally)[player]][tally.termination] += tally.num_matches
    return found
