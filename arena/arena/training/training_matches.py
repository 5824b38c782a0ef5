"""The matches that a run learns from or is measured by: read from the store, or played in this process."""

from __future__ import annotations

from collections import Counter
from itertools import cycle, islice
from typing import TYPE_CHECKING

from arena.home import open_store
from arena.match import play_matches
from arena.pairing.sampling import sample_openings
from arena_plugins import Outcome, Termination, game_spec, load_bot
from arena_plugins.training import Score, TrainingMatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_db.records import TournamentRecord
    from arena_db.store import Store
    from arena_plugins.contract import Game

_OUTCOMES = {Outcome.FIRST.value: 1, Outcome.DRAW.value: 0, Outcome.SECOND.value: -1}
_PAGE = 100
_RESULTS = (1, 0, -1)


def stored_matches(game: Game, db: str | None) -> Iterator[TrainingMatch]:
    """Yield the game's stored matches that ended regularly, newest tournament first.

    Raises:
        StoreError: there is no store, or it cannot be read.
    """
    spec = game_spec(game)
    with open_store(db, read_only=True) as store:
        for tournament in all_tournaments(store):
            if tournament.game != spec:
                continue
            for match in store.tournament_matches(tournament.id):
                if match.void_reason:
                    continue
                if match.outcome in _OUTCOMES and Termination(match.termination).is_regular:
                    yield TrainingMatch(match.actions, _OUTCOMES[match.outcome], match.match_hash)


def all_tournaments(store: Store) -> Iterator[TournamentRecord]:
    """Yield all tournaments, newest first."""
    before: int | None = None
    while page := store.tournaments(before=before, limit=_PAGE):
        yield from page
        before = page[-1].id


def play(  # noqa: PLR0913 - two bots, and how they play
    game: Game, first: str, second: str, matches: int, *, plies: int, seed: int
) -> tuple[Score, list[TrainingMatch]]:
    """Play matches between two bots in this process, in pairs with swapped sides (an odd number rounds up).

    Args:
        game: the rules.
        first: spec of the bot that the score is for.
        second: spec of its opponent.
        matches: number of matches.
        plies: number of random actions at the start of each pair.
        seed: seed of openings and bots.

    Raises:
        PluginError: a bot cannot be found, loaded or made.
    """
    openings = list(islice(sample_openings(game, plies, seed), (matches + 1) // 2)) if plies else []
    counts: Counter[tuple[int, int]] = Counter()
    played: list[TrainingMatch] = []
    sides: list[int] = []
    for number, opening in zip(range((matches + 1) // 2), cycle(openings or [()])):
        # New bots for each pair, because not every bot can be reused.
        bots = (load_bot(first, game, seed=seed + number), load_bot(second, game, seed=seed + number))
        for side, result in enumerate(
            play_matches(game, bots, 2, opening=opening, seed=(seed << 20) + number)
        ):
            outcome = _OUTCOMES.get(result.outcome.value, 0)
            counts[side, -outcome if side else outcome] += 1
            played.append(TrainingMatch(result.actions, outcome))
            sides.append(side)
    table = [tuple(counts[side, result] for result in _RESULTS) for side in (0, 1)]
    distinct = len({(side, match.actions) for side, match in zip(sides, played, strict=True)})
    (a, b, c), (d, e, f) = table
    return Score((a, b, c), (d, e, f), distinct), played
