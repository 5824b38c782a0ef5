"""Saved matches are read back unchanged and exactly once, and everything derived from them is updated."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena_db.errors import DamagedError, RefusedError
from arena_db.records import Entrant, MatchFilter, MatchRecord
from arena_db.sums import SUMS
from stores import add_cup, bot, digest, new_tournament, rows, tamper

if TYPE_CHECKING:
    from arena_db.store import Store

ALL = MatchFilter(rated_only=False)


def plain(match: MatchRecord) -> MatchRecord:
    """Return the record from which a stored match was saved."""
    return MatchRecord(**{field.name: getattr(match, field.name) for field in fields(MatchRecord)})


def test_a_saved_match_comes_back_whole(store: Store) -> None:
    cup = add_cup(store)
    record = cup.match(5, fault='{"elapsed_ms": 5101}', reason="Ünïcode “quotes” '; DROP TABLE matches")
    assert store.matches.save([record]) == 1
    (stored,) = store.matches.newest(ALL)
    assert plain(stored) == record
    assert (stored.tournament_name, stored.game, stored.id) == ("rr-1", "connect-four", 1)
    assert (stored.encounter, stored.match_no) == (1, 1)
    assert (stored.first_seat, stored.second_seat) == (2, 1)
    assert (stored.first_label, stored.second_label) == ("c", "b")
    assert store.matches.find(stored.id) == stored
    assert store.matches.find(99) is None


SETTINGS: list[dict[str, Any]] = [
    {"idle_cpu_first_ms": 0.0},
    {"idle_cpu_first_ms": -0.0, "idle_cpu_second_ms": 7},
    {"idle_cpu_second_ms": 0.125},
    {"limits": "kernel"},
    {"limits": "polled", "runtime_second": "node 18.19.0"},
    {"runtime_first": "python 3.11.2"},
    {"idle_cpu_first_ms": 1145.4, "idle_cpu_second_ms": 0.0, "limits": "polled", "runtime_first": "Ü" * 256},
]


@pytest.mark.parametrize("changes", SETTINGS)
def test_how_a_match_was_run_comes_back(store: Store, changes: dict[str, Any]) -> None:
    record = add_cup(store).match(1, **changes)
    store.matches.save([record])
    (stored,) = store.matches.newest(ALL)
    assert plain(stored) == record
    assert store.integrity.check() == []


@pytest.mark.parametrize("name", ["idle_cpu_first_ms", "idle_cpu_second_ms"])
@pytest.mark.parametrize("changes", SETTINGS[:3])
def test_another_idle_time_is_noticed(store: Store, name: str, changes: dict[str, Any]) -> None:
    store.matches.save([add_cup(store).match(1, **changes)])
    other = "3" if changes.get(name) is None else "NULL"
    tamper(store.place, f"UPDATE matches SET {name} = {other}")  # noqa: S608 - no input
    assert store.integrity.check() == ["match #1 is not as it was stored"]


def test_the_code_of_a_bot_comes_back(store: Store) -> None:
    seats = [
        Entrant(seat=seat, label=name, bot=bot(name, content=content), limit="")
        for seat, (name, content) in enumerate([("a", digest("its files")), ("b", "")])
    ]
    tournament = store.tournaments.add(new_tournament(), seats, [])
    assert store.tournaments.entrants(tournament.id) == seats
    assert [known.content for known in store.names.bots().values()] == [digest("its files"), ""]
    assert rows(store.place, "SELECT content IS NULL FROM bots ORDER BY id") == [(False,), (True,)]


def test_a_hash_of_code_is_a_hash(store: Store) -> None:
    short = [Entrant(seat=0, label="a", bot=bot("a", content="3f2a91c0"), limit="")]
    with pytest.raises(RefusedError, match="content"):
        store.tournaments.add(new_tournament(), short, [])


def test_what_is_stored_already_is_left_out(store: Store) -> None:
    cup = add_cup(store)
    assert store.matches.save([cup.match(1), cup.match(2), cup.match(1)]) == 2
    assert store.matches.save([cup.match(2, reason="another"), cup.match(3)]) == 1
    assert store.matches.save([cup.match(1), cup.match(2), cup.match(3)]) == 0
    assert store.matches.save([]) == 0
    assert [match.number for match in store.matches.of_tournament(cup.record.id)] == [1, 2, 3]
    assert [match.number for match in store.plans.unplayed(cup.record.id)] == list(range(4, 13))
    assert store.integrity.check() == []


def test_a_void_attempt_leaves_the_planned_match_to_be_played(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.void(1), cup.void(1, attempt=1), cup.void(2)])
    assert {match.number: match.attempt for match in store.plans.unplayed(cup.record.id)[:3]} == {
        1: 2,
        2: 1,
        3: 0,
    }
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert record.num_done == 0
    assert store.matches.save([cup.match(1, attempt=2), cup.match(1, attempt=3)]) == 1
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert record.num_done == 1
    assert [(match.number, match.attempt) for match in store.matches.of_tournament(cup.record.id)] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 0),
    ]
    assert store.integrity.check() == []


def test_a_final_void_match_is_done(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([replace(cup.void(1), is_final=True, termination="init_crash")])
    assert 1 not in [match.number for match in store.plans.unplayed(cup.record.id)]
    assert store.matches.save([cup.match(1, attempt=1)]) == 0
    assert store.integrity.check() == []


def test_matches_of_several_tournaments_in_one_go(store: Store) -> None:
    one, two = add_cup(store), add_cup(store, "a", "d")
    assert store.matches.save([one.match(1), two.match(1), one.match(2)]) == 3
    assert [match.tournament for match in store.matches.newest(ALL)] == [
        one.record.id,
        two.record.id,
        one.record.id,
    ]


@pytest.mark.parametrize("num", [30, 2])
def test_one_refused_record_keeps_all_others_out(store: Store, num: int) -> None:
    cup = add_cup(store, num=30)
    with pytest.raises(RefusedError, match="tier_known"):
        store.matches.save([cup.match(number) for number in range(1, num)] + [cup.match(num, tier="T9")])
    assert store.matches.newest(ALL) == []
    assert len(store.plans.unplayed(cup.record.id)) == 30
    assert store.integrity.check() == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"number": 13}, "no planned match 13"),
        ({"tournament": 7}, "no tournament with id 7"),
        ({"first": digest("another")}, "planned for other bots"),
        ({"outcome": "lost"}, "outcome"),
        ({"termination": "tired"}, "termination"),
        ({"actions": (3, 2, 3, 7)}, r"not in \[0, 7\)"),
        ({"actions": (3, 2, 3, -1)}, r"not in \[0, 7\)"),
        ({"times_ms": (1,)}, "not as many"),
        ({"values": ()}, "not as many"),
        ({"num_opening": 5}, "opening"),
        ({"num_opening": -1}, "opening"),
        ({"times_ms": (0, 0, -1, 5)}, "times"),
        ({"times_ms": (0, 0, 1 << 64, 5)}, "times"),
        ({"values": (None, None, 1.5, None)}, "claimed"),
        ({"values": (None, None, float("nan"), None)}, "claimed"),
        ({"match_hash": "zz"}, "hash"),
        ({"match_hash": "00"}, "match_hash"),
        ({"reason": "x" * 4097}, "reason"),
        ({"reason": "\ud800"}, "surrogates"),
        ({"seed_first": 1 << 63}, "too large"),
        ({"seed_first": -1}, "seed"),
        ({"started_at": float("nan")}, "started_at|is nan"),
        ({"idle_cpu_first_ms": float("nan")}, "idle CPU time is nan"),
        ({"idle_cpu_second_ms": float("inf")}, "idle CPU time is inf"),
        ({"idle_cpu_second_ms": -1.0}, "idle_cpu_second_ms"),
        ({"idle_cpu_first_ms": -1.0}, "idle_cpu_first_ms"),
        ({"limits": "strict"}, "limits"),
        ({"runtime_first": "x" * 257}, "runtime_first"),
        ({"runtime_second": "x" * 257}, "runtime_second"),
    ],
)
def test_refused(store: Store, changes: dict[str, Any], text: str) -> None:
    cup = add_cup(store)
    with pytest.raises(RefusedError, match=text):
        store.matches.save([replace(cup.match(1), **changes)])
    assert store.matches.newest(ALL) == []


def test_a_match_without_its_plan_is_damage(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    tamper(store.place, "UPDATE planned SET state = 'planned'")
    with pytest.raises(DamagedError, match="arena db check"):
        store.matches.save([cup.match(1, attempt=1)])


def test_games_with_many_actions(store: Store) -> None:
    cup = add_cup(store, num_actions=361)
    record = cup.match(1, actions=(360, 255, 256, 0))
    store.matches.save([record])
    assert plain(store.matches.newest(ALL)[0]) == record


def test_one_bot_may_sit_twice(store: Store) -> None:
    cup = add_cup(store, "a", "a/a_2", type="match")
    store.matches.save([cup.match(1), cup.match(2), cup.match(3, outcome="second")])
    assert [
        (match.first_label, match.second_label) for match in store.matches.of_tournament(cup.record.id)
    ] == [
        ("a", "a_2"),
        ("a_2", "a"),
        ("a", "a_2"),
    ]
    counted = [(tally.first_seat, tally.outcome, tally.num_matches) for tally in store.sums.tallies(ALL)]
    assert counted == [(0, "first", 1), (0, "second", 1), (1, "first", 1)]
    assert [match.id for match in store.matches.newest(MatchFilter(bot="a", vs="a_2"))] == [3, 2, 1]
    assert list(store.names.bots()) == [bot("a").identity]


def test_long_batches(store: Store) -> None:
    cup = add_cup(store, num=2500)
    assert store.matches.save([cup.match(number) for number in range(1, 2501)]) == 2500
    assert store.matches.save([cup.match(number) for number in range(1, 2501)]) == 0
    assert [match.number for match in store.matches.of_tournament(cup.record.id)] == list(range(1, 2501))
    assert store.integrity.check() == []


def test_versions_are_stored_once(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2), cup.match(3, versions='{"arena": "9"}')])
    store.matches.save([cup.match(4)])
    with store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] — to count them
        assert connection.exec_driver_sql("SELECT count(*) FROM versions").scalar() == 2
    assert [json.loads(match.versions)["arena"] for match in store.matches.of_tournament(1)] == [
        *("0.1.0", "0.1.0", "9", "0.1.0")
    ]


def test_what_was_taken_back_is_not_remembered(store: Store) -> None:
    cup = add_cup(store)
    new = {"versions": '{"arena": "9"}'}
    for _ in range(2):
        with pytest.raises(RefusedError, match="tier_known"):
            store.matches.save([cup.match(1, **new), cup.match(2, tier="T9")])
    assert store.matches.save([cup.match(1, **new)]) == 1
    assert store.matches.save([cup.match(2, **new)]) == 1
    assert store.integrity.check() == []


def test_of_one_attempt_the_first_record_counts(store: Store) -> None:
    cup = add_cup(store)
    assert (
        store.matches.save([cup.match(1), cup.void(1), cup.void(2), cup.match(2), cup.void(2), cup.void(3)])
        == 3
    )
    assert store.matches.save([cup.void(1), cup.match(2), cup.match(3), cup.match(2, attempt=1)]) == 1
    assert [(match.number, match.attempt, match.is_final) for match in store.matches.of_tournament(1)] == [
        *((1, 0, True), (2, 0, False), (2, 1, True), (3, 0, False))
    ]
    assert store.integrity.check() == []


def test_numbers_far_apart(store: Store) -> None:
    cup = add_cup(store, num=2000)
    numbers = [1, 2, 60, 1000, 1999, 2000, 500, 3]
    assert store.matches.save([cup.match(number) for number in numbers]) == 8
    assert [match.number for match in store.matches.of_tournament(1)] == sorted(numbers)
    assert store.integrity.check() == []


def test_repeats_over_many_transactions(store: Store) -> None:
    cup = add_cup(store, num=1500)
    for start in range(1, 1500, 300):
        store.matches.save(
            [cup.match(number, match_hash=digest(str(number % 60))) for number in range(start, start + 300)]
        )
    assert sum(tally.num_matches for tally in store.sums.tallies(ALL)) == 1500
    for kept in (store.sums.of_tournament(1), store.sums.of_pools()):
        total = sum(each.sums[SUMS.index("num_different")] for each in kept)
        assert total == 60, "seats repeat with every sixth match"
    assert store.integrity.check() == [], "a recount says the same"


_moves = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.integers(0, 1 << 40),
        st.none() | st.floats(-1, 1, width=32),
    ),
    max_size=42,
)


@given(st.lists(_moves, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_round_trip(store: Store, matches: list[list[tuple[int, int, float | None]]]) -> None:
    cup = add_cup(store)
    records = [
        cup.match(
            number,
            actions=tuple(action for action, _, _ in moves),
            times_ms=tuple(time for _, time, _ in moves),
            values=tuple(value for _, _, value in moves),
            num_opening=0,
        )
        for number, moves in enumerate(matches, 1)
    ]
    store.matches.save(records)
    assert list(map(plain, store.matches.of_tournament(cup.record.id))) == records
