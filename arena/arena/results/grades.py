"""Gradings of stored matches: their stored form, and the texts that all viewers show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.analysis import SOLVER, ActionScore, Ply, analyse_match, has_solver, judged_match, states_of
from arena.errors import IllegalMoveError, InvalidMoveError, PluginError
from arena.live.replay_views import PlyGrade
from arena.live.views import percent_for_first
from arena_db.judgements import JudgedAction, JudgedMatch, JudgedPly
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.analysis import Analysis
    from arena.live.views import Mark
    from arena_db.records import StoredMatch
    from arena_db.store import Store
    from arena_plugins import Game, State

_REVERSAL = 1.5
"""Minimum loss of an action marked `??`: it turns a win into a loss. From `MISTAKE` on an action is marked
`?`."""
_MOST_BEST = 3
"""Maximum number of best moves that are listed."""


def stored_ply(ply: Ply) -> JudgedPly:
    """Return the stored form of a judged action."""
    return JudgedPly(
        value=_float(ply.value_before),
        loss=_float(ply.loss),
        best=ply.best,
        scores=tuple(
            JudgedAction(action, _float(score.value), score.distance) for action, score in ply.scores.items()
        ),
        line=ply.line,
    )


def restored(game: Game, actions: Sequence[int], num_opening: int, stored: JudgedMatch) -> Analysis:
    """Return a stored analysis in its original form; gradings of older versions lack scores and lines.

    Args:
        game: the rules.
        actions: actions of the match, from the initial state.
        num_opening: number of them that belong to the opening.
        stored: the stored grading of one judge.

    Raises:
        IllegalMoveError: the actions are not legal in this game.
    """
    states = states_of(game, actions)
    plies = [
        _ply(ply, states[ply].current_player, actions[ply], said, is_exact=stored.name == SOLVER)
        for ply, said in enumerate(stored.plies)
    ]
    return judged_match(plies, num_opening, stored.name, stored.identity)


def preferred(analyses: Sequence[JudgedMatch], judge: str = "") -> JudgedMatch | None:
    """Return the analysis of a judge; without `judge` that of the solver, else the first one; else None."""
    if judge:
        return next((one for one in analyses if one.name == judge), None)
    return next((one for one in analyses if one.name == SOLVER), analyses[0] if analyses else None)


def analysis_of(store: Store, match: StoredMatch, *, is_solved: bool = True) -> Analysis | None:
    """Return the analysis of a match: a stored grading, else the results that the solver finds quickly.

    Args:
        store: the store with the match.
        match: the match.
        is_solved: whether the solver may be run, which takes up to some seconds and 100 MB for compiled code.

    Returns:
        None if there is no grading and no solver for the game, or if the match is damaged.
    """
    try:
        game = load_game(match.game)
        stored = preferred(store.analyses.of([match.id]).get(match.id, ()))
        if stored is not None and stored.is_complete:
            return restored(game, match.actions, match.num_opening, stored)
        if is_solved and has_solver(game):
            return analyse_match(game, match.actions, num_opening=match.num_opening)
    except (PluginError, IllegalMoveError, InvalidMoveError):
        pass
    return None


def grades_of(game: Game, actions: Sequence[int], analysis: Analysis) -> tuple[PlyGrade | None, ...]:
    """Return an analysis as viewers show it, one grade per action; None for an action not judged yet.

    Raises:
        IllegalMoveError: the actions are not legal in this game.
    """
    states = states_of(game, actions)
    return tuple(
        None if _is_pending(ply) else _grade(game, states[index], ply, analysis)
        for index, ply in enumerate(analysis.plies)
    )


def mark_of(loss: float | None, *, is_blunder: bool) -> Mark:
    """Return the mark of an action, given its loss."""
    if loss is None or not is_blunder:
        return ""
    return "??" if loss >= _REVERSAL else "?"


def score_text(score: ActionScore, *, is_exact: bool) -> str:
    """Return an action's value: `+7` wins in 7 plies, `-12` loses in 12, `=` draws; by a bot `72%`."""
    if score.value is None:
        return "?"
    if not is_exact:
        return f"{50 * (1 + score.value):.0f}%"
    sign = {1: "+", 0: "=", -1: "-"}[round(score.value)]
    return sign if score.distance is None or sign == "=" else f"{sign}{score.distance}"


def _grade(game: Game, state: State, ply: Ply, analysis: Analysis) -> PlyGrade:
    is_exact, is_given = analysis.judge == SOLVER, ply.ply < analysis.num_opening
    return PlyGrade(
        eval=percent_for_first(ply.value_before, ply.player),
        mark="" if is_given else mark_of(ply.loss, is_blunder=ply.is_blunder),
        text=_text(ply, is_exact=is_exact) if ply.is_blunder and not is_given else "",
        scores={action: score_text(score, is_exact=is_exact) for action, score in ply.scores.items()},
        best=ply.best,
        advice=_advice(game, state, ply, is_exact=is_exact),
    )


def _text(ply: Ply, *, is_exact: bool) -> str:
    """Return the loss by a mistake in words: a win, a draw, or a number of points."""
    if is_exact:
        return f"gives a {'win' if ply.value_before == 1 else 'draw'} away"
    return f"gives {50 * (ply.loss or 0):.0f} points away"


def _advice(game: Game, state: State, ply: Ply, *, is_exact: bool) -> str:
    """Return the best moves, their value, and the expected line."""
    if not ply.best:
        return "not solved"
    names = ", ".join(game.move(state, action) for action in ply.best[:_MOST_BEST])
    more = ", ..." if len(ply.best) > _MOST_BEST else ""
    if is_exact:
        known = ply.value_before
        worth = "not solved" if known is None else {1: "wins", 0: "draws", -1: "loses"}[round(known)]
        if ply.value_before and ply.distance_before is not None:
            worth += f" in {ply.distance_before} {'ply' if ply.distance_before == 1 else 'plies'}"
    else:
        worth = "" if ply.value_before is None else f"{50 * (1 + ply.value_before):.0f} %"
    line = " ".join(line_of(game, state, ply.line))
    return f"best {names}{more}: {worth}" + (f"; line {line}" if line else "")


def line_of(game: Game, state: State, actions: Sequence[int]) -> list[str]:
    """Return the moves of a line up to the first one that is illegal."""
    moves: list[str] = []
    for action in actions:
        if state.is_terminal or action not in state.legal_actions:
            break
        moves.append(game.move(state, action))
        state = state.child(action)
    return moves


def _ply(ply: int, player: int, action: int, said: JudgedPly, *, is_exact: bool) -> Ply:
    read = _whole if is_exact else _float
    scores = {one.action: ActionScore(read(one.value), one.distance) for one in said.scores}
    before = next((scores[other].distance for other in said.best if other in scores), None)
    value = read(said.value)
    after = scores.get(action)
    lost = read(said.loss)
    known = None if value is None or lost is None else value - lost
    return Ply(
        ply=ply,
        player=player,
        action=action,
        best=said.best,
        value_before=value,
        value_after=known if after is None else after.value,
        distance_before=before,
        distance_after=None if after is None else after.distance,
        scores=scores,
        line=said.line,
    )


def _is_pending(ply: Ply) -> bool:
    return ply.value_before is None and not ply.best and not ply.scores


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)
