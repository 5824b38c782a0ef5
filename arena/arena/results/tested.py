"""Sequential tests: which tournaments are tests, and how many matches of a table come from them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.results.tables import Table
    from arena_db.records import MatchFilter, Tally, TournamentRecord
    from arena_db.store import Store


class Tested(NamedTuple):
    """Matches of sequential tests among those of a table."""

    num_unrated: int
    """Number of matches of tests that are not rated."""
    rated: Mapping[str, int]
    """Number of matches from tests with `--rated`, which count, by identity of the bot."""


def is_test(tournament: TournamentRecord) -> bool:
    """Return whether a tournament is a sequential test that has begun; before that it has no state."""
    return tournament.has_begun and tournament.type == "match" and "sprt" in tomllib.loads(tournament.config)


def kind_of(tournament: TournamentRecord) -> str:
    """Return the displayed type of a tournament: its type, or `test` for a sequential test."""
    return "test" if is_test(tournament) else tournament.type


def count_tested(store: Store, where: MatchFilter) -> Tested:
    """Count the matches of sequential tests that pass a filter, without void ones and walkovers.

    Args:
        store: the store with the matches.
        where: filter of the table; its `rated_only` is ignored.
    """
    tests = {
        tournament: bool(tomllib.loads(config).get("rated", False))
        for tournament, config in store.plans.sequential_tests().items()
    }
    num_unrated = 0
    rated: Counter[str] = Counter()
    for tally in store.sums.tallies(dataclasses.replace(where, rated_only=False)) if tests else ():
        if tally.tournament not in tests or not _is_played(tally):
            continue
        if not tally.rated:
            num_unrated += tally.num_matches
        elif tests[tally.tournament]:
            rated[tally.first] += tally.num_matches
            rated[tally.second] += tally.num_matches
    return Tested(num_unrated, rated)


def mark_tested(tables: Sequence[Table], tested: Tested) -> list[Table]:
    """Return tables that mark the rows with matches of sequential tests, and count the unrated ones."""
    return [
        replace(
            table,
            rows=tuple(replace(row, tested=tested.rated.get(row.identity, 0)) for row in table.rows),
            num_unrated=tested.num_unrated,
        )
        for table in tables
    ]


def notes_on_tests(tables: Sequence[Table]) -> list[str]:
    """Return the notes on sequential tests, as sentences."""
    notes: list[str] = []
    num = tables[0].num_unrated if tables else 0
    if num:
        plural = "match of a sequential test is" if num == 1 else "matches of sequential tests are"
        notes.append(f"{num} {plural} not rated: a test stops when a bot is ahead, which would bias ratings.")
    if any(row.tested for table in tables for row in table.rows):
        notes.append("*: rests on matches of sequential tests (--rated), which stop when a bot is ahead.")
    return notes


def _is_played(tally: Tally) -> bool:
    return tally.outcome != Outcome.VOID and tally.termination != Termination.WALKOVER
