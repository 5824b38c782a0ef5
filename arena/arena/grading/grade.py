"""Grades one stored match ply by ply; what is done stays when this is interrupted."""

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
"""Seconds between two writes at least: a kill costs no more work than that."""


def grade_match(
    store: Store,
    match: StoredMatch,
    judge: MatchJudge,
    *,
    keep: bool,
    tell: Callable[[JudgedMatch, Ply], None],
) -> JudgedMatch:
    """Judge a match from its last action to its first one, and store what is done as it goes.

    Plies that this judge has judged before are kept, unless it was another version of the bot, or they lack
    scores.

    Args:
        store: where the match is.
        match: the match.
        judge: who judges.
        keep: whether anything is stored.
        tell: is told each ply as it comes, with all that is known by then.

    Raises:
        IllegalMoveError: the match contradicts the rules of its game.
        ArenaError: the judge cannot judge it, or nothing can be stored.
    """
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
        # The reason why it ended is worth more than a store that does not take the last plies.
        if keep and unwritten:
            with suppress(Exception):
                store.add_analysis(analysis)
        raise
    if keep and unwritten:
        store.add_analysis(analysis)
    return analysis


def _begun(store: Store, match: StoredMatch, judge: MatchJudge) -> JudgedMatch:
    """Return what this judge has stored of a match, without the plies that must be judged again."""
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
    # Of a grading that is complete, what was not solved is tried again: there may be more nodes for it now.
    is_again = found[0].is_complete
    kept = (ply.scores and not (is_again and ply.value is None) for ply in found[0].plies)
    plies = zip(found[0].plies, kept, strict=True)
    return replace(found[0], plies=tuple(ply if is_kept else JudgedPly() for ply, is_kept in plies))
