"""Stored matches and tournaments as view-models for viewers."""

from __future__ import annotations

from functools import lru_cache
from itertools import starmap, zip_longest
from typing import TYPE_CHECKING, Literal, cast

import msgspec
from msgspec.structs import replace

from arena.errors import ArenaError
from arena.live.events import Finished, Move, make_event
from arena.live.geometry import find_game, position
from arena.live.labels import MAX_NAME
from arena.live.replay_views import Recorded, Replay
from arena.live.table_views import MatchRow
from arena.live.views import (
    MAX_FINISHED,
    MAX_NOTICES,
    MAX_RECENT,
    FinishedMatch,
    LiveView,
    MatchView,
    Notice,
    ProgressView,
)
from arena.results.corrections import ending_of
from arena.results.forfeits import count_forfeits
from arena.results.tested import is_test
from arena.results.tournament_states import refusal_of
from arena.watching.decision_notices import decision_notices, merged
from arena_plugins.text import clean_text
from arena_plugins.thoughts import Thoughts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.live.events import Event
    from arena_db.pools import PoolRecord
    from arena_db.records import Remark, StoredMatch, TournamentRecord
    from arena_db.store import Store

NUM_BOARDS = 6
"""Number of finished matches whose boards a new viewer shows."""
_MAX_TEXT = 200
"""Maximum characters of a reason in a row: a list may have hundreds, and reasons come from bots and
people."""

_WITH_GOAL = frozenset({"swiss", "knockout", "ladder"})
"""Types of tournaments with a goal other than playing all matches; sequential tests have one, too."""

_Outcome = Literal["first", "second", "draw", "void"]
_STATES: Mapping[str, Literal["preparing", "running", "ended"]] = {
    "preparing": "preparing",
    "running": "running",
    "stopped": "ended",
    "finished": "ended",
    "refused": "ended",
}
_REASONS: Mapping[str, str] = {"stopped": "stopped", "preparing": "its bots are checked"}
"""Why no match is being played, by state."""


def recorded_of(
    match: StoredMatch,
    labels: Mapping[str, str],
    pool: PoolRecord | None = None,
    remarks: Sequence[Remark | None] = (),
) -> Recorded:
    """Return a stored match as the input of a replay.

    Args:
        match: the match.
        labels: short labels by the names in the tournament.
        pool: pool of its tournament.
        remarks: reports of the bots beside values, per action; may be shorter.
    """
    clock_ms, inc_ms = _clocks(pool)
    return Recorded(
        number=match.number,
        stored=match.id,
        tournament=match.tournament,
        tournament_name=match.tournament_name,
        attempt=match.attempt,
        game=match.game,
        bots=(match.first_label, match.second_label),
        labels=(labels.get(match.first_label, ""), labels.get(match.second_label, "")),
        actions=match.actions,
        num_opening=match.num_opening,
        times_ms=match.times_ms,
        thoughts=tuple(starmap(_thoughts, zip_longest(match.values, remarks[: len(match.values)]))),
        outcome=cast("_Outcome", match.outcome),
        termination=match.termination,
        reason=ending_of(match),
        void_reason=clean_text(match.void_reason, _MAX_TEXT),
        tc="" if pool is None else pool.short,
        clock_ms=clock_ms,
        inc_ms=inc_ms,
        started_t=match.started_at,
    )


def _thoughts(value: float | None, remark: Remark | None) -> Thoughts | None:
    if remark is None:
        return None if value is None else Thoughts(value=value)
    return replace(msgspec.convert(remark, Thoughts, from_attributes=True), value=value)


@lru_cache(maxsize=4096)
def opening_text(game: str, actions: tuple[int, ...]) -> str:
    """Return the moves of an opening, separated by blanks; empty if the game is not installed.

    Args:
        game: canonical spec.
        actions: actions from the initial position.
    """
    try:
        rules = find_game(game)
        return " ".join(
            rules.move(position(game, actions[:ply]), action) for ply, action in enumerate(actions)
        )
    except ArenaError:
        return ""


def row_of(match: StoredMatch) -> MatchRow:
    """Return a stored match as a row of a list; the number of its mistakes is left out."""
    return MatchRow(
        stored=match.id,
        number=match.number,
        attempt=match.attempt,
        names=(match.first_label, match.second_label),
        outcome=cast("_Outcome", match.outcome),
        termination=match.termination,
        plies=len(match.actions),
        t=match.started_at,
        tournament=match.tournament_name,
        game=match.game,
        void_reason=clean_text(match.void_reason, _MAX_TEXT),
        duration_ms=match.duration_ms,
        opening=opening_text(match.game, match.actions[: match.num_opening]),
    )


def with_mistakes(store: Store, rows: Sequence[MatchRow]) -> tuple[MatchRow, ...]:
    """Return rows with the counted mistakes of their matches."""
    found = store.analyses.mistakes([row.stored for row in rows])
    return tuple(replace(row, mistakes=found[row.stored]) if row.stored in found else row for row in rows)


def finished_of(match: StoredMatch, labels: Mapping[str, str]) -> FinishedMatch:
    """Return a stored match as an item of the news; `labels` are by names in the tournament."""
    names = (clean_text(match.first_label, MAX_NAME), clean_text(match.second_label, MAX_NAME))
    return FinishedMatch(
        number=match.number,
        attempt=match.attempt,
        stored=match.id,
        tournament_name=clean_text(match.tournament_name, MAX_NAME),
        names=names,
        labels=(labels.get(match.first_label, names[0]), labels.get(match.second_label, names[1])),
        outcome=cast("_Outcome", match.outcome),
        termination=match.termination,
        reason=clean_text(ending_of(match), _MAX_TEXT),
        void_reason=clean_text(match.void_reason, _MAX_TEXT),
        plies=len(match.actions),
        t=match.started_at + match.duration_ms / 1000,
    )


def end_events(match: StoredMatch) -> list[Event]:
    """Return the moves and the end of a stored match as events, with `seq` 0."""
    t = match.started_at + match.duration_ms / 1000
    moves = [
        Move(action=action, elapsed_ms=time_ms, value=value)
        for action, time_ms, value in zip(match.actions, match.times_ms, match.values, strict=True)
    ]
    end = Finished(
        outcome=cast("_Outcome", match.outcome),
        termination=match.termination,
        reason=match.reason[:_MAX_TEXT],
        plies=len(match.actions),
        is_final=match.is_final,
        stored=match.id,
    )
    return [
        replace(
            make_event(0, body, t=t, match=match.number, ply=min(ply, len(moves))),
            tournament=match.tournament,
            attempt=match.attempt,
        )
        for ply, body in enumerate([*moves, end], 1)
    ]


def past_view(store: Store, record: TournamentRecord, labels: Mapping[str, str]) -> LiveView:
    """Return the view without any events: results, and the boards of the last matches.

    Args:
        store: the store with the tournament.
        record: the tournament.
        labels: short labels of its bots, by their names in the tournament.
    """
    from arena_db.records import MatchFilter

    where = MatchFilter(tournament=record.name, rated_only=False)
    matches = store.matches.newest(where, limit=MAX_FINISHED)
    finished = tuple(finished_of(match, labels) for match in matches)
    boards = _boards(matches[:NUM_BOARDS], labels, record.pool)
    times = sorted(match.t for match in finished[:MAX_RECENT])
    return LiveView(
        matches=boards,
        places=tuple(boards),
        progress=ProgressView(
            name=clean_text(record.name, MAX_NAME),
            game=clean_text(record.game, _MAX_TEXT),
            tc=record.pool.short,
            state=_STATES[record.state],
            reason=clean_text(_reason(record), _MAX_TEXT),
            goal=goal_of(store, record),
            planned=record.num_total,
            is_most=is_test(record) and not record.decision,
            done=record.num_done,
            recent=tuple(times) if record.state == "running" else (),
        ),
        finished=finished,
        labels=labels,
        faults=_faults(store, record),
        notices=merged([*_refusals(record), *decision_notices(store, record)], MAX_NOTICES),
    )


def _reason(record: TournamentRecord) -> str:
    refused = refusal_of(record)
    return f"refused: {refused}" if refused else _REASONS.get(record.state, "")


def _refusals(record: TournamentRecord) -> list[Notice]:
    """Return a notice for each bot that the tournament refused."""
    from arena.coordinator.config import refusals

    return [
        Notice(t=record.created_at, text=clean_text(f"{bot} is refused: {why}", _MAX_TEXT))
        for bot, why in refusals(record.config)
    ]


def goal_of(store: Store, record: TournamentRecord) -> str:
    """Return the progress of a tournament towards its goal; empty if it has none."""
    if record.type not in _WITH_GOAL and not is_test(record):
        return ""
    # Imported late: it loads schedules and configurations, which other tournaments do not need.
    from arena.coordinator.goals import goal_line

    return clean_text(goal_line(store, record), _MAX_TEXT)


def _boards(
    matches: Sequence[StoredMatch], labels: Mapping[str, str], pool: PoolRecord
) -> dict[int, MatchView]:
    """Return the last position of each match by its number, from its newest attempt."""
    boards: dict[int, MatchView] = {}
    for match in matches:
        if match.number not in boards:
            replay = Replay(recorded_of(match, labels, pool))
            boards[match.number] = replay.at(replay.num_plies)
    return boards


def _faults(store: Store, record: TournamentRecord) -> dict[str, dict[str, int]]:
    """Count forfeits by name of the bot and termination."""
    from arena_db.records import MatchFilter

    names = {
        entrant.seat: clean_text(entrant.label, MAX_NAME) for entrant in store.tournaments.entrants(record.id)
    }
    tallies = store.sums.tallies(MatchFilter(tournament=record.name, rated_only=False))
    found = count_forfeits(tallies, lambda tally: (names[tally.first_seat], names[tally.second_seat]))
    return {name: dict(counts) for name, counts in found.items()}


def _clocks(pool: PoolRecord | None) -> tuple[tuple[int, int] | None, int]:
    """Return the initial clocks and the increment in ms; no clocks if each move has its own time."""
    if pool is not None and pool.mode == "fischer":
        return (pool.base_ms, pool.base_ms), pool.inc_ms
    return None, 0
