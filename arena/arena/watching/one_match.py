"""Loads one stored match for a replay."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from arena.errors import ArenaError
from arena.live.events import Thoughts
from arena.live.replay import Recorded, Replay
from arena.play.config import BOT_SEAT
from arena.results.addresses import address_of
from arena.results.names import naming_of
from arena.watching.stored import recorded_of
from arena_db.records import Analysis, JudgedPly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.watching.query import Query
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

_MOST_GAPS = 50
"""Numbers in a row that may lack a match."""


class OneMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match, and what stands around it."""

    recorded: Recorded
    tournament: str
    """Name of its tournament."""
    address: str = ""
    """What it is called: `live1/89`."""
    specs: tuple[str, str] = ("", "")
    """Of the two bots, as they can be entered again."""
    analyses: tuple[Analysis, ...] = ()
    """How judges who did not play see it."""


def load_match(query: Query, number: int, step: int = 0) -> OneMatch:
    """Load the match of a number, or with `step` -1 or 1 the nearest one before or after it.

    Raises:
        Cancelled: the query was cancelled.
        ArenaError: there is none, or the store cannot be read.
    """
    with query.store() as store:
        match = _found(store, number, step)
        if match is None:
            if step == 0:
                raise ArenaError(f"no match {number} in the store")
            raise ArenaError(f"there is no {'older' if step < 0 else 'newer'} match")
        record = store.tournament(match.tournament)
        remarks = store.remarks([match.id]).get(match.id, ())
        labels = naming_of(store, record).seats if record else dict[str, str]()
        return OneMatch(
            recorded=recorded_of(match, labels, record.pool if record else None, remarks),
            tournament=match.tournament_name,
            address=address_of(match),
            specs=_specs(store, record, match),
            analyses=store.analyses([match.id]).get(match.id, ()),
        )


def replay_of(match: OneMatch, judge: str = "") -> Replay:
    """Give the replay of a match with all its views made, which takes a while for a long one.

    Args:
        match: the match.
        judge: whose values are shown; empty for those of the bots, with the grades of whoever has judged it.
    """
    recorded = match.recorded
    found = next((one for one in match.analyses if judge in ("", one.name)), None)
    if found is not None:
        recorded = replace(recorded, grades=_grades(found, recorded.num_opening))
    if found is not None and judge:
        recorded = replace(recorded, judge=judge, thoughts=_judged(found, recorded.thoughts))
    replay = Replay(recorded)
    replay.at(0)
    return replay


def _grades(analysis: Analysis, num_opening: int) -> tuple[str, ...]:
    """Say of each action what it gave away; nothing of what was given, and where nothing was lost."""
    return tuple(_grade(ply) if index >= num_opening else "" for index, ply in enumerate(analysis.plies))


def _grade(ply: JudgedPly) -> str:
    if not ply.loss or ply.value is None:
        return ""
    before = {1.0: "a win", 0.0: "a draw"}.get(ply.value)
    return f"gives {before} away" if before else f"gives {ply.loss:.2f} away"


def _judged(analysis: Analysis, thoughts: Sequence[Thoughts | None]) -> tuple[Thoughts | None, ...]:
    """Put the values of a judge in place of those of the bots; the rest of what they said stays."""
    return tuple(
        replace(said or Thoughts(), value=ply.value)
        for said, ply in zip(thoughts, analysis.plies, strict=True)
    )


def _specs(store: Store, record: TournamentRecord | None, match: StoredMatch) -> tuple[str, str]:
    """Give the specs of both bots, with the files they name where the configuration tells where these lie."""
    entered = {entrant.seat: entrant.bot.spec for entrant in store.entrants(match.tournament)}
    with suppress(tomllib.TOMLDecodeError):
        config = tomllib.loads(record.config if record else "")
        entered |= dict(enumerate(map(str, config.get("bots", ()))))
        if "bot" in config:
            entered[BOT_SEAT] = str(config["bot"])
    return entered.get(match.first_seat, ""), entered.get(match.second_seat, "")


def _found(store: Store, number: int, step: int) -> StoredMatch | None:
    if step == 0:
        return store.match(number) if 0 < number < 1 << 63 else None
    if step < 0:
        from arena_db.records import MatchFilter

        older = store.matches(MatchFilter(rated_only=False), before=number, limit=1)
        return older[0] if older else None
    near = (store.match(number + gap) for gap in range(1, _MOST_GAPS))
    return next((match for match in near if match is not None), None)
