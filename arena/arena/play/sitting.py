"""The coordinator of a play: match after match of one person and one bot, each of them stored."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from arena.executor.job import Job
from arena.executor.record import record_of, void_record
from arena.match import MatchSetup, match_seed, play_match
from arena.play.config import BOT_SEAT, PERSON_SEAT
from arena.play.desk import Desk
from arena.play.hints import Hinter, Hints, default_hinter
from arena.play.person import PersonSeat
from arena.play.reports import Reports
from arena.referee.clock import GameClock
from arena_db.records import PlannedMatch
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from arena.match import MatchResult
    from arena.play.config import PlayPlan
    from arena.referee.seats import Answer, Seat, Thoughts
    from arena.sandbox.tier import Tier
    from arena_db.records import MatchRecord, TournamentRecord
    from arena_db.store import Store
    from arena_plugins import State

IDLE_S = 3600.0
"""Seconds after a match in which a person may ask for another one."""


class PlayTable(NamedTuple):
    """What a play is held with."""

    store: Store
    tournament: TournamentRecord
    plan: PlayPlan
    tier: Tier
    bot: Seat


class Sitting:
    """Plays within a `with` block; the bot of the table is not its own, and stays."""

    def __init__(self, table: PlayTable, must_stop: Callable[[], bool]) -> None:
        """Set the board up.

        Args:
            table: what is played, with a bot that is ready.
            must_stop: whether this process is to end.
        """
        plan = table.plan
        self._table = table
        self._control = plan.person_control
        self._reports = Reports(table.store, table.tournament, str(plan.bot_control))
        self._desk = Desk(
            table.store,
            table.tournament.id,
            may_take_back=not plan.config.rated,
            must_stop=must_stop,
            beat=self._reports.state,
        )
        self._hints = Hints(self._make_hinter, self._desk.answer)
        self._person_seat = PersonSeat(self._desk, self._hints.ask)
        self._job: Job | None = None
        self._clock: GameClock | None = None
        self._state: State = plan.game.initial_state()
        self._person = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._stack.enter_context(self._desk)
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more, and end who gave hints."""
        # Answers to hints go through the desk.
        self._hints.close()
        self._stack.close()

    def run(self, match: PlannedMatch) -> None:
        """Play a planned match, and then whatever the person asks for.

        Raises:
            DatabaseError: the store cannot be written; what was told of is stored.
        """
        store, tournament = self._table.store, self._table.tournament
        while True:
            record = self._play(match)
            step = self._desk.next_step(IDLE_S)
            if step == "stop":
                break
            self._reports.state()
            match = self._following(match, record, is_undo=step == "undo")
            store.extend_plan(tournament.id, [match], tournament.config)
        store.set_state(tournament.id, "finished")
        self._reports.state(is_over=True, reason="the play is over")

    def abandon(self, match: PlannedMatch, actions: tuple[int, ...]) -> PlannedMatch:
        """End a match whose coordinator was killed; give one that goes on from where it stood.

        Args:
            match: as it was planned.
            actions: how far it had come, as far as was told.
        """
        job = self._make_job(match)
        self._table.store.save([dataclasses.replace(void_record(job, Termination.ABORTED), is_final=True)])
        while self._is_over(actions):
            actions = actions[:-1]
        again = planned_match(match.number + 1, match.first, actions)
        self._table.store.extend_plan(self._table.tournament.id, [again], self._table.tournament.config)
        return again

    def _play(self, match: PlannedMatch) -> MatchRecord:
        plan, desk, reports = self._table.plan, self._desk, self._reports
        job = self._job = self._make_job(match)
        person = self._person = 0 if match.first == PERSON_SEAT else 1
        state = plan.game.initial_state()
        for action in match.opening:
            state = state.child(action)
        self._state = state
        controls = (self._control, plan.bot_control)
        ordered = controls if person == 0 else (controls[1], controls[0])
        self._clock = GameClock(ordered) if plan.config.clock else None
        can_undo = bool(self._own_plies(match.opening, person))
        desk.begin(match.number, state, person, can_undo=can_undo)
        reports.started(job, self._clock)
        seats: tuple[Seat, Seat] = (self._person_seat, self._table.bot)
        result = play_match(
            plan.game,
            seats if person == 0 else (seats[1], seats[0]),
            MatchSetup(
                id=job.match,
                labels=(job.first.label, job.second.label),
                seeds=(job.seed_first, job.seed_second),
                controls=ordered,
                opening=job.opening,
                init_s=plan.config.init_time,
            ),
            on_move=self._moved,
            on_info=self._thought,
            abort=lambda: desk.must_end,
        )
        return self._keep(job, result)

    def _keep(self, job: Job, result: MatchResult) -> MatchRecord:
        """Store a match; whatever became of it, it is not played again."""
        desk, reports = self._desk, self._reports
        desk.over()
        record = record_of(job, result)
        is_rated = record.rated and self._table.plan.config.rated
        record = dataclasses.replace(record, rated=is_rated, is_final=True)
        self._table.store.save([record])
        reports.finished(job, record)
        reports.state()
        return record

    def _moved(self, index: int, action: int, answer: Answer) -> None:
        if self._clock is not None:
            answer.charge(self._clock, self._state.current_player)
        self._state = self._state.child(action)
        self._desk.moved(self._state)
        if self._job is not None:
            self._reports.moved(self._job, index + 1, answer, self._clock)

    def _thought(self, ply: int, thoughts: Thoughts) -> None:
        if self._job is not None:
            self._reports.thought(self._job, ply, thoughts)

    def _make_hinter(self) -> Hinter:
        plan = self._table.plan
        bot = plan.hinter or default_hinter(plan.game)
        return Hinter(plan.game, bot, self._table.tier, plan.config.init_time)

    def _following(self, match: PlannedMatch, record: MatchRecord, *, is_undo: bool) -> PlannedMatch:
        if not is_undo:
            other = BOT_SEAT if match.first == PERSON_SEAT else PERSON_SEAT
            return planned_match(match.number + 1, other, self._table.plan.config.opening)
        own = self._own_plies(record.actions, self._person)
        actions = record.actions[: own[-1]] if own else match.opening
        return planned_match(match.number + 1, match.first, actions)

    def _own_plies(self, actions: tuple[int, ...], person: int) -> list[int]:
        """Give at which of `actions`, from 0, the person moved; what was given at the outset is nobody's."""
        state, found = self._table.plan.game.initial_state(), list[int]()
        for ply, action in enumerate(actions):
            if ply >= len(self._table.plan.config.opening) and state.current_player == person:
                found.append(ply)
            state = state.child(action)
        return found

    def _is_over(self, actions: tuple[int, ...]) -> bool:
        state = self._table.plan.game.initial_state()
        for action in actions:
            state = state.child(action)
        return state.is_terminal

    def _make_job(self, match: PlannedMatch) -> Job:
        plan, tournament = self._table.plan, self._table.tournament
        entrants = (plan.person, plan.bot)
        return Job(
            tournament=tournament.id,
            number=match.number,
            attempt=match.attempt,
            match=f"{tournament.name}/{match.number}",
            game=tournament.game,
            first=entrants[match.first],
            second=entrants[match.second],
            opening=match.opening,
            seed_first=match_seed(tournament.seed, match.encounter, match.match_no, 0),
            seed_second=match_seed(tournament.seed, match.encounter, match.match_no, 1),
            limit=plan.bot_control,
            init_s=plan.config.init_time,
            tier=self._table.tier,
        )


def planned_match(number: int, first: int, opening: tuple[int, ...]) -> PlannedMatch:
    """Give a match to be played, the `number`-th, in which the entrant of seat `first` begins."""
    second = BOT_SEAT if first == PERSON_SEAT else PERSON_SEAT
    return PlannedMatch(
        number=number, encounter=0, match_no=number - 1, first=first, second=second, opening=opening
    )


def close_quietly(seat: Seat) -> None:
    """End a bot, whatever state it is in."""
    with suppress(Exception):
        seat.close()
