"""Statistics of bots' play: openings, mistakes according to gradings, and the most surprising losses."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from heapq import nsmallest
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from arena.games.notation import format_moves
from arena.results.addresses import address_of
from arena.results.corrections import ending_of
from arena.results.counts import score_of
from arena_plugins import Outcome, load_game
from arena_plugins.errors import IllegalMoveError, InvalidMoveError, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from arena.results.boards import Boards
    from arena_db.plays import GradedMatch, LostMatch
    from arena_db.records import MatchFilter, StoredMatch, TournamentRecord
    from arena_db.store import Store
    from arena_plugins.contract import Game

MOST_GRADED: Final = 5_000
"""Maximum number of newest gradings that are read; reading these takes a quarter of a second."""
NUM_WORST: Final = 10
"""Number of losses on a page."""
_SOLVER: Final = "solver"


class OpeningResult(msgspec.Struct, frozen=True, kw_only=True):
    """Results of bots from one opening; the fields are the keys of the JSON form."""

    game: str
    moves: str
    """The moves as people write them; empty for the initial position."""
    games: int
    wins: int
    draws: int
    losses: int
    graded: int
    """Number of matches from this opening among the gradings that were read."""
    mistakes: int
    """Number of own actions that lost value in the graded matches from this opening."""
    match: int
    """Id of the oldest match from this opening in the store."""

    @property
    def score(self) -> float | None:
        """Points per match, 0 to 1."""
        return score_of((self.wins, self.draws, self.losses))


class PlyMistakes(msgspec.Struct, frozen=True):
    """Mistakes at one ply of graded matches."""

    ply: int
    """Number of the ply, from 1: the address of a match with `:ply` shows the position after it."""
    judged: int
    """Number of own actions at this ply whose loss is known to the judge."""
    mistakes: int
    """Number of judged actions at this ply that lost value."""


class Mistakes(msgspec.Struct, frozen=True, kw_only=True):
    """Mistakes of bots according to one judge."""

    judge: str = ""
    """The judge with the most gradings; empty if there are none."""
    graded: int = 0
    """Number of matches that this judge graded."""
    read: int = 0
    """Number of graded matches that are counted here, the newest ones."""
    games: int = 0
    """Number of all matches."""
    plies: tuple[PlyMistakes, ...] = ()
    """Mistakes by ply, for plies with judged actions, in order."""


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A lost match."""

    match: int
    """Id of the match in the store."""
    address: str
    started_at: float
    """Start of the match, in seconds since 1970 (UTC)."""
    game: str
    pool: str
    bot: str
    """Name of the bot that lost."""
    opponent: str
    side: str
    """Side of the loser: first or second."""
    expected: float | None
    """Points that the fit of the pool expected for the loser, 0 to 1; None if no table has both bots."""
    mistake: int | None
    """Ply of the loser's first mistake, from 1; None if none is known."""
    plies: int
    termination: str
    ending: str
    """How the match ended, in words."""


class Scope(NamedTuple):
    """The matches and bots that a page is about."""

    where: MatchFilter
    own: Collection[str]
    """Identities of the bots that the page is about."""
    others: Collection[str] | None = None
    """Identities of their opponents; None for any."""


class Plays:
    """The matches within a scope; the store must stay open while this object is used."""

    def __init__(self, store: Store, scope: Scope, boards: Boards) -> None:
        """Prepare to read; nothing is read yet.

        Args:
            store: the store with the matches.
            scope: the matches.
            boards: leaderboards of the store.
        """
        self._store = store
        self._scope = scope
        self._boards = boards
        self._judge = ""
        self._graded: list[GradedMatch] = []
        self._num_graded = 0

    def read_grades(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Read the newest gradings of the solver or, if there are none, of the judge with most gradings."""
        where, own, others = self._scope
        judges = self._store.plays.judges(where, own, others)
        if judges and is_wanted():
            self._judge = max(judges, key=lambda name: (name == _SOLVER, judges[name], name))
            self._num_graded = judges[self._judge]
            self._graded = self._store.plays.graded_matches(
                where, self._judge, own, others, limit=MOST_GRADED
            )

    def turned(self) -> Plays:
        """Return the same matches from the point of view of the opponents; gradings are not read again."""
        scope = Scope(self._scope.where, self._scope.others or (), self._scope.own)
        other = Plays(self._store, scope, self._boards)
        other._judge, other._graded, other._num_graded = self._judge, self._graded, self._num_graded
        return other

    def mistakes(self, num_matches: int) -> Mistakes:
        """Return the mistakes by ply; `num_matches` is the number of all matches."""
        judged: Counter[int] = Counter()
        wrong: Counter[int] = Counter()
        for match in self._graded:
            for ply, loss in self._own_losses(match):
                judged[ply] += 1
                wrong[ply] += loss > 0
        return Mistakes(
            judge=self._judge,
            graded=self._num_graded,
            read=len(self._graded),
            games=num_matches,
            plies=tuple(PlyMistakes(ply, judged[ply], wrong[ply]) for ply in sorted(judged)),
        )

    def openings(self, tournaments: Mapping[int, TournamentRecord]) -> list[OpeningResult]:
        """Return the results by opening, those with the most matches first.

        Args:
            tournaments: records of all tournaments of the scope, by id.
        """
        where, own, others = self._scope
        results: defaultdict[tuple[str, int], Counter[float]] = defaultdict(Counter)
        samples: dict[tuple[str, int], int] = {}
        games = {number: record.game for number, record in tournaments.items()}
        points = {"first": 1.0, "draw": 0.5, "second": 0.0}
        for tally in self._store.plays.opening_tallies(where, own, others):
            key = games[tally.tournament], tally.opening_hash
            samples[key] = min(samples.get(key, tally.sample), tally.sample)
            if tally.is_first:
                results[key][points[tally.outcome]] += tally.num_matches
            if tally.is_second:
                results[key][1 - points[tally.outcome]] += tally.num_matches
        graded: Counter[tuple[str, int]] = Counter()
        wrong: Counter[tuple[str, int]] = Counter()
        for match in self._graded:
            key = games[match.tournament], match.opening_hash
            graded[key] += 1
            wrong[key] += sum(loss > 0 for _, loss in self._own_losses(match))
        moves = _opening_moves(self._store, samples)
        found = [
            OpeningResult(
                game=key[0],
                moves=moves[key],
                games=counts.total(),
                wins=counts[1.0],
                draws=counts[0.5],
                losses=counts[0.0],
                graded=graded[key],
                mistakes=wrong[key],
                match=samples[key],
            )
            for key, counts in results.items()
        ]
        return sorted(found, key=lambda one: (-one.games, one.score or 0.0, one.game, one.moves))

    def losses(self) -> list[LostMatch]:
        """Return the matches that own bots lost, newest first, unrated ones included."""
        where = replace(self._scope.where, rated_only=False)
        return self._store.plays.lost_matches(where, self._scope.own, self._scope.others)

    def worst_of(
        self,
        tournaments: Mapping[int, TournamentRecord],
        names: Mapping[str, str],
        limit: int = NUM_WORST,
    ) -> list[Loss]:
        """Return the `worst` rated losses against opponents of one pool, reading only a few losses.

        All matches of two bots with the same result are equally surprising, so losses with a known mistake
        come first, then the newest.
        """
        where, own, others = self._scope
        wrong = [match.id for match in self._graded if any(loss > 0 for _, loss in self._own_losses(match))]
        losses = self._store.plays.newest_lost(
            replace(where, rated_only=True), own, others or (), limit=limit, among=wrong
        )
        return self.worst(losses, tournaments, names, limit)

    def worst(
        self,
        losses: Sequence[LostMatch],
        tournaments: Mapping[int, TournamentRecord],
        names: Mapping[str, str],
        limit: int = NUM_WORST,
    ) -> list[Loss]:
        """Return the most surprising losses: those in which the fit expected the most points.

        Among equal ones the loss with the earliest known mistake comes first, then the newest.

        Args:
            losses: losses of own bots.
            tournaments: records of tournaments by id.
            names: names of bots by identity.
            limit: maximum number of losses.
        """
        losses = self._likely(losses, tournaments, limit)
        mistakes = {
            match.id: next((ply for ply, loss in self._own_losses(match) if loss > 0), None)
            for match in self._graded
        }
        expected: dict[tuple[int, str, str, str], float | None] = {}

        def surprise(lost: LostMatch) -> tuple[float, float, int]:
            key = lost.tournament, lost.first, lost.second, lost.outcome
            if key not in expected:
                record = tournaments[lost.tournament]
                expected[key] = self._expected(lost, record)
            ply = mistakes.get(lost.id)
            points = expected[key]
            return (1.0 if points is None else -points), (inf if ply is None else ply), -lost.id

        chosen = nsmallest(limit, losses, key=surprise)
        matches = self._store.matches.by_id([lost.id for lost in chosen])
        return [
            _loss(
                matches[lost.id],
                tournaments[lost.tournament],
                expected[lost.tournament, lost.first, lost.second, lost.outcome],
                mistakes.get(lost.id),
                names,
            )
            for lost in chosen
            if lost.id in matches
        ]

    def _likely(
        self, losses: Sequence[LostMatch], tournaments: Mapping[int, TournamentRecord], limit: int
    ) -> Sequence[LostMatch]:
        """Return a subset with the `limit` worst losses: encounters with the most expected points.

        All matches of an encounter with the same result are equally surprising, and there are few such
        groups.
        """
        keys = [(lost.tournament, lost.first, lost.second, lost.outcome) for lost in losses]
        samples = dict(zip(keys, losses, strict=True))
        points = {key: self._expected(lost, tournaments[key[0]]) for key, lost in samples.items()}
        chosen: dict[tuple[int, str, str, str], float | None] = {}
        num = Counter(keys)
        for key in sorted(points, key=lambda key: (points[key] is None, -(points[key] or 0.0))):
            # Groups that tie with the last chosen one must all be included.
            if sum(num[known] for known in chosen) >= limit and points[key] not in chosen.values():
                break
            chosen[key] = points[key]
        return [lost for lost, key in zip(losses, keys, strict=True) if key in chosen]

    def _expected(self, lost: LostMatch, record: TournamentRecord) -> float | None:
        """Return the points that the fit expected for the loser."""
        first = self._boards.expected(record.game, record.pool.name, lost.first, lost.second)
        return first if first is None or lost.outcome == Outcome.SECOND else 1 - first

    def _own_losses(self, match: GradedMatch) -> list[tuple[int, float]]:
        """Return the judged plies (from 1) of own bots, and the value that each lost.

        Players alternate in every game that has a judge.
        """
        is_own = match.first in self._scope.own, match.second in self._scope.own
        return [
            (index + 1, loss)
            for index, loss in enumerate(match.losses)
            if index >= match.num_opening and is_own[index % 2] and loss is not None
        ]


def _loss(
    match: StoredMatch,
    record: TournamentRecord,
    expected: float | None,
    mistake: int | None,
    names: Mapping[str, str],
) -> Loss:
    lost_first = match.outcome == Outcome.SECOND
    return Loss(
        match=match.id,
        address=address_of(match),
        started_at=match.started_at,
        game=match.game,
        pool=record.pool.name,
        bot=names[match.first if lost_first else match.second],
        opponent=names[match.second if lost_first else match.first],
        side="first" if lost_first else "second",
        expected=expected,
        mistake=mistake,
        plies=len(match.actions),
        termination=match.termination,
        ending=ending_of(match),
    )


def _opening_moves(store: Store, samples: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], str]:
    """Return the moves of each opening, read from one of its matches."""
    found: dict[tuple[str, int], str] = {}
    begun = store.plays.given_actions(sorted(samples.values()))
    games: dict[str, Game | None] = {}
    for key, number in samples.items():
        if key[0] not in games:
            games[key[0]] = _game(key[0])
        found[key] = _moves(games[key[0]], begun[number])
    return found


def _game(spec: str) -> Game | None:
    """Return a game; None if it is not installed."""
    try:
        return load_game(spec)
    except PluginError:
        return None


def _moves(game: Game | None, actions: Sequence[int]) -> str:
    try:
        return "" if game is None else format_moves(game, actions)
    except (IllegalMoveError, InvalidMoveError):
        # The rules changed or the data are damaged; action numbers are still readable.
        return " ".join(map(str, actions))
