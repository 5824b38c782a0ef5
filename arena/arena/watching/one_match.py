"""Loads one stored match for a replay."""

from __future__ import annotations

import time
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from arena.errors import ArenaError, IllegalMoveError, InvalidMoveError, PluginError
from arena.live.replay_views import Recorded, Replay
from arena.person.session_config import BOT_SEAT
from arena.results.addresses import address_of
from arena.results.grades import grades_of, preferred, restored
from arena.results.names import naming_of
from arena.watching.stored import recorded_of
from arena_db.judgements import JudgedAction, JudgedMatch, JudgedPly
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.watching.query import Query
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

_MOST_GAPS = 50
"""Maximum number of consecutive ids without a match."""


class OneMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match with everything that a replay shows."""

    recorded: Recorded
    tournament: str
    """Name of the match's tournament."""
    address: str = ""
    """Address of the match: `live1/89`."""
    specs: tuple[str, str] = ("", "")
    """Specs of the two bots, as they can be entered again."""
    void_reason: str = ""
    """Why the match was declared void; empty if it is valid."""
    analyses: tuple[JudgedMatch, ...] = ()
    """Gradings of the match."""


def load_match(query: Query, number: int, step: int = 0) -> OneMatch:
    """Load the match with an id or, if `step` is -1 or 1, the nearest one before or after it.

    Raises:
        Cancelled: the query was cancelled.
        ArenaError: there is no such match, or the store cannot be read.
    """
    with query.store() as store:
        match = _found(store, number, step)
        if match is None:
            if step == 0:
                raise ArenaError(f"no match {number} in the store")
            raise ArenaError(f"there is no {'older' if step < 0 else 'newer'} match")
        record = store.tournaments.find(match.tournament)
        remarks = store.matches.remarks([match.id]).get(match.id, ())
        labels = naming_of(store, record).seats if record else dict[str, str]()
        return OneMatch(
            recorded=recorded_of(match, labels, record.pool if record else None, remarks),
            tournament=match.tournament_name,
            address=address_of(match),
            specs=_specs(store, record, match),
            void_reason=match.void_reason,
            analyses=store.analyses.of([match.id]).get(match.id, ()),
        )


def load_analyses(query: Query, number: int) -> tuple[JudgedMatch, ...]:
    """Load the current gradings of a match.

    Raises:
        Cancelled: the query was cancelled.
        ArenaError: the store cannot be read.
    """
    with query.store() as store:
        return store.analyses.of([number]).get(number, ())


class ToldPly(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `arena grade --format ndjson`: the grade of one ply."""

    type: str
    judge: str = ""
    identity: str = ""
    done: int = 0
    """Number of plies graded so far."""
    total: int = 0
    ply: int = 0
    """Index of the ply, from 0."""
    value_before: float | None = None
    loss: float | None = None
    best: tuple[int, ...] = ()
    scores: tuple[tuple[int, float | None, int | None], ...] = ()
    line: tuple[int, ...] = ()


def read_told(line: str) -> ToldPly | None:
    """Parse a line of the output of a grading; return None if it is not about a ply."""
    with suppress(msgspec.DecodeError):
        told = msgspec.json.decode(line, type=ToldPly)
        return told if told.type == "ply" else None
    return None


def with_told(match: OneMatch, told: Sequence[ToldPly]) -> OneMatch:
    """Return a match with grades of plies added, whether or not they are stored."""
    num = len(match.recorded.actions)
    analyses = {one.name: one for one in match.analyses}
    for each in told:
        known = analyses.get(each.judge)
        if not 0 <= each.ply < num:
            continue
        plies = [JudgedPly()] * num
        if known is not None and known.identity == each.identity:
            plies = [*known.plies]
        plies[each.ply] = JudgedPly(
            value=each.value_before,
            loss=each.loss,
            best=each.best,
            scores=tuple(JudgedAction(*score) for score in each.scores),
            line=each.line,
        )
        analyses[each.judge] = JudgedMatch(
            match=match.recorded.stored or 0,
            name=each.judge,
            plies=tuple(plies),
            made_at=time.time(),
            identity=each.identity,
        )
    return replace(match, analyses=tuple(analyses[name] for name in sorted(analyses)))


def replay_of(match: OneMatch, judge: str = "") -> Replay:
    """Return the replay of a match with all views computed, which takes a while for a long match.

    Args:
        match: the match.
        judge: judge whose grades are shown; empty for the solver, else the first that graded it.
    """
    recorded = match.recorded
    found = preferred(match.analyses, judge)
    if found is not None:
        with suppress(PluginError, IllegalMoveError, InvalidMoveError):
            game = load_game(recorded.game)
            analysis = restored(game, recorded.actions, recorded.num_opening, found)
            grades = grades_of(game, recorded.actions, analysis)
            recorded = replace(recorded, grades=grades, judge=found.name)
    replay = Replay(recorded)
    replay.at(0)
    return replay


def _specs(store: Store, record: TournamentRecord | None, match: StoredMatch) -> tuple[str, str]:
    """Return the specs of both bots, with the files that they name if the configuration has their paths."""
    entered = {entrant.seat: entrant.bot.spec for entrant in store.tournaments.entrants(match.tournament)}
    with suppress(tomllib.TOMLDecodeError):
        config = tomllib.loads(record.config if record else "")
        entered |= dict(enumerate(map(str, config.get("bots", ()))))
        if "bot" in config:
            entered[BOT_SEAT] = str(config["bot"])
    return entered.get(match.first_seat, ""), entered.get(match.second_seat, "")


def _found(store: Store, number: int, step: int) -> StoredMatch | None:
    if step == 0:
        # The driver rejects numbers of more than 64 bits with an error that is not ours.
        return store.matches.find(number) if 0 < number < 1 << 63 else None
    if step < 0:
        from arena_db.records import MatchFilter

        older = store.matches.newest(MatchFilter(rated_only=False), before=number, limit=1)
        return older[0] if older else None
    near = (store.matches.find(number + gap) for gap in range(1, _MOST_GAPS))
    return next((match for match in near if match is not None), None)
