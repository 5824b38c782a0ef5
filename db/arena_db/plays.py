"""Reads which openings and lines bots played, for pages about them; aggregated in SQL where possible."""

from __future__ import annotations

from contextlib import closing
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from sqlalchemy import and_, func, or_, select, text, true

from arena_db.analyses import losses_of
from arena_db.codec import unpack_actions
from arena_db.counted import COUNTS, IS_VOID, parts
from arena_db.dialects import driver_text_with_values
from arena_db.filters import BYTE, match_conditions
from arena_db.models import analyses, bots, matches, tournaments
from arena_db.queries import find_matches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from arena_db.access import Access
    from arena_db.records import MatchFilter, StoredMatch

__all__ = ["BegunLine", "GradedMatch", "LostMatch", "OpeningTally", "StoredPlays"]

PAGE: Final = 20_000
"""Matches per statement: at most a tenth of a second, after which a reader may cancel."""


BegunLine: TypeAlias = tuple[int, bytes, int, str, bytes]
"""How a match began and ended, as the driver returns it: hundreds of thousands are read at once.

Fields: its id; its first actions, packed, fewer than requested if the match was shorter; number of actions of
the opening; the outcome; the match hash, 32 bytes, equal for matches that are equal up to a symmetry.
"""


class OpeningTally(NamedTuple):
    """How often bots met others from one opening with one result."""

    tournament: int
    """Id of the tournament."""
    is_first: bool
    """Whether one of the bots moved first."""
    is_second: bool
    """Whether one of the bots moved second."""
    opening_hash: int
    """60-bit hash of the opening."""
    outcome: str
    num_matches: int
    sample: int
    """Id of the oldest of the counted matches."""


class LostMatch(NamedTuple):
    """A match that one of the requested bots lost."""

    id: int
    tournament: int
    """Id of the tournament."""
    first: str
    """Identity of the bot that moved first."""
    second: str
    outcome: str
    """first or second: the winner."""
    termination: str
    rated: bool


class GradedMatch(NamedTuple):
    """One judge's analysis of a match."""

    id: int
    tournament: int
    """Id of the tournament."""
    first: str
    """Identity of the bot that moved first."""
    second: str
    opening_hash: int
    num_opening: int
    """Number of actions of the opening."""
    losses: tuple[float | None, ...]
    """By how much each action lowered the value, `[plies]`: 2 from a win to a loss; None if unknown."""


class StoredPlays:
    """What bots played, for pages about them."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def begun_lines(
        self, where: MatchFilter, num_actions: int, num_plies: int, *, page: int = PAGE
    ) -> Iterator[list[BegunLine]]:
        """Yield how matches of one game began, by id, in lists of up to `page`; void ones are left out.

        No transaction stays open between two lists.

        Args:
            where: which matches; all of one game.
            num_actions: number of actions of the game.
            num_plies: how many actions of each match are read.
            page: number of matches per list.
        """
        size = num_plies * (1 if num_actions <= BYTE else 2)
        columns = (
            *(matches.c.id, func.substr(matches.c.actions, 1, size), matches.c.num_opening),
            *(matches.c.outcome, matches.c.match_hash),
        )
        with self._access.read_for(where) as connection:
            query = select(*columns).where(*_played(connection, where)).order_by(matches.c.id).limit(page)
        last = 0
        # A transaction for each list: one that stays open keeps SQLite from truncating its log.
        while True:
            with self._access.read_for(where) as connection:
                found: list[BegunLine] = _rows(connection, query.where(matches.c.id > last))
            if not found:
                return
            yield found
            last = found[-1][0]

    def opening_tallies(
        self, where: MatchFilter, own: Collection[str], others: Collection[str] | None = None
    ) -> list[OpeningTally]:
        """Return the results of bots by opening.

        Args:
            where: which matches.
            own: identities; matches of these bots.
            others: identities of their opponents; None for any.
        """
        with self._access.read_for(where) as connection:
            known = _identities(connection)
            mine = _ids(known, own)
            # Grouped by side, not by bot: with many bots that leaves a tenth of the groups.
            keys = (
                *(matches.c.tournament_id, matches.c.opening_hash, matches.c.outcome),
                *(_is_one(matches.c.first_bot, mine, known), _is_one(matches.c.second_bot, mine, known)),
            )
            query = select(*keys, func.count(), func.min(matches.c.id))
            # By position, so that the long expressions of sides are not evaluated a second time.
            places = (text(str(place)) for place in range(1, len(keys) + 1))
            chosen = query.where(*_played(connection, where), _meet(known, own, others)).group_by(*places)
            return [
                OpeningTally(tournament, bool(is_first), bool(is_second), opening, outcome, num, sample)
                for tournament, opening, outcome, is_first, is_second, num, sample in _rows(
                    connection, chosen
                )
            ]

    def lost_matches(
        self, where: MatchFilter, own: Collection[str], others: Collection[str] | None = None
    ) -> list[LostMatch]:
        """Return the matches that bots lost, newest first; see `opening_tallies`."""
        with self._access.read_for(where) as connection:
            known = _identities(connection)
            query = select(*_LOST).where(*_played(connection, where), _lost(known, own, others))
            return _lost_of(_rows(connection, query.order_by(matches.c.id.desc())), known)

    def newest_lost(
        self,
        where: MatchFilter,
        own: Collection[str],
        others: Collection[str],
        *,
        limit: int,
        among: Collection[int],
    ) -> list[LostMatch]:
        """Return some of the matches that bots lost to others, newest first.

        Args:
            where: which matches.
            own: identities; matches that these bots lost.
            others: identities of their opponents.
            limit: how many of the newest, per pair of bots and side of the loser.
            among: ids of further matches to include, if they were lost.
        """
        with self._access.read_for(where) as connection:
            known = _identities(connection)
            ids = set(among)
            for loser, winner in product(_ids(known, own), _ids(known, others)):
                # With one bot on each side the index yields the matches in order, so the newest are found at
                # once.
                for first, second, won in ((loser, winner, "second"), (winner, loser, "first")):
                    ids.update(
                        _newest(connection, where, ([first], [second]), limit, matches.c.outcome == won)
                    )
            lost = *_played(connection, where), _lost(known, own, others)
            found: list[LostMatch] = []
            for chunk in parts(sorted(ids, reverse=True)):
                query = select(*_LOST).where(*lost, matches.c.id.in_(chunk)).order_by(matches.c.id.desc())
                found += _lost_of(_rows(connection, query), known)
            return found

    def newest_met(
        self, where: MatchFilter, own: Collection[str], others: Collection[str], *, limit: int
    ) -> list[StoredMatch]:
        """Return the counted matches of bots against others, newest first; see `opening_tallies`."""
        with self._access.read_for(where) as connection:
            known = _identities(connection)
            mine, theirs = _ids(known, own), _ids(known, others)
            # One query per side: for both sides at once SQLite would sort all matches.
            both = (_newest(connection, where, sides, limit) for sides in ((mine, theirs), (theirs, mine)))
            ids = sorted(set(chain.from_iterable(both)), reverse=True)[:limit]
            return sorted(find_matches(connection, ids), key=lambda match: -match.id)

    def given_actions(self, numbers: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Return the actions of the openings of the matches with these ids that exist."""
        return self._access.gather(numbers, _given_actions)

    def last_gradings(self, where: MatchFilter) -> dict[str, tuple[int, float]]:
        """Return each judge's number of analysed matches and time of its last analysis, UTC seconds."""
        columns = analyses.c.name, func.count(), func.max(analyses.c.made_at)
        with self._access.read_for(where) as connection:
            query = select(*columns).join_from(analyses, matches, matches.c.id == analyses.c.match_id)
            found = _rows(connection, query.where(*_played(connection, where)).group_by(analyses.c.name))
            return {name: (num, made_at) for name, num, made_at in found}

    def judges(
        self, where: MatchFilter, own: Collection[str], others: Collection[str] | None = None
    ) -> dict[str, int]:
        """Return how many matches of bots each judge has analysed; see `opening_tallies`."""
        with self._access.read_for(where) as connection:
            met = _meet(_identities(connection), own, others)
            query = select(analyses.c.name, func.count()).join_from(
                analyses, matches, matches.c.id == analyses.c.match_id
            )
            return dict(
                _rows(connection, query.where(*_played(connection, where), met).group_by(analyses.c.name))
            )

    def graded_matches(
        self,
        where: MatchFilter,
        judge: str,
        own: Collection[str],
        others: Collection[str] | None = None,
        *,
        limit: int,
    ) -> list[GradedMatch]:
        """Return one judge's analyses of matches of bots, newest first, at most `limit`.

        Args:
            where: which matches.
            judge: name of the judge.
            own: identities; matches of these bots.
            others: identities of their opponents; None for any.
            limit: maximum number of matches; decompressing an analysis takes about 40 us.

        Raises:
            DamagedError: a stored analysis cannot be decoded.
        """
        columns = (
            *(matches.c.id, matches.c.tournament_id, matches.c.first_bot, matches.c.second_bot),
            *(matches.c.opening_hash, matches.c.num_opening, analyses.c.content),
        )
        with self._access.read_for(where) as connection:
            known = _identities(connection)
            query = select(*columns).join_from(analyses, matches, matches.c.id == analyses.c.match_id)
            query = query.where(
                *_played(connection, where), _meet(known, own, others), analyses.c.name == judge
            )
            found = _rows(connection, query.order_by(matches.c.id.desc()).limit(limit))
        return [
            GradedMatch(
                number, tournament, known[first], known[second], opening, given, losses_of(number, said)
            )
            for number, tournament, first, second, opening, given, said in found
        ]


def _given_actions(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for some in parts(numbers):
        query = (
            select(matches.c.id, matches.c.actions, matches.c.num_opening, tournaments.c.num_actions)
            .join_from(matches, tournaments, tournaments.c.id == matches.c.tournament_id)
            .where(matches.c.id.in_(some))
        )
        for number, actions, num_opening, num_actions in _rows(connection, query):
            found[number] = unpack_actions(actions, num_actions)[:num_opening]
    return found


def _played(connection: Connection, where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return the conditions for matches that count; unrated ones count if they have a result."""
    counted = COUNTS if where.rated_only else f"matches.outcome <> 'void' AND NOT {IS_VOID}"
    return [text(counted), *match_conditions(connection, where)]  # pyright: ignore[reportReturnType] # a text is a condition, too


_LOST: Final = (
    *(matches.c.id, matches.c.tournament_id, matches.c.first_bot, matches.c.second_bot),
    *(matches.c.outcome, matches.c.termination, matches.c.rated),
)
"""Columns of a lost match."""


def _lost(known: dict[int, str], own: Collection[str], others: Collection[str] | None) -> ColumnElement[bool]:
    """Return whether one of `own` lost to one of `others`; matches of a bot with itself are excluded."""
    first, second, outcome = matches.c.first_bot, matches.c.second_bot, matches.c.outcome
    mine = _ids(known, own)
    theirs = _ids(known, known.values() if others is None else others)
    lost = or_(
        *(
            and_(_is_one(loser, mine, known), _is_one(winner, theirs, known), outcome == won)
            for loser, winner, won in ((first, second, "second"), (second, first, "first"))
        )
    )
    return and_(lost, first != second)


def _newest(
    connection: Connection,
    where: MatchFilter,
    sides: tuple[list[int], list[int]],
    limit: int,
    *conditions: ColumnElement[bool],
) -> list[int]:
    """Return the ids of the newest matches between first movers and second movers given by ids."""
    first, second = matches.c.first_bot, matches.c.second_bot
    met = first.in_(sides[0]), second.in_(sides[1]), first != second
    query = select(matches.c.id).where(*_played(connection, where), *met, *conditions)
    return [number for (number,) in _rows(connection, query.order_by(matches.c.id.desc()).limit(limit))]


def _lost_of(rows: Iterable[Sequence[Any]], known: dict[int, str]) -> list[LostMatch]:
    return [
        LostMatch(number, tournament, known[first], known[second], outcome, termination, rated == 1)
        for number, tournament, first, second, outcome, termination, rated in rows
    ]


def _identities(connection: Connection) -> dict[int, str]:
    return dict(_rows(connection, select(bots.c.id, bots.c.identity)))


def _ids(known: dict[int, str], identities: Collection[str]) -> list[int]:
    return [number for number, identity in known.items() if identity in identities]


def _is_one(column: ColumnElement[int], ids: list[int], known: dict[int, str]) -> ColumnElement[bool]:
    """Return whether a column holds one of these bots; always true if they are all bots there are."""
    return true() if len(ids) == len(known) else column.in_(ids)


def _meet(known: dict[int, str], own: Collection[str], others: Collection[str] | None) -> ColumnElement[bool]:
    """Return whether one of `own` met one of `others`; matches of a bot with itself are excluded."""
    mine, first, second = _ids(known, own), matches.c.first_bot, matches.c.second_bot
    if others is None:
        return and_(or_(_is_one(first, mine, known), _is_one(second, mine, known)), first != second)
    theirs = _ids(known, others)
    return and_(
        or_(
            and_(first.in_(mine), second.in_(theirs)),
            and_(first.in_(theirs), second.in_(mine)),
        ),
        first != second,
    )


def _rows(connection: Connection, query: Select[*tuple[Any, ...]]) -> list[Any]:
    """Return the rows of a query as plain tuples of the driver: SQLAlchemy's rows would double the cost."""
    written, values = driver_text_with_values(query, connection.dialect.name)
    with closing(connection.exec_driver_sql(written, values)) as result:
        cursor: Any = result.cursor
        return list(cursor.fetchall())
