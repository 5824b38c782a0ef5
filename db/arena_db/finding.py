"""Finds tournaments and bots by any part of their names, and bots by their names in tournaments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select

from arena_db import planning
from arena_db.models import bots, entrants, tournaments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from arena_db.access import Access
    from arena_db.records import BotRecord, Entered

__all__ = ["Hit", "StoredNames"]

RANGE: Final = 5_000
"""Number of rows that one query reads, so that a cancelled search ends within milliseconds."""
_EXACT, _BEGINS, _HOLDS = range(3)
_LEAST_DIGITS: Final = 4
"""Minimum number of digits of an identity that a search looks for."""


class Hit(NamedTuple):
    """A tournament or bot that a search found; the smaller of two hits is the better match."""

    rank: int
    """0 if the name equals the text, 1 if it begins with it, 2 if it contains it."""
    age: int
    """Negative id, so that of equal matches the newest comes first."""
    kind: str
    """`tournament` or `bot`."""
    name: str
    """Name of the tournament, or identity of the bot."""


class StoredNames:
    """The names of bots and tournaments."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def search(self, text: str, limit: int, is_wanted: Callable[[], bool]) -> list[Hit]:
        """Return the tournaments and bots whose names contain all words of a text, the best matches first.

        Bots are found by name, spec, version, digits of their identity, and labels in tournaments. No match
        is read; ASCII letters are compared without case.

        Args:
            text: words in any order; without words nothing is found.
            limit: maximum number of hits.
            is_wanted: called after every few thousand rows; False ends the search with the hits so far.
        """
        words = text.lower().split()
        best: dict[tuple[str, str], Hit] = {}
        if not words:
            return []
        for last in _ranges(self._last_ids()):
            if not is_wanted():
                break
            # A snapshot for each range: a long one would keep SQLite from resetting its log.
            with self._access.read() as connection:
                found = [
                    *_tournaments(connection, words, last, limit),
                    *_bots(connection, words, last, limit),
                    *_labels(connection, words, last, limit),
                ]
            for hit in found:
                key = (hit.kind, hit.name)
                best[key] = min(hit, best.get(key, hit))
            # Only the best hits so far are kept, so that memory does not grow with the store.
            best = {(hit.kind, hit.name): hit for hit in sorted(best.values())[:limit]}
        return sorted(best.values())

    def has_entrant(self, name: str) -> bool:
        """Return whether any bot of any tournament has this name, spec or label, as in `MatchFilter.bot`."""
        with self._access.read() as connection:
            return planning.has_entrant(connection, name)

    def entries(self, name: str) -> list[Entered]:
        """Return the entries of bots with this name, spec or label, by tournament and seat."""
        with self._access.read() as connection:
            return planning.list_entries(connection, name)

    def entrant_labels(self) -> list[str]:
        """Return all labels that bots have had in tournaments, each once, sorted."""
        with self._access.read() as connection:
            return planning.list_entrant_labels(connection)

    def labels(self) -> dict[str, str]:
        """Return the label of each bot in the newest tournament it was entered in, by identity."""
        with self._access.read() as connection:
            return planning.list_labels(connection)

    def bots(self) -> dict[str, BotRecord]:
        """Return all bots by identity."""
        with self._access.read() as connection:
            return planning.list_bots(connection)

    def _last_ids(self) -> int:
        with self._access.read() as connection:
            ids = [connection.scalar(select(func.max(table.c.id))) or 0 for table in (tournaments, bots)]
        return max(ids)


def _ranges(last: int) -> Iterator[int]:
    """Yield the last id of each range, newest first."""
    yield from range(last, 0, -RANGE)


def _tournaments(connection: Connection, words: list[str], last: int, limit: int) -> list[Hit]:
    rank = _rank(words, tournaments.c.name)
    query = (
        select(rank, tournaments.c.id, tournaments.c.name)
        .where(_within(tournaments.c.id, last), _holds(words, tournaments.c.name))
        .order_by(rank, tournaments.c.id.desc())
        .limit(limit)
    )
    return [Hit(row[0], -row[1], "tournament", row[2]) for row in connection.execute(query)]


def _bots(connection: Connection, words: list[str], last: int, limit: int) -> list[Hit]:
    rank = _rank(words, bots.c.spec)
    digits = words[-1].rpartition("~")[2]
    is_told = bots.c.identity.startswith(digits, autoescape=True)
    named = _holds(words, bots.c.spec + literal(" ") + bots.c.version)
    # A single word may be `7f3a9c` or `mcts~7f3a9c`; fewer digits would match a part of all bots by chance.
    wanted = or_(named, is_told) if len(digits) >= _LEAST_DIGITS and len(words) == 1 else named
    query = (
        select(rank, bots.c.id, bots.c.identity)
        .where(_within(bots.c.id, last), wanted)
        .order_by(rank, bots.c.id.desc())
        .limit(limit)
    )
    return [Hit(row[0], -row[1], "bot", row[2]) for row in connection.execute(query)]


def _labels(connection: Connection, words: list[str], last: int, limit: int) -> list[Hit]:
    """Return the bots with a matching label in the tournaments of a range, which ends with id `last`."""
    label = func.coalesce(entrants.c.name, entrants.c.label)
    rank = _rank(words, label)
    query = (
        # A bot may have several matching labels; the best one counts.
        select(func.min(rank), bots.c.id, bots.c.identity)
        .join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
        .where(_within(entrants.c.tournament_id, last), _holds(words, label))
        .group_by(bots.c.id, bots.c.identity)
        .order_by(func.min(rank), bots.c.id.desc())
        .limit(limit)
    )
    return [Hit(row[0], -row[1], "bot", row[2]) for row in connection.execute(query)]


def _within(number: ColumnElement[int], last: int) -> ColumnElement[bool]:
    return and_(number > last - RANGE, number <= last)


def _holds(words: list[str], text: ColumnElement[str]) -> ColumnElement[bool]:
    lowered = func.lower(text)
    return and_(*(lowered.contains(word, autoescape=True) for word in words))


def _rank(words: list[str], text: ColumnElement[str]) -> ColumnElement[int]:
    """Return how well a name matches; see `Hit.rank`."""
    wanted, lowered = " ".join(words), func.lower(text)
    return case(
        (lowered == wanted, _EXACT), (lowered.startswith(wanted, autoescape=True), _BEGINS), else_=_HOLDS
    )
