"""Lets the exact solver judge stored matches, and keeps what it says beside them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from arena.analysis import analyse_match, has_solver
from arena.cli.output import say
from arena.cli.stored import find_match, find_tournament, match_number
from arena.errors import ArenaError, IllegalMoveError, InvalidMoveError
from arena.home import open_store
from arena_db.records import Analysis, JudgedPly
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_db.records import StoredMatch
    from arena_db.store import Store

SOLVER = "solver"
"""The name of what it says among the analyses of a match."""


def grade_matches(what: str, db: str | None) -> None:
    """Judge a match (by number), or all those of a tournament (by name) that were not judged yet.

    Each is stored as soon as it is judged, so what was done stays when this is interrupted.

    Raises:
        NotFoundError: there is no such match or tournament.
        ArenaError: there is no exact solver for the game.
    """
    with open_store(db, create=False) as store:
        if (number := match_number(what)) is not None:
            match = find_match(store, number)
            matches, total = iter([match]), 1
            _check(match.game)
        else:
            record = find_tournament(store, what, unfinished=False)
            _check(record.game)
            matches, total = _ungraded(store, record.id), record.num_done
        num = 0
        for match in matches:
            analysis = _judge(match)
            if analysis is None:
                say(f"match {match.id} contradicts the rules and is not judged", err=True)
                continue
            store.add_analysis(analysis)
            num += 1
            if total > 1 and sys.stderr.isatty():
                click.echo(f"\rjudged {num} of {total} matches", err=True, nl=False)
    if total > 1:
        start = "\r" if sys.stderr.isatty() else ""
        click.echo(f"{start}judged {num} matches", err=True)


def _check(game: str) -> None:
    if not has_solver(load_game(game)):
        raise ArenaError(f"--grade: there is no exact solver for {game}")


def _ungraded(store: Store, tournament: int) -> Iterator[StoredMatch]:
    for match in store.tournament_matches(tournament):
        if match.actions and not store.analyses([match.id], name=SOLVER):
            yield match


def _judge(match: StoredMatch) -> Analysis | None:
    """Judge a match; None where it is none of its game."""
    try:
        found = analyse_match(load_game(match.game), match.actions, num_opening=match.num_opening)
    except (IllegalMoveError, InvalidMoveError):
        return None
    return Analysis(
        match=match.id,
        name=SOLVER,
        plies=tuple(
            JudgedPly(
                value=None if ply.value_before is None else float(ply.value_before),
                loss=None if ply.loss is None else float(ply.loss),
                best=ply.best,
            )
            for ply in found.plies
        ),
        made_at=time.time(),
    )
