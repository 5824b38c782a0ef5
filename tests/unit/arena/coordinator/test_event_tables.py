from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.event_tables import event_tables, place_rows_of
from arena.coordinator.plan_view import EventView
from arena.schedules.encounters import plan_encounters
from arena_db.store import Store
from stores import Cup, add_cup, entrants, new_tournament

if TYPE_CHECKING:
    from pathlib import Path


def test_a_view_names_the_seat_that_forfeited(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a", "b")
        view = EventView(store, cup.record)
        assert dict(view.look(view.basis(), "").forfeits) == {}
        store.matches.save(
            [
                cup.match(1, outcome="first"),
                cup.match(2, outcome="first", termination="crash"),
                cup.match(3, outcome="second", termination="time_move"),
                cup.match(4, outcome="draw"),
                cup.match(5, outcome="void", termination="crash", rated=False),
            ]
        )
        seen = view.look(view.basis(), "")
        keys = [(match.encounter, match.match_no) for match in cup.plan[:5]]
        assert dict(seen.forfeits) == {keys[1]: cup.plan[1].second, keys[2]: cup.plan[2].first}
        assert len(seen.forfeits) == 2
        assert seen.forfeits.get(keys[0]) is None
        assert seen.results[keys[4]] is None


def _knockout(store: Store) -> Cup:
    """Store a knockout: a final of two bots that is level after one pair."""
    seats = entrants("a", "b")
    plan = plan_encounters([], [(0, 1, 2)], [(3, 2)], 2)
    config = 'type = "knockout"\ntie-pairs = 0\n'
    return Cup(
        store.tournaments.add(new_tournament(type="knockout", config=config), seats, plan), seats, plan
    )


def test_a_forfeit_decides_a_level_final(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = _knockout(store)
        # Each bot wins when it moves first, the second time because seat 0 crashed.
        store.matches.save(
            [cup.match(1, outcome="first"), cup.match(2, outcome="first", termination="crash")]
        )
        tables = event_tables(store, cup.record)
        assert tables is not None
        (final,) = tables.bracket
        assert (final.winner, final.first_forfeits, final.second_forfeits) == ("b", 1, 0)
        assert final.why == "level after 2 matches, 1 : 1; b forfeited 0 of them, the other bot 1"
        assert tables.bracket_places == [(1, "b"), (2, "a")]
        assert tables.places == []
        # Its matches make an ordinary table by place as well.
        assert [(row.name, row.points) for row in place_rows_of(store, cup.record)] == [
            ("a", 1.0),
            ("b", 1.0),
        ]


def test_other_events_have_no_tables_of_their_own(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        assert event_tables(store, add_cup(store, "a", "b").record) is None
