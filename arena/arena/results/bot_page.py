"""One page about a bot: its opponents, versions, openings, mistakes, losses and faults."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from arena.results.boards import boards_of
from arena.results.bot_history import bot_history
from arena.results.crosstable import Cell, cell_of
from arena.results.forfeits import count_forfeits, loser
from arena.results.one_moment import at_one_moment
from arena.results.play_statistics import Loss, Mistakes, OpeningResult, Plays, Scope
from arena.results.sides import Result, Sides
from arena_db.called import MARK
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from arena.results.boards import Boards
    from arena.results.bot_history import BotHistory, Stand, VersionRating
    from arena_db.plays import LostMatch
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MOST_POINTS: Final = 60
"""Maximum points of a rating curve per tournament; more are thinned out."""


class Opponent(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a bot against one opponent in one pool."""

    game: str
    pool: str
    identity: str
    """Identity of the bot itself."""
    opponent_identity: str
    cell: Cell
    """The results, as in the crosstable."""


class VersionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One identity of the bot in one pool, with the numbers of the leaderboard."""

    game: str
    pool: str
    name: str
    identity: str
    version: str
    first_at: float
    """Start of the bot's first tournament in the pool, in seconds since 1970 (UTC)."""
    table: int
    """Number of the table, from 1; bots of different tables are not connected by matches."""
    rank: int
    elo: float
    error: float | None
    rests_on_prior: bool
    games: int
    forfeits: int


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A rating that was stored during a tournament."""

    num_matches: int
    """Number of rated matches of the whole tournament so far."""
    ended_at: float
    """End of the last match counted in `num_matches`, in seconds since 1970 (UTC)."""
    elo: float
    error: float
    """Half of the 95 % interval, Elo."""
    rests_on_prior: bool
    """Whether no chain of results bounded the rating on both sides; shown as `?`."""


class Participation(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament in which the bot played."""

    tournament: str
    game: str
    pool: str
    name: str
    """Display name of the bot."""
    identity: str
    label: str
    """Label of the bot in the tournament."""
    created_at: float
    """Creation of the tournament, in seconds since 1970 (UTC)."""
    wins: int
    draws: int
    losses: int
    forfeits: int
    elo: float | None
    """Last stored rating, relative to the mean of the tournament's bots; None if there is none."""
    error: float | None
    curve: tuple[CurvePoint, ...]
    """Stored ratings, oldest first."""


class ForfeitKind(msgspec.Struct, frozen=True, kw_only=True):
    """Matches that the bot forfeited with one termination, unrated ones included."""

    termination: str
    matches: int
    newest: int | None
    """Id of the newest match forfeited in this way; None if it is unknown."""


class BotPage(msgspec.Struct, frozen=True, kw_only=True):
    """A bot with all its versions; the fields are the keys of the JSON form."""

    bot: str
    """The name that was requested."""
    games: int
    """Number of rated matches."""
    opponents: tuple[Opponent, ...]
    """Results by opponent, most matches first."""
    versions: tuple[VersionRow, ...]
    """Versions by game and pool, largest pool first; within a pool, the version that played first comes
    first."""
    tournaments: tuple[Participation, ...]
    """Tournaments with the bot, newest first."""
    openings: tuple[OpeningResult, ...]
    """Results by opening, most matches first."""
    mistakes: Mistakes
    losses: int
    """Number of rated matches that the bot lost."""
    worst: tuple[Loss, ...]
    """The most surprising losses."""
    faults: tuple[ForfeitKind, ...]
    """Forfeits by termination, most matches first."""


@at_one_moment
def bot_page(store: Store, text: str, is_wanted: Callable[[], bool] = lambda: True) -> BotPage:
    """Return the page of a bot.

    Args:
        store: the store with its matches.
        text: the bot, in any form that `names.called` accepts; all versions of a name count.
        is_wanted: polled between queries; once it returns False, the rest of the page stays empty.

    Raises:
        NotFoundError: there is no such bot, or it has no rated match; the message names the closest one.
    """
    boards = boards_of(store)
    history = bot_history(store, text, can_scan=False)
    own = {version.bot.identity for version in history.versions}
    names = boards.names
    records = _records(store, boards, own)
    plays = Plays(store, Scope(MatchFilter(), own), boards)
    opponents = _opponents(boards, own, names)
    num = sum(tally.num_matches for tally in boards.tallies if tally.first in own or tally.second in own)
    if is_wanted():
        plays.read_grades(is_wanted)
    openings = plays.openings(records) if is_wanted() else []
    losses = plays.losses() if is_wanted() else []
    rated = [lost for lost in losses if lost.rated and lost.tournament in records]
    return BotPage(
        bot=text,
        games=num,
        opponents=tuple(opponents),
        versions=version_rows(history.versions),
        tournaments=tuple(_entries(store, boards, own, names, history)),
        openings=tuple(openings),
        mistakes=plays.mistakes(num),
        losses=len(rated),
        worst=tuple(plays.worst(rated, records, names) if is_wanted() else ()),
        faults=tuple(_faults(store, own, losses)),
    )


@at_one_moment
def unrated_page(store: Store, identity: str) -> BotPage:
    """Return the page of a bot without a rated match: its forfeits, but no rating.

    Args:
        store: the store with its matches.
        identity: identity of the bot.
    """
    own = {identity}
    plays = Plays(store, Scope(MatchFilter(), own), boards_of(store))
    return BotPage(
        bot=f"{MARK}{identity}",
        games=0,
        opponents=(),
        versions=(),
        tournaments=(),
        openings=(),
        mistakes=Mistakes(),
        losses=0,
        worst=(),
        faults=tuple(_faults(store, own, plays.losses())),
    )


def _records(store: Store, boards: Boards, own: set[str]) -> dict[int, TournamentRecord]:
    numbers = {tally.tournament for tally in boards.tallies if tally.first in own or tally.second in own}
    found = {number: store.tournaments.find(number) for number in sorted(numbers)}
    return {number: record for number, record in found.items() if record is not None}


def _opponents(boards: Boards, own: set[str], names: Mapping[str, str]) -> list[Opponent]:
    played = {
        (tally.game, tally.pool) for tally in boards.tallies if tally.first in own or tally.second in own
    }
    found = [
        Opponent(
            game=game,
            pool=pool,
            identity=one,
            opponent_identity=other,
            cell=cell_of(names[one], names[other], met),
        )
        for game, pool, _ in boards.pools
        if (game, pool) in played
        for (one, other), met in boards.meetings(game, pool).of(own).items()
    ]
    return sorted(
        found, key=lambda row: (-row.cell.games, row.game, row.pool, row.cell.bot, row.cell.opponent)
    )


def version_rows(versions: Iterable[VersionRating]) -> tuple[VersionRow, ...]:
    """Return ratings of versions as rows of a page."""
    return tuple(
        VersionRow(
            game=each.game,
            pool=each.pool,
            name=each.name,
            identity=each.bot.identity,
            version=each.bot.version,
            first_at=each.first_at,
            table=each.table,
            rank=each.row.rank,
            elo=each.row.elo,
            error=each.row.error,
            rests_on_prior=each.row.rests_on_prior,
            games=each.row.games,
            forfeits=each.faults,
        )
        for each in versions
    )


def _entries(
    store: Store, boards: Boards, own: set[str], names: Mapping[str, str], history: BotHistory
) -> list[Participation]:
    """Return the tournaments of the bot, with its last stored rating in each."""
    curves = {(event.tournament.id, event.bot.identity): event.stands for event in history.events}
    by_tournament: defaultdict[int, list[Result]] = defaultdict(list)
    for tally in boards.tallies:
        by_tournament[tally.tournament].append(Result(tally.first_seat, tally.second_seat, tally))
    found: list[Participation] = []
    for number, record in _records(store, boards, own).items():
        sides = Sides(tuple(by_tournament[number]))
        for entrant in store.tournaments.entrants(number):
            identity = entrant.bot.identity
            results = sides.results[entrant.seat, 0] + sides.results[entrant.seat, 1]
            if identity not in own or not results:
                continue
            stands = curves.get((number, identity), ())
            step = max(1, len(stands) // _MOST_POINTS)
            found.append(
                Participation(
                    tournament=record.name,
                    game=record.game,
                    pool=record.pool.name,
                    name=names[identity],
                    identity=identity,
                    label=entrant.label,
                    created_at=record.created_at,
                    wins=results[1.0],
                    draws=results[0.5],
                    losses=results[0.0],
                    forfeits=sum(n for (seat, _), n in sides.faults.items() if seat == entrant.seat),
                    elo=stands[-1].rating.elo if stands else None,
                    error=stands[-1].rating.error if stands else None,
                    curve=tuple(map(_point, stands[::-step][::-1])),
                )
            )
    return sorted(found, key=lambda entry: (-entry.created_at, entry.tournament, entry.label))


def _point(stand: Stand) -> CurvePoint:
    return CurvePoint(
        num_matches=stand.num_matches,
        ended_at=stand.ended_at,
        elo=stand.rating.elo,
        error=stand.rating.error,
        rests_on_prior=stand.rating.rests_on_prior,
    )


def _faults(store: Store, own: set[str], losses: Sequence[LostMatch]) -> list[ForfeitKind]:
    """Return all forfeits from stored counts, so that the page of all bots shows the same numbers."""
    tallies = store.sums.tallies(MatchFilter(rated_only=False))
    counts: Counter[str] = Counter()
    for identity, found in count_forfeits(tallies, lambda tally: (tally.first, tally.second)).items():
        if identity in own:
            counts += found
    newest: dict[str, int] = {}
    for lost in losses:
        # Matches that ended by the rules, by far the most, need no `loser`.
        if lost.termination in counts and lost.termination not in newest and loser(lost) is not None:
            newest[lost.termination] = lost.id
    return [
        ForfeitKind(termination=kind, matches=n, newest=newest.get(kind)) for kind, n in counts.most_common()
    ]
