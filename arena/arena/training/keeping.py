"""Stores the matches of a run as unrated tournaments with two seats."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import time
from typing import TYPE_CHECKING

from arena.coordinator.config import TournamentConfig
from arena.entrants import resolve
from arena.errors import ArenaError
from arena.games.symmetry import match_hash
from arena.home import open_store
from arena.training.training_matches import all_tournaments
from arena_db.pools import PoolRecord
from arena_db.records import BotRecord, Entrant, MatchRecord, NewTournament, PlannedMatch
from arena_plugins import Outcome, Termination, game_spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena_db.store import Store
    from arena_plugins.contract import Game, State
    from arena_plugins.training import TrainingMatch

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
        record = store.add_tournament(_tournament(game, _free_name(store, name), seats), seats, planned)
        store.save(list(_records(game, record.id, seats, ends)))
        store.set_state(record.id, "finished")
    return len(found)


def _free_name(store: Store, name: str) -> str:
    taken = {tournament.name for tournament in all_tournaments(store)}
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
