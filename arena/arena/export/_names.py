"""What the matches of an export have in common, each thing once: tournaments, bots with ratings, openings."""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.results.book import RatedMatches
    from arena_db.records import BotRecord, Tally, TournamentRecord
    from arena_db.store import Store
    from arena_plugins.contract import Game

MISSING = float("nan")


class Competitor(NamedTuple):
    """A bot in a pool."""

    record: BotRecord
    pool: str
    elo: float
    """Its rating there when it was exported, to a tenth; NaN where it has none."""


class FilePlace(NamedTuple):
    """A tournament with the codes of its bots."""

    code: int
    competitors: Mapping[int, int]
    """Code of the competitor by seat."""


class Names:
    """Gives every tournament, competitor, opening and termination a code, in the order they come."""

    def __init__(self, store: Store, game: Game, spec: str) -> None:
        """Know nothing yet.

        Args:
            store: where the matches lie.
            game: the rules.
            spec: its spec as the store has it.
        """
        self.tournaments: list[TournamentRecord] = []
        self.competitors: list[Competitor] = []
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
        """Give a tournament by its id."""
        known = self._places.get(tournament)
        if known is None:
            record = self._store.tournament(tournament)
            assert record is not None  # noqa: S101 # matches have tournaments, says a foreign key
            seats = {
                entrant.seat: self._competitor(entrant.bot, record.pool.name)
                for entrant in self._store.entrants(tournament)
            }
            known = self._places[tournament] = FilePlace(len(self.tournaments), seats)
            self.tournaments.append(record)
        return known

    def opening(self, actions: bytes, width: int) -> int:
        """Give the code of an opening, packed as the store packs actions with `width` bytes each."""
        code = self._opening_codes.get(actions)
        if code is None:
            code = self._opening_codes[actions] = len(self.openings)
            given = [
                int.from_bytes(actions[at : at + width], "little") for at in range(0, len(actions), width)
            ]
            self.openings.append(self._moves(given))
        return code

    def termination(self, kind: str) -> int:
        """Give the code of a termination."""
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
            self.competitors.append(
                Competitor(record, pool, self._ratings[pool].get(record.identity, MISSING))
            )
        return code

    def _rate(self, pool: str) -> dict[str, float]:
        """Rate the bots of a pool by all rated matches of this game, as `arena leaderboard` does."""
        from arena.results.views import Leaderboard

        board = Leaderboard(self._tallies, self._store.bots(), self._spec, pool, self._book)
        return {row.identity: round(row.elo, 1) for table in board.tables() for row in table.rows}

    @cached_property
    def _book(self) -> RatedMatches:
        from arena.results.book import RatedMatches

        book = RatedMatches(MatchFilter(game=self._spec))
        book.update(self._store)
        return book

    @cached_property
    def _tallies(self) -> list[Tally]:
        return self._store.tallies(MatchFilter(game=self._spec))


def weights_of(record: BotRecord) -> str:
    """Give the digest of the files a bot has: that of the only one, else one over all; empty for none."""
    files: dict[str, str] = json.loads(record.files or "{}")
    if len(files) <= 1:
        return next(iter(files.values()), "")
    return sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
