"""Queries for many matches return the same ones as queries for single matches, in pages and by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_db.records import MatchFilter, MatchSelection, Remark
from arena_db.remark_codec import pack_remarks
from stores import add_cup

if TYPE_CHECKING:
    from arena_db.store import Store
    from stores import Cup

ALL = MatchSelection(where=MatchFilter(rated_only=False))


def _cup(store: Store, **changes: object) -> Cup:
    cup = add_cup(store, num=12, **changes)
    store.matches.save([cup.match(number) for number in range(1, 10)])
    store.matches.save([cup.void(10), cup.match(11, termination="crash"), cup.match(12, rated=False)])
    return cup


def _ids(store: Store, selection: MatchSelection, page: int = 4) -> list[int]:
    pages = list(store.bulk.packed_matches(selection, page=page))
    assert all(0 < len(found) <= page for found in pages)
    assert [[match.id for match in found] for found in store.bulk.whole_matches(selection, page=page)] == [
        [match.id for match in found] for found in pages
    ]
    return [match.id for found in pages for match in found]


def test_void_matches_are_left_out_and_all_others_come_by_number(store: Store) -> None:
    _cup(store)
    assert _ids(store, ALL) == [*range(1, 10), 11, 12]
    assert _ids(store, ALL, page=100) == [*range(1, 10), 11, 12]


def test_packed_matches_are_the_stored_ones(store: Store) -> None:
    _cup(store)
    for match in next(iter(store.bulk.packed_matches(ALL))):
        stored = store.matches.find(match.id)
        assert stored is not None
        assert tuple(match.actions) == stored.actions
        assert (match.tournament, match.outcome, match.termination) == (
            stored.tournament,
            stored.outcome,
            stored.termination,
        )
        assert (match.first_seat, match.second_seat) == (stored.first_seat, stored.second_seat)
        assert match.match_hash.hex() == stored.match_hash
        assert (match.num_opening, match.started_at) == (stored.num_opening, stored.started_at)
        assert len(match.claims) == 4 * len(match.actions)


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        (MatchSelection(where=MatchFilter()), [*range(1, 10), 11]),
        (MatchSelection(where=MatchFilter(), terminations=("rules",)), [*range(1, 10)]),
        (MatchSelection(where=MatchFilter(), terminations=("crash", "oom")), [11]),
        (MatchSelection(where=MatchFilter(), limit=3), [8, 9, 11]),
        (MatchSelection(where=MatchFilter(), limit=100), [*range(1, 10), 11]),
        (MatchSelection(where=MatchFilter(tournament="rr-1", rated_only=False)), [*range(1, 10), 11, 12]),
        (MatchSelection(where=MatchFilter(tournament="rr-9")), []),
        (MatchSelection(where=MatchFilter(bot="a", vs="b")), [1, 4, 7]),
        (MatchSelection(where=MatchFilter(min_tier="T3")), []),
        (MatchSelection(where=MatchFilter(tournament="rr-*"), limit=3), [8, 9, 11]),
        (MatchSelection(where=MatchFilter(plies=((">", 4),))), []),
        (MatchSelection(where=MatchFilter(termination="cr*")), [11]),
    ],
)
def test_what_is_chosen_is_counted_alike(store: Store, selection: MatchSelection, ids: list[int]) -> None:
    _cup(store)
    assert _ids(store, selection) == ids
    volumes = store.bulk.volumes(selection)
    assert sum(volume.num_matches for volume in volumes) == len(ids)
    assert sum(volume.num_actions for volume in volumes) == 4 * len(ids)
    assert {volume.game for volume in volumes} <= {"connect-four"}


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert _ids(store, ALL) == []
    assert _ids(store, MatchSelection(where=MatchFilter(), limit=3)) == []
    assert store.bulk.volumes(ALL) == []
    assert store.bulk.remarks([]) == {}
    assert store.bulk.analyses([], "solver") == {}


def test_actions_of_two_bytes_are_counted_once(store: Store) -> None:
    _cup(store, num_actions=361)
    assert store.bulk.volumes(ALL)[0].num_actions == 4 * 11
    assert _ids(store, MatchSelection(where=MatchFilter(plies=(("=", 4),)))) == [*range(1, 10), 11]


def test_matches_that_come_meanwhile_are_left_out(store: Store) -> None:
    cup = add_cup(store, num=12)
    store.matches.save([cup.match(number) for number in (1, 2)])
    pages = store.bulk.packed_matches(ALL, page=1)
    first = next(pages)
    store.matches.save([cup.match(3)])
    assert [match.id for page in (first, *pages) for match in page] == [1, 2]


def test_remarks_come_for_the_matches_that_were_asked_for(store: Store) -> None:
    cup = add_cup(store, num=12)
    said = (None, None, Remark(depth=3), None)
    store.matches.save([cup.match(number, remarks=pack_remarks(said)) for number in (1, 2, 3)])
    assert store.bulk.remarks([1, 3]) == {1: said, 3: said} == store.matches.remarks([1, 3])
