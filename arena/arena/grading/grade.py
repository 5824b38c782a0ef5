"""Grades one stored match ply by ply; an interruption loses no finished work."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from arena.results.grades import stored_ply
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.analysis import Ply
    from arena.grading.judges import MatchJudge
    from arena_db.records import StoredMatch
    from arena_db.store import Store

_WRITE_S = 0.2
"""Minimum seconds between two writes; a kill loses at most this much work."""


def grade_match(
    store: Store,
    match: StoredMatch,
    judge: MatchJudge,
    *,
    keep: bool,
    tell: Callable[[JudgedMatch, Ply], None],
) -> JudgedMatch:
    """Grade a match from its last action to its first one, storing results as they come.

    Plies that this judge has graded before are kept, unless they are from another version of the bot or lack
    scores.

    Args:
        store: the store with the match.
        match: the match.
        judge: the judge.
        keep: whether results are stored.
        tell: called with each graded ply and the grading so far.

    Raises:
        IllegalMoveError: the match violates the rules of its game.
        ArenaError: the judge cannot grade it, or the store cannot be written.
    """
    if keep:
        # Before the work that could not be stored.
        store.require_warm(match.tournament)
    analysis = _begun(store, match, judge)
    known = {ply: said for ply, said in enumerate(analysis.plies) if said.is_judged}
    written, unwritten = 0.0, False
    try:
        for ply in judge.plies(load_game(match.game), match.actions, known):
            plies = [*analysis.plies]
            plies[ply.ply] = stored_ply(ply)
            analysis = replace(analysis, plies=tuple(plies), made_at=time.time())
            unwritten = True
            if keep and time.monotonic() - written >= _WRITE_S:
                store.add_analysis(analysis)
                written, unwritten = time.monotonic(), False
            tell(analysis, ply)
    except BaseException:
        # The original exception matters more than a failure to store the last plies.
        if keep and unwritten:
            with suppress(Exception):
                store.add_analysis(analysis)
        raise
    if keep and unwritten:
        store.add_analysis(analysis)
    return analysis


def _begun(store: Store, match: StoredMatch, judge: MatchJudge) -> JudgedMatch:
    """Return the stored grading of this judge, without the plies that must be graded again."""
    blank = JudgedMatch(
        match=match.id,
        name=judge.name,
        plies=(JudgedPly(),) * len(match.actions),
        made_at=time.time(),
        identity=judge.identity,
    )
    found = store.analyses([match.id], name=judge.name).get(match.id, ())
    if not found or found[0].identity != judge.identity:
        return blank
    # In a complete grading, unsolved plies are tried again, since there may be more nodes this time.
    is_again = found[0].is_complete
    kept = (ply.scores and not (is_again and ply.value is None) for ply in found[0].plies)
    plies = zip(found[0].plies, kept, strict=True)
    return replace(found[0], plies=tuple(ply if is_kept else JudgedPly() for ply, is_kept in plies))
