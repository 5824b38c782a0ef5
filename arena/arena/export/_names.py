"""Values shared by the matches of an export, each stored once: tournaments, bots with ratings, openings."""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.results.rated_matches import RatedMatches
    from arena_db.records import BotRecord, PoolCounts, TournamentRecord
    from arena_db.store import Store
    from arena_plugins.contract import Game

MISSING = float("nan")


class PoolBot(NamedTuple):
    """A bot in a rating pool."""

    record: BotRecord
    pool: str
    elo: float
    """The bot's rating in the pool at the time of the export, rounded to a tenth; NaN without a rating."""


class FilePlace(NamedTuple):
    """A tournament, with the codes of its bots."""

    code: int
    competitors: Mapping[int, int]
    """Code of the competitor, by seat."""


class Names:
    """Assigns codes to tournaments, competitors, openings and terminations, in order of occurrence."""

    def __init__(self, store: Store, game: Game, spec: str) -> None:
        """Start without any codes.

        Args:
            store: the store of the matches.
            game: the rules.
            spec: the game's spec as in the store.
        """
        self.tournaments: list[TournamentRecord] = []
        self.competitors: list[PoolBot] = []
        self.openings: list[str] = []
        self.terminations: list[str] = []
        self._store = store
        self._game = game
        self._spec = spec
        self._places: dict[int, FilePlace] = {}
        self._competitor_codes: dict[tuple[str, str], int] = {}
        self._opening_codes: dict[bytes, int] = {}
        self._ratings: dict[str, dict[str, float]] = {}

    def place(self, tournament: int) -> FilePlace:
        """Return a tournament by its id, with codes for its bots."""
        known = self._places.get(tournament)
        if known is None:
            record = self._store.tournaments.find(tournament)
            if record is None:
                # A foreign key makes this impossible in an undamaged store.
                raise LookupError(f"there are matches of a missing tournament, {tournament}")
            seats = {
                entrant.seat: self._competitor(entrant.bot, record.pool.name)
                for entrant in self._store.tournaments.entrants(tournament)
            }
            known = self._places[tournament] = FilePlace(len(self.tournaments), seats)
            self.tournaments.append(record)
        return known

    def opening(self, actions: bytes, width: int) -> int:
        """Return the code of an opening, given as packed actions of `width` bytes each."""
        code = self._opening_codes.get(actions)
        if code is None:
            code = self._opening_codes[actions] = len(self.openings)
            given = [
                int.from_bytes(actions[at : at + width], "little") for at in range(0, len(actions), width)
            ]
            self.openings.append(self._moves(given))
        return code

    def termination(self, kind: str) -> int:
        """Return the code of a termination."""
        if kind not in self.terminations:
            self.terminations.append(kind)
        return self.terminations.index(kind)

    def _moves(self, actions: list[int]) -> str:
        state = self._game.initial_state()
        moves: list[str] = []
        for action in actions:
            moves.append(self._game.move(state, action))
            state = state.child(action)
        return " ".join(moves)

    def _competitor(self, record: BotRecord, pool: str) -> int:
        key = (record.identity, pool)
        code = self._competitor_codes.get(key)
        if code is None:
            code = self._competitor_codes[key] = len(self.competitors)
            if pool not in self._ratings:
                self._ratings[pool] = self._rate(pool)
            self.competitors.append(PoolBot(record, pool, self._ratings[pool].get(record.identity, MISSING)))
        return code

    def _rate(self, pool: str) -> dict[str, float]:
        """Rate a pool's bots by all rated matches of the game, as `arena leaderboard` does."""
        from arena.results.rating_tables import Leaderboard
        from arena.results.sides import GamePool

        counts, bots, book = self._counted
        board = Leaderboard(counts, bots, GamePool(self._spec, pool), book)
        return {row.identity: round(row.elo, 1) for table in board.tables() for row in table.rows}

    @cached_property
    def _counted(self) -> tuple[PoolCounts, dict[str, BotRecord], RatedMatches]:
        """The counts of the game's matches, all bots and the sums of the matches, read at one moment."""
        from arena.results.rated_matches import RatedMatches

        book = RatedMatches(MatchFilter(game=self._spec))
        with self._store.at_one_moment():
            book.update(self._store)
            return self._store.sums.pool_counts(MatchFilter(game=self._spec)), self._store.names.bots(), book


def weights_of(record: BotRecord) -> str:
    """Return the digest of a bot's files: that of the only file, else one over all; empty if it has none."""
    files: dict[str, str] = json.loads(record.files or "{}")
    if len(files) <= 1:
        return next(iter(files.values()), "")
    return sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
