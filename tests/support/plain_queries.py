"""Filters of matches, and the same conditions in plain Python, with which the SQL queries are compared."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any

from arena_db.records import OpeningFilter
from arena_db.wild import is_like
from stores import START, digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from arena_db.judgements import JudgedMatch
    from arena_db.records import MatchFilter, MatchRecord, StoredMatch
    from stores import Cup

FILTERS: list[dict[str, Any]] = [
    {},
    {"rated_only": False},
    {"game": "gomoku"},
    {"tournament": "cup"},
    {"tournament": "nobody's"},
    {"pool": "1/move hosted"},
    {"game": "connect-four", "pool": "1/move hosted"},
    {"bot": "a"},
    {"bot": "a:playouts=100"},
    {"bot": "label"},
    {"bot": "nobody"},
    {"vs": "b"},
    {"bot": "a", "vs": "b"},
    {"bot": "b", "vs": "a", "rated_only": False},
    {"bot": "a", "vs": "a"},
    {"bot": "b", "vs": "label"},
    {"bot": "a", "tournament": "cup", "outcome": "draw"},
    {"termination": "time_move"},
    {"termination": "aborted", "rated_only": False},
    {"termination": "aborted"},
    {"outcome": "void", "rated_only": False},
    {"outcome": "second"},
    {"min_tier": "T1"},
    {"min_tier": "T3", "bot": "a"},
    {"machine": "pc1"},
    {"machine": "pc*", "rated_only": False},
    {"machine": 'a"b', "bot": "a"},
    {"machine": "p?2", "bot": "a", "vs": "b"},
    {"machine": "cpu"},
    {"since": START + 10},
    {"until": START + 10},
    {"bot": "*"},
    {"bot": "?:play*", "vs": "la*"},
    {"bot": "[a]*"},
    {"bot": "x*"},
    {"vs": "?", "tournament": "c?p"},
    {"game": "*o*", "pool": "*hosted"},
    {"termination": "time*", "rated_only": False},
    {"termination": "r*"},
    {"termination": "*", "outcome": "first"},
    {"plies": (("<", 4),)},
    {"plies": (("=", 4),), "bot": "a"},
    {"plies": ((">=", 1), ("<=", 4), (">", 3)), "tournament": "*"},
    {"limit": "1/move"},
    {"limit": "5/move", "bot": "a"},
    {"limit": "5"},
    {"tier": "T1"},
    {"tier": "T2", "vs": "b"},
    {"durations": ((">", 70_012),)},
    {"durations": ((">=", 1000), ("<", 70_012)), "bot": "a"},
    {"openings": (OpeningFilter("connect-four", 7, (3, 2)),)},
    {"openings": (OpeningFilter("connect-four", 7, (3,)),)},
    {"openings": (OpeningFilter("connect-four", 7, (3,), is_beginning=True),)},
    {"openings": (OpeningFilter("connect-four", 7, ()),), "rated_only": False},
    {"openings": (OpeningFilter("connect-four", 7, (3, 2)), OpeningFilter("gomoku", 225, (2, 3)))},
    {"openings": (OpeningFilter("gomoku", 225, (), is_beginning=True),)},
    {"is_graded": True},
    {"is_graded": False},
    {"judge": "solver"},
    {"judge": "m*"},
    {"mistakes": ((">", 0),)},
    {"mistakes": (("=", 0),), "is_graded": True},
    {"mistakes": ((">=", 1), ("<", 3)), "judge": "solver"},
    {"mistakes": (("<", 9),), "is_graded": False},
    {"since": START + 4, "until": START + 12, "bot": "c", "rated_only": False},
]


SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


def any_match(cup: Cup, number: int, rng: Random) -> MatchRecord:
    if rng.random() < 0.1:
        return cup.void(number)
    name = rng.choice(["", "pc1", "pc2", 'a"b'])
    return cup.match(
        number,
        outcome=rng.choice(["first", "second", "draw"]),
        termination=rng.choice(["rules", "rules", "time_move"]),
        rated=rng.random() < 0.8,
        tier=rng.choice(["T0", "T1", "T2", "T3"]),
        match_hash=digest(str(rng.randrange(4))),
        started_at=START + rng.randrange(20),
        duration_ms=rng.choice([5, 1000, 70_012, 70_013]),
        actions=rng.choice([(3, 2, 3, 4), (2, 3, 0, 1)]),
        num_opening=rng.choice([0, 1, 2]),
        versions=json.dumps({"arena": "0.1.0"} | ({"machine": _MACHINE | {"name": name}} if name else {})),
    )


_MACHINE = {"id": "0" * 32, "name": "", "cpu": "pc1"}


def fits(match: StoredMatch, where: MatchFilter, pool: str, grades: Sequence[JudgedMatch]) -> bool:
    """Return whether a filter selects a match, decided without SQL."""
    given = match.actions[: match.num_opening]
    begins = [
        opening.game == match.game
        and (given[: len(opening.actions)] if opening.is_beginning else given) == opening.actions
        for opening in where.openings
    ]
    judged = [
        where.judge is None or is_like(grade.name, where.judge)
        for grade in grades
        if all(SIGNS[sign](_mistakes(match, grade), number) for sign, number in where.mistakes)
    ]
    wants_judge = where.judge is not None or bool(where.mistakes) or where.is_graded
    names = [
        {match.first_label} | _NAMES[match.first],
        {match.second_label} | _NAMES[match.second],
    ]
    seated = [name for name in (where.bot, where.vs) if name is not None]
    players = any(
        all(any(is_like(own, name) for own in side) for name, side in zip(seated, sides, strict=False))
        for sides in (names, names[::-1])
    )
    named = (
        (where.machine, json.loads(match.versions).get("machine", {"name": ""})["name"]),
        (where.game, match.game),
        (where.tournament, match.tournament_name),
        (where.pool, pool),
        (where.termination, match.termination),
    )
    return players and all(
        (
            all(wanted is None or is_like(text, wanted) for wanted, text in named),
            all(SIGNS[sign](len(match.actions), number) for sign, number in where.plies),
            where.outcome in (None, match.outcome),
            where.since is None or match.started_at >= where.since,
            where.until is None or match.started_at < where.until,
            where.min_tier is None or match.tier >= where.min_tier,
            where.tier in (None, match.tier),
            where.limit is None or pool in {f"{where.limit} hosted", f"{where.limit} in-process"},
            all(SIGNS[sign](match.duration_ms, number) for sign, number in where.durations),
            any(begins) or not where.openings,
            any(judged) or not wants_judge,
            where.is_graded in (None, bool(grades)),
            match.rated or not where.rated_only,
        )
    )


def _mistakes(match: StoredMatch, grade: JudgedMatch) -> int:
    return sum(ply.loss is not None and ply.loss > 0 for ply in grade.plies[match.num_opening :])


_NAMES = {digest(f"{name}:playouts=100"): {name, f"{name}:playouts=100"} for name in "abcd"}
