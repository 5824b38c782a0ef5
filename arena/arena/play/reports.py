"""Tells viewers of a play, among them the person's own screen, through events in the store."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import msgspec

from arena.executor.telling import live_event
from arena.live.events import Finished, Info, Move, RunState, Started, pack, thoughts_of
from arena_db.errors import DatabaseError
from arena_db.records import LiveEvent

if TYPE_CHECKING:
    from arena.executor.job import Job
    from arena.live.events import Payload
    from arena.live.events import Thoughts as Said
    from arena.referee.clock import GameClock
    from arena.referee.seats import Answer, Thoughts
    from arena_db.records import MatchRecord, TournamentRecord
    from arena_db.store import Store

_log = logging.getLogger(__name__)


class Reports:
    """Writes each event at once, since a person waits for it; play goes on where that fails."""

    def __init__(self, store: Store, tournament: TournamentRecord, tc: str) -> None:
        """Take where to write.

        Args:
            store: takes the events.
            tournament: the play.
            tc: its limit as text.
        """
        self._store = store
        self._tournament = tournament
        self._tc = tc
        self._is_over = False

    def started(self, job: Job, clock: GameClock | None) -> None:
        """Tell that a match begins; `clock` is None where moves have no clock that runs on."""
        self._tell(
            job,
            Started(
                bots=(job.first.label, job.second.label),
                game=job.game,
                opening=job.opening,
                tc=self._tc,
                clock_ms=_shown(clock),
            ),
            0,
        )

    def moved(self, job: Job, ply: int, answer: Answer, clock: GameClock | None) -> None:
        """Tell of a move, the `ply`-th action from 1."""
        said = msgspec.structs.asdict(_said(answer.thoughts))
        elapsed_ms = round(answer.elapsed_s * 1000)
        self._tell(
            job, Move(action=answer.action, elapsed_ms=elapsed_ms, clock_ms=_shown(clock), **said), ply
        )

    def thought(self, job: Job, ply: int, thoughts: Thoughts) -> None:
        """Tell what the bot says while it thinks."""
        self._tell(job, Info(**msgspec.structs.asdict(_said(thoughts))), ply)

    def finished(self, job: Job, record: MatchRecord) -> None:
        """Tell of the end of a match that is stored."""
        stored = self._store.match_of(record.tournament, record.number, record.attempt)
        self._tell(
            job,
            Finished(
                outcome=record.outcome,  # pyright: ignore[reportArgumentType] # one of the four
                termination=record.termination,
                reason=record.reason,
                plies=len(record.actions),
                stored=None if stored is None else stored.id,
            ),
            len(record.actions),
        )

    def state(self, *, is_over: bool = False, reason: str = "") -> None:
        """Tell where the play stands; a sign of life, too."""
        self._is_over = self._is_over or is_over
        record = self._store.tournament(self._tournament.id) or self._tournament
        body = RunState(
            state="ended" if self._is_over else "running",
            planned=record.num_total,
            done=record.num_done,
            name=record.name,
            game=record.game,
            tc=self._tc,
            workers=1,
            reason=reason,
        )
        self._write(
            LiveEvent(tournament=record.id, number=None, kind="state", payload=pack(body), t=time.time())
        )

    def _tell(self, job: Job, body: Payload, ply: int) -> None:
        self._write(live_event(job, body, ply, time.time()))

    def _write(self, event: LiveEvent) -> None:
        try:
            self._store.append_events([event])
        except DatabaseError as error:
            _log.warning("the screen was not told of a %s: %s", event.kind, error)


def _shown(clock: GameClock | None) -> tuple[int, int] | None:
    return None if clock is None else (clock.remaining_ms(0), clock.remaining_ms(1))


def _said(thoughts: Thoughts) -> Said:
    return thoughts_of(
        value=thoughts.value,
        policy=thoughts.policy,
        visits=thoughts.visits,
        pv=thoughts.pv,
        nodes=thoughts.nodes,
        depth=thoughts.depth,
        text=thoughts.text,
    )
