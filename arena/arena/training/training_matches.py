"""The matches of a run: read from the store, played in this process, stored as unrated tournaments."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import time
from collections import Counter
from itertools import cycle, islice
from typing import TYPE_CHECKING

from arena.coordinator.config import TournamentConfig
from arena.entrants import resolve
from arena.errors import ArenaError
from arena.games.symmetry import match_hash
from arena.home import open_store
from arena.match import play_matches
from arena.pairing.sampling import sample_openings
from arena_db.pools import PoolRecord
from arena_db.records import BotRecord, Entrant, MatchRecord, NewTournament, PlannedMatch
from arena_plugins import Outcome, Termination, game_spec, load_bot
from arena_plugins.training import Score, TrainingMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena_db.records import TournamentRecord
    from arena_db.store import Store
    from arena_plugins.contract import Game, State

_OUTCOMES = {Outcome.FIRST.value: 1, Outcome.DRAW.value: 0, Outcome.SECOND.value: -1}
_PAGE = 100
"""Number of tournaments per query: each row brings its whole configuration."""
_RESULTS = (1, 0, -1)


def stored_matches(game: Game, db: str | None) -> Iterator[TrainingMatch]:
    """Yield the game's stored matches that ended regularly, newest tournament first.

    Raises:
        StoreError: there is no store, or it cannot be read.
    """
    spec = game_spec(game)
    with open_store(db, read_only=True) as store:
        for tournament in _all_tournaments(store):
            if tournament.game != spec:
                continue
            for match in store.matches.of_tournament(tournament.id):
                if match.void_reason:
                    continue
                if match.outcome in _OUTCOMES and Termination(match.termination).is_regular:
                    yield TrainingMatch(match.actions, _OUTCOMES[match.outcome], match.match_hash)


def _all_tournaments(store: Store) -> Iterator[TournamentRecord]:
    """Yield all tournaments, newest first."""
    before: int | None = None
    while page := store.tournaments.newest(before=before, limit=_PAGE):
        yield from page
        before = page[-1].id


def play(
    game: Game, bots: tuple[str, str], matches: int, *, plies: int, seed: int
) -> tuple[Score, list[TrainingMatch]]:
    """Play matches between two bots in this process, in pairs with swapped sides (an odd number rounds up).

    Args:
        game: the rules.
        bots: specs of the bot that the score is for, and of its opponent.
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
        first, second = (load_bot(spec, game, seed=seed + number) for spec in bots)
        for side, result in enumerate(
            play_matches(game, (first, second), 2, opening=opening, seed=(seed << 20) + number)
        ):
            outcome = _OUTCOMES.get(result.outcome.value, 0)
            # The outcome is that of the player who moved first, the score that of the first bot, who is
            # second here in every other match.
            counts[side, -outcome if side else outcome] += 1
            played.append(TrainingMatch(result.actions, outcome))
            sides.append(side)
    table = [tuple(counts[side, result] for result in _RESULTS) for side in (0, 1)]
    distinct = len({(side, match.actions) for side, match in zip(sides, played, strict=True)})
    (a, b, c), (d, e, f) = table
    return Score((a, b, c), (d, e, f), distinct), played


_WORDS = {1: Outcome.FIRST, 0: Outcome.DRAW, -1: Outcome.SECOND}
_REASONS = {1: "first wins by {}", 0: "Draw by {}", -1: "second wins by {}"}
_MARGIN_MS = 50
"""Margin in milliseconds for limits in specs, the default of `arena tournament`; not part of any identity."""


def entrants_of(first: str, second: str) -> tuple[Entrant, Entrant]:
    """Return the entrants for two specs, which may name the same bot.

    Raises:
        PluginError: there is no such bot, or a spec is malformed.
    """
    found = resolve([first, second], margin_ms=_MARGIN_MS, twins=True, keep=False)
    a, b = (Entrant(seat=i, label=bot.label, bot=bot.record, limit="") for i, bot in enumerate(found))
    return a, b


def entrants_in_the_making(bot: str, run: str) -> tuple[Entrant, Entrant]:
    """Return two entrants for a bot in training, which has no weights yet and plays against itself."""
    record = BotRecord(
        identity=hashlib.sha256(json.dumps(["training", bot, run]).encode()).hexdigest(),
        name=bot,
        spec=bot,
        distribution="bot-arena",
        version=importlib.metadata.version("bot-arena"),
        files="{}",
    )
    first = Entrant(seat=0, label=bot, bot=record, limit="")
    return first, Entrant(seat=1, label=f"{bot}_2", bot=record, limit="")


def keep(
    db: str | None, game: Game, seats: tuple[Entrant, Entrant], name: str, found: Sequence[TrainingMatch]
) -> int:
    """Store matches as a finished, unrated tournament; return their number.

    The results are computed by the rules; reported outcomes are ignored.

    Args:
        db: the store.
        game: the rules.
        seats: the first and second player of all matches.
        name: the tournament's name; a number is appended.
        found: the matches, each from the initial state to the end.

    Raises:
        ArenaError: a match breaks the rules or does not end, or the store cannot be written.
    """
    if not found:
        return 0
    ends = [_end_of(game, match) for match in found]
    planned = [
        PlannedMatch(number=number, encounter=0, match_no=number - 1, first=0, second=1, opening=())
        for number in range(1, len(found) + 1)
    ]
    with open_store(db) as store:
        record = store.tournaments.add(_tournament(game, _free_name(store, name), seats), seats, planned)
        store.matches.save(list(_records(game, record.id, seats, ends)))
        store.tournaments.set_state(record.id, "finished")
    return len(found)


def _free_name(store: Store, name: str) -> str:
    taken = {tournament.name for tournament in _all_tournaments(store)}
    return next(text for i in range(1, len(taken) + 2) if (text := f"{name}-{i}") not in taken)


def _end_of(game: Game, match: TrainingMatch) -> State:
    state = game.initial_state()
    for action in match.actions:
        state = state.child(action)
    if not state.is_terminal:
        raise ArenaError(f"a match to be stored does not end: {list(match.actions)}")
    return state


def _tournament(game: Game, name: str, seats: Sequence[Entrant]) -> NewTournament:
    bots = tuple(seat.bot.spec for seat in seats)
    config = TournamentConfig(type="match", game=game_spec(game), name=name, openings="none", bots=bots)
    return NewTournament(
        name=name,
        type="match",
        game=game_spec(game),
        num_actions=game.num_actions,
        pool=PoolRecord(process="in-process", label="training"),
        seed=0,
        config=config.to_toml(),
        event="training",
        site="",
    )


def _records(
    game: Game, tournament: int, seats: tuple[Entrant, Entrant], ends: Sequence[State]
) -> Iterator[MatchRecord]:
    versions = {"arena": importlib.metadata.version("bot-arena"), "python": platform.python_version()}
    for number, end in enumerate(ends, start=1):
        actions, outcome = end.history, round(end.returns[0])
        yield MatchRecord(
            tournament=tournament,
            number=number,
            attempt=0,
            first=seats[0].bot.identity,
            second=seats[1].bot.identity,
            outcome=_WORDS[outcome],
            termination=Termination.RULES,
            reason=_REASONS[outcome].format(game.ending(end)),
            rated=False,
            is_final=True,
            actions=actions,
            num_opening=0,
            times_ms=(0,) * len(actions),
            values=(None,) * len(actions),
            match_hash=match_hash(game, actions),
            seed_first=0,
            seed_second=0,
            started_at=time.time(),
            duration_ms=0,
            tier="T0",
            fault="",
            versions=json.dumps(versions),
        )
