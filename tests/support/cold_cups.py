"""Finished tournaments with every kind of row, and the results of all reads of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.naming import metadata
from arena_db.points import RatingPoint, SeatRating
from arena_db.records import MatchFilter, MatchSelection, NewBatch, OpenPlan, Remark
from arena_db.remark_codec import pack_remarks
from arena_db.replays import ReplayRecord
from stores import Cup, bot, entrants, new_tournament, plan

if TYPE_CHECKING:
    from arena_db.store import Store

WHO = "u@h"
ALL = MatchFilter(rated_only=False)
KINDS = ("round-robin", "ladder", "swiss", "match")
LIVING = {"tournaments", "leases", "live_events", "changes", "seals", "cold_tournaments", "cold_ends"}
"""Tables in which an archive leaves a trace, and their seals."""


def cup_of(store: Store, kind: str, num: int = 8) -> Cup:
    """Store a finished tournament with void matches, remarks, an analysis and ratings over time."""
    seats = entrants("a", "b", "c")
    matches = plan(3, num)
    config = 'type = "match"\nsprt = [0, 10]\n' if kind == "match" else f'type = "{kind}"\n'
    record = store.tournaments.add(
        new_tournament(type=kind, config=config), seats, OpenPlan() if kind == "ladder" else matches
    )
    cup = Cup(record, seats, matches)
    halves = (matches[: num // 2], matches[num // 2 :]) if kind == "ladder" else ()
    for place, part in enumerate(halves):
        store.plans.add_batch(
            record.id, NewBatch(matches=part, num_total=None if place == 0 else num, is_last=place == 1)
        )
    said = pack_remarks([None, None, Remark(depth=4), None])
    store.matches.save(
        [cup.void(2), *(cup.match(n, attempt=int(n == 2), remarks=said) for n in range(1, num + 1))]
    )
    store.sums.sum_up()
    first = store.matches.find_attempt(record.id, 1)
    assert first is not None
    plies = (JudgedPly(), JudgedPly(), *(JudgedPly(value=1.0, loss=0.0, best=(3,)) for _ in range(2)))
    store.analyses.add(JudgedMatch(match=first.id, name="solver", plies=plies, made_at=2.0))
    store.changes.void([first.id + 1], reason="r", who=WHO)
    last = store.matches.last_id(record.id)
    ratings = tuple(SeatRating(seat, 1500.0 + seat, 30.0, rests_on_prior=False) for seat in range(3))
    assert store.ratings.add_point(record.id, RatingPoint(num - 1, last, ratings))
    if kind == "swiss":
        away = ((5.0, -5.0, 0.0), (-5.0, 5.0, 0.0))
        store.ratings.add_replay(record.id, ReplayRecord(num - 1, last, 1.2, 0.9, (20.0, -20.0, 0.0), away))
    store.tournaments.set_state(record.id, "finished")
    return cup


def seen(store: Store, cup: Cup) -> dict[str, Any]:
    """Return the results of all reads of a tournament."""
    own, name = cup.record.id, cup.record.name
    where = MatchFilter(tournament=name, rated_only=False)
    found = list(store.matches.of_tournament(own))
    ids = [match.id for match in found]
    chosen = MatchSelection(where=where)
    return {
        "matches": found,
        "list": store.matches.newest(where),
        "piece": store.matches.search_piece(where, "plies", descending=True, after=None, num=100).ids,
        "num": store.matches.count(where),
        "page": store.matches.page(own, where, offset=1, limit=3),
        "of": store.matches.with_ids(ids),
        "one": store.matches.find(ids[2]),
        "attempt": store.matches.find_attempt(own, 2, 1),
        "remarks": store.matches.remarks(ids),
        "bulk remarks": store.bulk.remarks(ids),
        "analyses": store.analyses.of(ids),
        "mistakes": store.analyses.mistakes(ids),
        "packed": list(store.bulk.packed_matches(chosen)),
        "whole": list(store.bulk.whole_matches(chosen)),
        "volumes": store.bulk.volumes(chosen),
        "seeded": list(store.bulk.seeded_matches(own)),
        "played": store.matches.played(where),
        "counted": list(store.bulk.counted_matches(own)),
        "plan": store.plans.planned(own),
        "results": store.plans.results(own, after=0, last=1 << 40),
        "time": store.plans.play_time(own, 0),
        "numbers": store.matches.ids_of_seats(own, [0]),
        "moment": store.sums.moment(own),
        "openings": store.plays.opening_tallies(where, [bot("a").identity]),
        "lost": store.plays.lost_matches(where, [bot("a").identity]),
        "begun": list(store.plays.begun_lines(where, 7, 3)),
        "actions": store.plays.given_actions(ids),
        "with": store.matches.by_id(ids),
        "void": store.changes.void_change(ids[2]),
    }


def tables(store: Store, cup: Cup) -> tuple[Any, ...]:
    """Return the data from which tables and charts are computed."""
    own = cup.record.id
    points = store.ratings.points(own)
    sums = (store.sums.of_tournament(own), store.sums.of_pools())
    return (
        store.sums.tallies(ALL),
        *sums,
        points,
        store.ratings.replay_of(own),
        store.ratings.replay_marks(),
    )


def rows(store: Store) -> dict[str, list[Any]]:
    """Return all rows of the tables that an archive must leave as they were."""
    settings = FileSettings(place=store.path)
    with make_migration_engine(settings).connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in metadata.sorted_tables
            if table.name not in LIVING
        }
