"""Ended events with every kind of row, and what readers see of them."""

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
    """Store an ended event with a void match, a void attempt, remarks, an analysis and ratings over time."""
    seats = entrants("a", "b", "c")
    matches = plan(3, num)
    config = 'type = "match"\nsprt = [0, 10]\n' if kind == "match" else f'type = "{kind}"\n'
    record = store.add_tournament(
        new_tournament(type=kind, config=config), seats, OpenPlan() if kind == "ladder" else matches
    )
    cup = Cup(record, seats, matches)
    halves = (matches[: num // 2], matches[num // 2 :]) if kind == "ladder" else ()
    for place, part in enumerate(halves):
        store.add_batch(
            record.id, NewBatch(matches=part, num_total=None if place == 0 else num, is_last=place == 1)
        )
    said = pack_remarks([None, None, Remark(depth=4), None])
    store.save([cup.void(2), *(cup.match(n, attempt=int(n == 2), remarks=said) for n in range(1, num + 1))])
    store.sum_up()
    first = store.match_of(record.id, 1)
    assert first is not None
    plies = (JudgedPly(), JudgedPly(), *(JudgedPly(value=1.0, loss=0.0, best=(3,)) for _ in range(2)))
    store.add_analysis(JudgedMatch(match=first.id, name="solver", plies=plies, made_at=2.0))
    store.void([first.id + 1], reason="r", who=WHO)
    last = store.last_match(record.id)
    ratings = tuple(SeatRating(seat, 1500.0 + seat, 30.0, rests_on_prior=False) for seat in range(3))
    assert store.add_rating_point(record.id, RatingPoint(num - 1, last, ratings))
    if kind == "swiss":
        away = ((5.0, -5.0, 0.0), (-5.0, 5.0, 0.0))
        store.add_replay(record.id, ReplayRecord(num - 1, last, 1.2, 0.9, (20.0, -20.0, 0.0), away))
    store.set_state(record.id, "finished")
    return cup


def seen(store: Store, cup: Cup) -> dict[str, Any]:
    """Return what readers of an event see."""
    own, name = cup.record.id, cup.record.name
    where = MatchFilter(tournament=name, rated_only=False)
    found = list(store.tournament_matches(own))
    ids = [match.id for match in found]
    chosen = MatchSelection(where=where)
    return {
        "matches": found,
        "list": store.matches(where),
        "piece": store.search_piece(where, "plies", descending=True, after=None, num=100).ids,
        "num": store.num_matches(where),
        "page": store.tournament_page(own, where, offset=1, limit=3),
        "of": store.matches_of(ids),
        "one": store.match(ids[2]),
        "attempt": store.match_of(own, 2, 1),
        "remarks": store.remarks(ids),
        "bulk remarks": store.bulk_remarks(ids),
        "analyses": store.analyses(ids),
        "mistakes": store.mistakes(ids),
        "packed": list(store.packed_matches(chosen)),
        "whole": list(store.whole_matches(chosen)),
        "volumes": store.volumes(chosen),
        "seeded": list(store.seeded_matches(own)),
        "played": store.played(where),
        "counted": list(store.counted_matches(own)),
        "plan": store.planned(own),
        "results": store.results(own, after=0, last=1 << 40),
        "time": store.play_time(own, 0),
        "numbers": store.match_numbers(own, [0]),
        "moment": store.moment(own),
        "openings": store.opening_tallies(where, [bot("a").identity]),
        "lost": store.lost_matches(where, [bot("a").identity]),
        "begun": list(store.begun_lines(where, 7, 3)),
        "actions": store.given_actions(ids),
        "with": store.matches_with(ids),
        "void": store.void_change(ids[2]),
    }


def tables(store: Store, cup: Cup) -> tuple[Any, ...]:
    """Return what tables and charts are computed from."""
    own = cup.record.id
    points = store.rating_points(own)
    sums = (store.tournament_sums(own), store.pool_sums())
    return (store.tallies(ALL), *sums, points, store.replay_of(own), store.replay_marks())


def rows(store: Store) -> dict[str, list[Any]]:
    """Return all rows of the tables that an archive must leave as they were."""
    settings = FileSettings(place=store.path)
    with make_migration_engine(settings).connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in metadata.sorted_tables
            if table.name not in LIVING
        }
