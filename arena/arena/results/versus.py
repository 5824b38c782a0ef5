"""Two bots head to head: results, openings, worst losses and matches, separately for each pool."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from arena.errors import NotFoundError
from arena.results.addresses import address_of
from arena.results.boards import boards_of
from arena.results.condition import Condition
from arena.results.corrections import ending_of
from arena.results.crosstable import Cell, cell_of
from arena.results.encounter import meetings, pool_meetings
from arena.results.encounter_lines import encounter_lines, side_lines
from arena.results.names import called
from arena.results.one_moment import at_one_moment
from arena.results.play_statistics import Loss, Mistakes, OpeningResult, Plays, Scope
from arena.results.sides import POINTS
from arena_db.records import MatchFilter
from arena_plugins import Outcome
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from arena.results.boards import Boards
    from arena.results.counts import HeadToHead
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

WORDS: Final = frozenset({"tournament", "game", "pool", "tc", "st", "nodes", "date", "tier", "machine"})
"""Keywords allowed for a head-to-head; a condition on results would bias it."""
_NUM_MATCHES: Final = 20
"""Number of newest matches that are listed."""


class MetMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A match between the two bots."""

    match: int
    """Id of the match in the store."""
    address: str
    started_at: float
    """Start of the match, in seconds since 1970 (UTC)."""
    side: str
    """Side of the bot: first or second."""
    points: float
    """Points of the bot: 1, 0.5 or 0."""
    plies: int
    ending: str
    """How the match ended, in words."""


class PoolMeeting(msgspec.Struct, frozen=True, kw_only=True):
    """All matches of two bots in one pool, as seen by the first; the fields are the keys of the JSON form."""

    game: str
    pool: str
    identity: str
    """Identity of the bot."""
    opponent_identity: str
    cell: Cell
    """The results, as in the crosstable."""
    evidence: str
    """The basis of the results, in words."""
    lines: tuple[str, ...]
    """The results as lines, as printed after a finished match."""
    openings: tuple[OpeningResult, ...] = ()
    """Results by opening, most matches first."""
    mistakes: Mistakes = Mistakes()
    """Mistakes of the bot."""
    worst: tuple[Loss, ...] = ()
    """Losses of the bot, those with the earliest known mistake first."""
    opponent_worst: tuple[Loss, ...] = ()
    matches: tuple[MetMatch, ...] = ()
    """The newest matches."""


class Versus(msgspec.Struct, frozen=True, kw_only=True):
    """Two bots head to head in all their pools."""

    bot: str
    """The name that was requested."""
    opponent: str
    meetings: tuple[PoolMeeting, ...]
    """The meetings by pool, most matches first; only the first one has details."""
    condition: str = ""
    """The condition that selects the matches, as text; empty for all rated ones."""


@at_one_moment
def versus(
    store: Store,
    bot: str,
    opponent: str,
    condition: Condition | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> Versus:
    """Return two bots head to head: one meeting for each pool and each pair of their versions.

    Args:
        store: the store with their matches.
        bot: the first bot, in any form that `names.called` accepts; all versions of a name count.
        opponent: the second bot, in the same forms.
        condition: selects the matches.
        is_wanted: polled between queries; once it returns False, details stay empty.

    Raises:
        ConfigError: a term of the condition does not apply here.
        NotFoundError: there is no such bot, or the two have no rated match that fits.
    """
    condition = (condition or Condition()).only(WORDS, "a head-to-head")
    own, others = (_identities(store, text, condition.tournament) for text in (bot, opponent))
    boards = boards_of(store)
    names = boards.names
    where = condition.to_filter(store, rated_only=True)
    found = _meetings(store, boards, where, own, others)
    if not found:
        raise NotFoundError(
            f"{bot} and {opponent} have no rated match that fits; "
            "arena matches --bot A --vs B --unrated shows what there is"
        )
    rows = [
        _row(game, pool, (one, other), names, met)
        for (game, pool, one, other), met in sorted(
            found.items(), key=lambda item: (-item[1].counts.num_matches, item[0])
        )
    ]
    if is_wanted():
        rows[0] = _detailed(store, boards, rows[0], where, names)
    return Versus(bot=bot, opponent=opponent, meetings=tuple(rows), condition=condition.text)


class EventMeetings:
    """The head-to-heads of one tournament; shared data are computed once."""

    def __init__(self, store: Store, record: TournamentRecord) -> None:
        """Read the encounters.

        Args:
            store: the store with the matches; it must stay open while this object is used.
            record: the tournament.
        """
        self._store = store
        self._record = record
        # By seat, since the same bot may have two seats.
        self._met = meetings(store, record)
        self._bots = {entrant.seat: entrant.bot.identity for entrant in store.tournaments.entrants(record.id)}

    def expected(self, one: str, other: str) -> tuple[float | None, float | None]:
        """Return the points that the pool's fit expects of the bot that moves first, for both orders."""
        pool = self._record.game, self._record.pool.name
        with self._store.at_one_moment():
            expected = boards_of(self._store).expected
            return expected(*pool, one, other), expected(*pool, other, one)

    def between(self, own: Collection[str], others: Collection[str]) -> dict[tuple[str, str], HeadToHead]:
        """Return the encounters of bots of two sets, by the identities of both."""
        mine, theirs = ({seat for seat, bot in self._bots.items() if bot in each} for each in (own, others))
        return {
            (self._bots[one], self._bots[other]): met
            for (one, other), met in self._met.of(mine, theirs).items()
            if self._bots[one] != self._bots[other]
        }

    def of(self, one: str, other: str) -> PoolMeeting:
        """Return the head-to-head of two bots, as `versus` does for the tournament.

        Args:
            one: identity of the bot whose point of view is taken.
            other: identity of its opponent.

        Raises:
            NotFoundError: the bots have no rated match in the tournament.
        """
        game, pool, boards = self._record.game, self._record.pool.name, boards_of(self._store)
        names = boards.names
        met = self.between({one}, {other}).get((one, other))
        if met is None:
            raise NotFoundError(f"these two bots have no rated match in {self._record.name}")
        row = _row(game, pool, (one, other), names, met)
        where = MatchFilter(tournament=self._record.name)
        return _detailed(self._store, boards, row, where, names)


def _identities(store: Store, text: str, tournament: str) -> set[str]:
    found = {entry.identity for entry in store.names.entries(called(store, text, tournament))}
    if not found:
        known = sorted({name for bot in store.names.bots().values() for name in (bot.name, bot.spec)})
        raise NotFoundError(f'no stored bot "{text}"{nearest(text, known)} (arena leaderboard shows them)')
    return found


def _meetings(
    store: Store, boards: Boards, where: MatchFilter, own: set[str], others: set[str]
) -> dict[tuple[str, str, str, str], HeadToHead]:
    """Return the encounters of bots of two sets, by game, pool and both identities."""
    tournament = None if where.tournament is None else store.tournaments.find(where.tournament)
    if tournament is not None and where == MatchFilter(tournament=tournament.name):
        event = EventMeetings(store, tournament)
        key = tournament.game, tournament.pool.name
        return {(*key, *pair): met for pair, met in event.between(own, others).items()}
    met_in = {
        (tally.game, tally.pool)
        for tally in boards.tallies
        if (tally.first in own and tally.second in others) or (tally.second in own and tally.first in others)
    }
    fits = {(tally.game, tally.pool) for tally in store.sums.tallies(where)} & met_in
    return {
        (game, pool, one, other): met
        for game, pool, _ in boards.pools
        if (game, pool) in fits
        for (one, other), met in pool_meetings(store, game, pool, where).of(own, others).items()
    }


def _row(
    game: str, pool: str, pair: tuple[str, str], names: Mapping[str, str], met: HeadToHead
) -> PoolMeeting:
    one, other = (names[identity] for identity in pair)
    return PoolMeeting(
        game=game,
        pool=pool,
        identity=pair[0],
        opponent_identity=pair[1],
        cell=cell_of(one, other, met),
        evidence=met.counts.evidence,
        lines=(*encounter_lines(one, other, met), *side_lines(one, met.counts)),
    )


def _detailed(
    store: Store, boards: Boards, row: PoolMeeting, where: MatchFilter, names: Mapping[str, str]
) -> PoolMeeting:
    where = dataclasses.replace(where, game=row.game, pool=row.pool)
    pair = row.identity, row.opponent_identity
    records = _records(store, boards, row)
    own = Plays(store, Scope(where, {pair[0]}, {pair[1]}), boards)
    own.read_grades()
    worst, opponent_worst = (plays.worst_of(records, names) for plays in (own, own.turned()))
    return replace(
        row,
        openings=tuple(own.openings(records)),
        mistakes=own.mistakes(row.cell.games),
        worst=tuple(worst),
        opponent_worst=tuple(opponent_worst),
        matches=tuple(
            _played(match, row.identity)
            for match in store.plays.newest_met(where, {pair[0]}, {pair[1]}, limit=_NUM_MATCHES)
        ),
    )


def _played(match: StoredMatch, bot: str) -> MetMatch:
    points = POINTS[Outcome(match.outcome)]
    is_first = match.first == bot
    return MetMatch(
        match=match.id,
        address=address_of(match),
        started_at=match.started_at,
        side="first" if is_first else "second",
        points=points if is_first else 1 - points,
        plies=len(match.actions),
        ending=ending_of(match),
    )


def _records(store: Store, boards: Boards, row: PoolMeeting) -> dict[int, TournamentRecord]:
    pair = {row.identity, row.opponent_identity}
    numbers = {tally.tournament for tally in boards.tallies if {tally.first, tally.second} == pair}
    found = {number: store.tournaments.find(number) for number in numbers}
    return {number: record for number, record in found.items() if record is not None}
