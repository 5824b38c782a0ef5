"""A stored match, ply by ply: the views of a live viewer, with marks and the evaluations of both bots."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from arena.live.events import Finished, Move, Started, make_event
from arena.live.reducer import reduce
from arena.live.views import LiveView, Mark, MatchView, ProgressView
from arena_plugins.thoughts import UNSAID, Thoughts, fields_of

if TYPE_CHECKING:
    from arena.live.events import Event, Payload

_T = TypeVar("_T")

SWING = 20.0
"""Percentage points by which both bots' evaluations must move against the mover for the mark `~`."""
_ENDS: Mapping[str, float] = {"first": 100.0, "draw": 50.0, "second": 0.0}
"""Results in percent for the first player."""


class PlyGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's grade of one ply and the position before it, as viewers show it."""

    eval: float | None = None
    """Evaluation of the position before the ply, in percent for the first player."""
    mark: Mark = ""
    """Mark of the ply: `??`, `?` or empty."""
    text: str = ""
    """The value that the action lost, in words; empty if none."""
    scores: Mapping[int, str] = {}
    """Value of each action in the position before: `+7`, `=`, `-12`, `72%`, `?`."""
    best: tuple[int, ...] = ()
    """The best actions in the position before the ply."""
    advice: str = ""
    """The best moves and the expected line in words."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match as plain data; sequences are by ply and may be shorter than `actions`."""

    number: int = 1
    stored: int | None = None
    """Id of the match in the store."""
    tournament: int = 1
    tournament_name: str = ""
    attempt: int = 0
    game: str
    """Spec of the game."""
    bots: tuple[str, str]
    """Names of the bots that moved first and second."""
    labels: tuple[str, str] = ("", "")
    """Short labels of the bots; empty if their names are to be used."""
    actions: tuple[int, ...]
    """Actions from the initial position, opening included."""
    num_opening: int = 0
    times_ms: tuple[int | None, ...] = ()
    thoughts: tuple[Thoughts | None, ...] = ()
    """Reports of the movers."""
    grades: tuple[PlyGrade | None, ...] = ()
    """Grades by ply; None for a ply that is not judged yet. Empty if there is no grading."""
    judge: str = ""
    """Name of the judge; empty if there is no grading."""
    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    reason: str = ""
    """What happened at the end; for a void match, its void reason comes first."""
    void_reason: str = ""
    """Why the match was declared void; empty if it is valid."""
    tc: str = ""
    clock_ms: tuple[int, int] | None = None
    """Initial values of both clocks in milliseconds; None without clocks."""
    inc_ms: int = 0
    """Increment in milliseconds after each move."""
    started_t: float = 0.0
    """Start of the match, in seconds since 1970 (UTC)."""


class Replay:
    """All positions of a stored match, computed at first use."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        """The match that is replayed."""

    @property
    def num_plies(self) -> int:
        """Number of actions, opening included."""
        return len(self.recorded.actions)

    def at(self, ply: int) -> MatchView:
        """Return the match after `ply` plies, with marked moves; after the last ply it is over."""
        return self.views[min(max(ply, 0), self.num_plies)]

    @cached_property
    def views(self) -> tuple[MatchView, ...]:
        """The match after 0, 1, … plies; within the opening, each view has a shorter opening."""
        recorded, number = self.recorded, self.recorded.number
        view = self._begin(0)
        views = [view.matches[number]]
        clocks = recorded.clock_ms
        t = recorded.started_t
        for ply in range(1, self.num_plies + 1):
            if ply <= recorded.num_opening:
                view = self._begin(ply)
            else:
                elapsed = _get(recorded.times_ms, ply - 1)
                t += (elapsed or 0) / 1000
                clocks = self._charged(clocks, views[-1].to_move, elapsed)
                body = _move(recorded.actions[ply - 1], elapsed, clocks, _get(recorded.thoughts, ply - 1))
                view = reduce(view, self._event(ply + 1, body, t, ply))
            views.append(view.matches[number])
        over = Finished(
            outcome=recorded.outcome,
            termination=recorded.termination,
            reason=recorded.reason,
            plies=self.num_plies,
            stored=recorded.stored,
        )
        end = self._event(self.num_plies + 2, over, t, self.num_plies)
        views[-1] = replace(reduce(view, end).matches[number], void_reason=recorded.void_reason)
        marks = _marks(views[-1], recorded)
        return tuple(_marked(match, marks) for match in views)

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The mark of each ply; `[num_plies]`."""
        return tuple(move.mark for move in self.views[-1].moves)

    @cached_property
    def evals(self) -> tuple[float | None, ...]:
        """Evaluation by the mover of each ply, in percent for the first player; `[num_plies]`."""
        return tuple(move.eval for move in self.views[-1].moves)

    @cached_property
    def judged(self) -> tuple[float | None, ...]:
        """Evaluation by the judge of the position before each ply, in percent for the first player."""
        grades = (_get(self.recorded.grades, ply) for ply in range(self.num_plies))
        return tuple(None if grade is None else grade.eval for grade in grades)

    def grade(self, ply: int) -> PlyGrade | None:
        """Return the grade of the action after `ply` plies and of its position."""
        return _get(self.recorded.grades, ply) if ply >= 0 else None

    def eval_at(self, ply: int) -> float | None:
        """Return the evaluation after `ply` plies, in percent for the first player.

        At the end of a match that was decided on the board it is the result; before that the judge's
        evaluation, else that of the last mover; None if there is none.
        """
        if ply >= self.num_plies and (end := _end(self.recorded)) is not None:
            return end
        grade = self.grade(ply)
        if grade is not None and grade.eval is not None:
            return grade.eval
        return None if self.recorded.grades else _get(self.evals, ply - 1) if ply > 0 else None

    def next_mark(self, ply: int, step: int) -> int:
        """Return the nearest marked ply after (`step` 1) or before (`step` -1) `ply`; else `ply` itself."""
        marked = [place for place, mark in enumerate(self.marks, start=1) if mark]
        beyond = [place for place in marked if (place - ply) * step > 0]
        return min(beyond, key=lambda place: abs(place - ply), default=ply)

    def _begin(self, num_given: int) -> LiveView:
        recorded = self.recorded
        body = Started(
            bots=recorded.bots,
            game=recorded.game,
            opening=recorded.actions[:num_given],
            tc=recorded.tc,
            clock_ms=recorded.clock_ms,
            stored=recorded.stored,
        )
        view = LiveView(
            labels=dict(zip(recorded.bots, recorded.labels, strict=True)),
            progress=ProgressView(name=recorded.tournament_name),
        )
        return reduce(view, self._event(1, body, recorded.started_t, 0))

    def _event(self, seq: int, body: Payload, t: float, ply: int) -> Event:
        recorded = self.recorded
        event = make_event(seq, body, t=t, match=recorded.number, ply=ply)
        return replace(event, attempt=recorded.attempt, tournament=recorded.tournament)

    def _charged(
        self, clocks: tuple[int, int] | None, player: int, elapsed: int | None
    ) -> tuple[int, int] | None:
        if clocks is None or elapsed is None or player < 0:
            return clocks
        left = max(0, clocks[player] - elapsed + self.recorded.inc_ms)
        return (left, clocks[1]) if player == 0 else (clocks[0], left)


def _get(values: tuple[_T, ...], index: int) -> _T | None:
    return values[index] if index < len(values) else None


def _move(action: int, elapsed: int | None, clocks: tuple[int, int] | None, said: Thoughts | None) -> Move:
    return Move(action=action, elapsed_ms=elapsed, clock_ms=clocks, **fields_of(said or UNSAID))


def _marks(match: MatchView, recorded: Recorded) -> list[Mark]:
    evals = [move.eval for move in match.moves]
    marks: list[Mark] = []
    for index, move in enumerate(match.moves):
        grade = _get(recorded.grades, index)
        if grade is not None and grade.mark:
            marks.append(grade.mark)
        elif index == len(match.moves) - 1:
            marks.append("#")
        elif recorded.grades:
            marks.append("")
        else:
            marks.append("~" if _swings([*evals, _end(recorded)], index, move.player) else "")
    return marks


def _end(recorded: Recorded) -> float | None:
    """Return the result in percent for the first player, if the match was decided on the board."""
    return _ENDS.get(recorded.outcome) if recorded.termination == "rules" else None


def _swings(evals: list[float | None], index: int, player: int) -> bool:
    """Return whether the evaluations of both bots, before and after a ply, moved against the mover.

    A swing seen only by the opponent may be the opponent's error. The last item of `evals` is the result.
    """
    seen = [(index - 1, index + 1), (index, index + 2)]
    for before, after in seen:
        was, now = _get_from(evals, before), _get_from(evals, after)
        if was is None or now is None or (was - now if player == 0 else now - was) < SWING:
            return False
    return True


def _get_from(values: list[float | None], index: int) -> float | None:
    return values[index] if 0 <= index < len(values) else None


def _marked(match: MatchView, marks: list[Mark]) -> MatchView:
    moves = zip(match.moves, marks, strict=False)
    return replace(match, moves=tuple(replace(move, mark=mark) if mark else move for move, mark in moves))
