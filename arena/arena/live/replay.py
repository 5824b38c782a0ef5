"""A stored match, step by step: the views a viewer would have had, with marks and both bots' evals."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from arena.live.events import Finished, Move, Started, Thoughts, make_event
from arena.live.reducer import reduce
from arena.live.views import LiveView, MatchView, ProgressView

if TYPE_CHECKING:
    from arena.live.events import Event, Payload
    from arena.live.views import Mark

_T = TypeVar("_T")

SWING = 20.0
"""Points by which the opponent's own eval moves against the mover at a ply marked `~`."""
DIFFERENCE = 30.0
"""The bots differ where the evals of two plies that follow each other lie further apart than this."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match as plain data; the lists go by ply and may be shorter than `actions`."""

    number: int = 1
    stored: int | None = None
    """The store's number."""
    tournament: int = 1
    tournament_name: str = ""
    attempt: int = 0
    game: str
    """Spec of the game."""
    bots: tuple[str, str]
    """Names of who moved first and second."""
    labels: tuple[str, str] = ("", "")
    """What they are called where there is little room; empty: by their names."""
    actions: tuple[int, ...]
    """From the initial position, opening included."""
    num_opening: int = 0
    times_ms: tuple[int | None, ...] = ()
    thoughts: tuple[Thoughts | None, ...] = ()
    """What the mover said."""
    grades: tuple[str, ...] = ()
    """Stored grades; one that is not empty gives the ply the mark `?`. None at all: nobody has judged it."""
    judge: str = ""
    """Whose values the thoughts hold; empty for those of the bots themselves."""
    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    reason: str = ""
    tc: str = ""
    clock_ms: tuple[int, int] | None = None
    """What both clocks showed at the start."""
    inc_ms: int = 0
    """Added after each move."""
    started_t: float = 0.0
    """UTC seconds."""


class Replay:
    """Every moment of a stored match, made when it is first looked at."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        """What it was made of."""

    @property
    def num_plies(self) -> int:
        """Number of actions, opening included."""
        return len(self.recorded.actions)

    def at(self, ply: int) -> MatchView:
        """Give the match after `ply` plies, its moves marked; at the last ply it is over."""
        return self.views[min(max(ply, 0), self.num_plies)]

    @cached_property
    def views(self) -> tuple[MatchView, ...]:
        """The match after 0, 1, … plies; before the end of the opening the board is built up by hand."""
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
        views[-1] = reduce(view, end).matches[number]
        marks = _marks(views[-1], recorded.grades)
        return tuple(_marked(match, marks) for match in views)

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The mark of each ply; `[num_plies]`."""
        return tuple(move.mark for move in self.views[-1].moves)

    @cached_property
    def evals(self) -> tuple[float | None, ...]:
        """What the mover of each ply said, in percent for the first player; `[num_plies]`."""
        return tuple(move.eval for move in self.views[-1].moves)

    @cached_property
    def differing(self) -> tuple[int, ...]:
        """The plies, from 1, at which the bots differ: this eval and the next lie far apart."""
        pairs = zip(self.evals, self.evals[1:], strict=False)
        return tuple(
            ply
            for ply, (one, two) in enumerate(pairs, start=1)
            if one is not None and two is not None and abs(one - two) > DIFFERENCE
        )

    def next_mark(self, ply: int, step: int) -> int:
        """Give the nearest marked ply after (`step` 1) or before (`step` -1) `ply`; else `ply` itself."""
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
        return make_event(
            seq,
            body,
            t=t,
            match=recorded.number,
            attempt=recorded.attempt,
            ply=ply,
            tournament=recorded.tournament,
        )

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
    said = said or Thoughts()
    return Move(
        action=action,
        elapsed_ms=elapsed,
        clock_ms=clocks,
        value=said.value,
        policy=said.policy,
        visits=said.visits,
        pv=said.pv,
        nodes=said.nodes,
        depth=said.depth,
        text=said.text,
    )


def _marks(match: MatchView, grades: tuple[str, ...]) -> list[Mark]:
    evals = [move.eval for move in match.moves]
    marks: list[Mark] = []
    for index, move in enumerate(match.moves):
        if index == len(match.moves) - 1:
            marks.append("#")
        elif grades:
            marks.append("?" if _get(grades, index) else "")
        else:
            marks.append("~" if _swings(evals, index, move.player) else "")
    return marks


def _swings(evals: list[float | None], index: int, player: int) -> bool:
    """Say whether the opponent's own eval, before and after a ply, moved against the mover."""
    if not 0 < index < len(evals) - 1:
        return False
    before, after = evals[index - 1], evals[index + 1]
    if before is None or after is None:
        return False
    return (before - after if player == 0 else after - before) >= SWING


def _marked(match: MatchView, marks: list[Mark]) -> MatchView:
    moves = zip(match.moves, marks, strict=False)
    return replace(match, moves=tuple(replace(move, mark=mark) if mark else move for move, mark in moves))
