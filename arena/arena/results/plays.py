"""What bots played: openings, mistakes by stored grades, and the losses that surprise most."""

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
"""Newest gradings that are read: a quarter of a second."""
NUM_WORST: Final = 10
"""Losses that a page shows."""
_SOLVER: Final = "solver"


class OpeningResult(msgspec.Struct, frozen=True, kw_only=True):
    """How bots fared from one opening; the fields are the keys of the JSON form."""

    game: str
    moves: str
    """As people write them; empty for the initial position."""
    games: int
    wins: int
    draws: int
    losses: int
    graded: int
    """Matches of it that the judge has graded, of those that were read."""
    mistakes: int
    """Own actions that lost something in these."""
    match: int
    """The store's number of the oldest of its matches."""

    @property
    def score(self) -> float | None:
        """Points per match, 0 to 1."""
        return score_of((self.wins, self.draws, self.losses))


class PlyMistakes(msgspec.Struct, frozen=True):
    """Mistakes at one ply of graded matches."""

    ply: int
    """From 1: a match at `:ply` shows the position after it."""
    judged: int
    """Own actions there of which the judge knew what they lose."""
    mistakes: int
    """Those that lost something."""


class Mistakes(msgspec.Struct, frozen=True, kw_only=True):
    """What one judge said of the play of bots."""

    judge: str = ""
    """Who graded most; empty where nobody did."""
    graded: int = 0
    """Matches that it graded."""
    read: int = 0
    """The newest of these, which are counted here."""
    games: int = 0
    """Matches in all."""
    plies: tuple[PlyMistakes, ...] = ()
    """Those with judged actions, in order."""


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A lost match."""

    match: int
    """The store's number."""
    address: str
    started_at: float
    """UTC seconds."""
    game: str
    pool: str
    bot: str
    """Name of the bot that lost."""
    opponent: str
    side: str
    """first or second: how it moved."""
    expected: float | None
    """Points that the fit of its pool expected, 0 to 1; None where no table has both."""
    mistake: int | None
    """The ply of its first mistake, from 1; None where none is known."""
    plies: int
    termination: str
    ending: str
    """Why it ended, in words."""


class Scope(NamedTuple):
    """Which matches of which bots a page is about."""

    where: MatchFilter
    own: Collection[str]
    """Identities."""
    others: Collection[str] | None = None
    """Identities of their opponents; None for any."""


class Plays:
    """What was played within a scope; the store stays open as long as it is asked."""

    def __init__(self, store: Store, scope: Scope, boards: Boards) -> None:
        """Begin; nothing is read yet.

        Args:
            store: where it is.
            scope: which matches.
            boards: leaderboards of the store.
        """
        self._store = store
        self._scope = scope
        self._boards = boards
        self._judge = ""
        self._graded: list[GradedMatch] = []
        self._num_graded = 0

    def read_grades(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Read the newest gradings of the solver, or of the judge who graded most, if there are any."""
        where, own, others = self._scope
        judges = self._store.judges(where, own, others)
        if judges and is_wanted():
            self._judge = max(judges, key=lambda name: (name == _SOLVER, judges[name], name))
            self._num_graded = judges[self._judge]
            self._graded = self._store.graded_matches(where, self._judge, own, others, limit=MOST_GRADED)

    def turned(self) -> Plays:
        """Return the same matches as the opponents see them; their gradings are not read again."""
        scope = Scope(self._scope.where, self._scope.others or (), self._scope.own)
        other = Plays(self._store, scope, self._boards)
        other._judge, other._graded, other._num_graded = self._judge, self._graded, self._num_graded
        return other

    def mistakes(self, num_matches: int) -> Mistakes:
        """Return the mistakes by ply; `num_matches` is how many matches there are in all."""
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
        """Return the results by opening, that with most matches first.

        Args:
            tournaments: by id, of all matches of the scope.
        """
        where, own, others = self._scope
        results: defaultdict[tuple[str, int], Counter[float]] = defaultdict(Counter)
        samples: dict[tuple[str, int], int] = {}
        games = {number: record.game for number, record in tournaments.items()}
        points = {"first": 1.0, "draw": 0.5, "second": 0.0}
        for tally in self._store.opening_tallies(where, own, others):
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
        """Return the matches that own bots lost, newest first, unrated ones too."""
        where = replace(self._scope.where, rated_only=False)
        return self._store.lost_matches(where, self._scope.own, self._scope.others)

    def worst_of(
        self,
        tournaments: Mapping[int, TournamentRecord],
        names: Mapping[str, str],
        limit: int = NUM_WORST,
    ) -> list[Loss]:
        """Return the `worst` of all rated losses against opponents of one pool, of which few are read.

        All matches of two bots with one result are expected alike, so those with a known mistake come first,
        and then the newest.
        """
        where, own, others = self._scope
        wrong = [match.id for match in self._graded if any(loss > 0 for _, loss in self._own_losses(match))]
        losses = self._store.newest_lost(
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
        """Return the losses that surprise most: those of which the fit expected most points.

        Of equal ones that with the earliest known mistake comes first, then the newest.

        Args:
            losses: of own bots.
            tournaments: by id.
            names: of bots, by identity.
            limit: how many.
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
        matches = self._store.matches_with([lost.id for lost in chosen])
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
        """Return losses among which the `limit` worst are: those of the encounters of most expected points.

        All matches of an encounter with one result are expected alike, and there are few of these.
        """
        keys = [(lost.tournament, lost.first, lost.second, lost.outcome) for lost in losses]
        samples = dict(zip(keys, losses, strict=True))
        points = {key: self._expected(lost, tournaments[key[0]]) for key, lost in samples.items()}
        chosen: dict[tuple[int, str, str, str], float | None] = {}
        num = Counter(keys)
        for key in sorted(points, key=lambda key: (points[key] is None, -(points[key] or 0.0))):
            # Of those that are expected as the last one none may be missing.
            if sum(num[known] for known in chosen) >= limit and points[key] not in chosen.values():
                break
            chosen[key] = points[key]
        return [lost for lost, key in zip(losses, keys, strict=True) if key in chosen]

    def _expected(self, lost: LostMatch, record: TournamentRecord) -> float | None:
        """Return the points that the fit expected of the loser."""
        first = self._boards.expected(record.game, record.pool.name, lost.first, lost.second)
        return first if first is None or lost.outcome == Outcome.SECOND else 1 - first

    def _own_losses(self, match: GradedMatch) -> list[tuple[int, float]]:
        """Return the plies, from 1, of the judged actions of own bots, and what each gave away.

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
    """Return the moves of each opening, read from one match of it."""
    found: dict[tuple[str, int], str] = {}
    begun = store.given_actions(sorted(samples.values()))
    games: dict[str, Game | None] = {}
    for key, number in samples.items():
        if key[0] not in games:
            games[key[0]] = _game(key[0])
        found[key] = _moves(games[key[0]], begun[number])
    return found


def _game(spec: str) -> Game | None:
    """Return a game; None where it is not installed here."""
    try:
        return load_game(spec)
    except PluginError:
        return None


def _moves(game: Game | None, actions: Sequence[int]) -> str:
    try:
        return "" if game is None else format_moves(game, actions)
    except (IllegalMoveError, InvalidMoveError):
        # Not by these rules; its actions say as much.
        return " ".join(map(str, actions))
