"""Line, table, crosstable, JSON, matrix and goal show the same numbers, over random tournaments."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from arena.cli.standings import encounter_object, print_crosstable
from arena.results.crosstable import crosstable, matrix_view
from arena.results.encounter import count_match, meetings
from arena.results.encounter_lines import elo_line, score_line
from arena.results.rating_tables import standings
from arena.results.tables import widest_error
from arena_db.store import Store
from stores import add_cup, digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.results.counts import HeadToHead
    from arena.results.crosstable import Cell, Crosstable
    from arena_db.records import MatchRecord
    from stores import Cup

NUM_TOURNAMENTS = 200
ENDS = ("rules", "rules", "rules", "resign", "time_move", "crash", "walkover")
FAULTS = {"time_move", "crash"}


def _play(cup: Cup, rng: Random) -> list[MatchRecord]:
    """Draw results for some planned matches: strong and weak bots, copies, forfeits, voids, gaps."""
    strength = [rng.random() for _ in cup.entrants]
    found: list[MatchRecord] = []
    for match in cup.plan:
        if rng.random() < 0.1:
            continue
        if rng.random() < 0.05:
            found.append(cup.void(match.number))
            continue
        edge = strength[match.first] / (strength[match.first] + strength[match.second])
        outcome = "draw" if rng.random() < 0.2 else "first" if rng.random() < edge else "second"
        opening = (match.match_no // 2 % rng.choice([1, 3, 7]), match.encounter)
        found.append(
            cup.match(
                match.number,
                outcome=outcome,
                termination="rules" if outcome == "draw" else rng.choice(ENDS),
                actions=(*opening, 3, 3),
                match_hash=digest(f"{opening}{outcome}{rng.randrange(3)}"),
            )
        )
    return found


class _Played(NamedTuple):
    """A tournament, its stored matches and its crosstable."""

    cup: Cup
    records: list[MatchRecord]
    cross: Crosstable

    @property
    def labels(self) -> list[str]:
        return [entrant.label for entrant in self.cup.entrants]


class _Random(NamedTuple):
    """A store and its tournaments."""

    store: Store
    tournaments: list[_Played]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Random]:
    rng = Random(31)  # noqa: S311 - play, no secrets
    fields = [("a", "b"), ("a", "b"), ("a", "a/a_2"), ("a", "b", "c"), ("a", "b", "c", "d")]
    with Store.open(tmp_path_factory.mktemp("numbers") / "arena.db", fast=True) as store:
        found: list[_Played] = []
        for _ in range(NUM_TOURNAMENTS):
            cup = add_cup(store, *rng.choice(fields), num=rng.randrange(1, 40))
            records = _play(cup, rng)
            store.matches.save(records)
            labels = [entrant.label for entrant in cup.entrants]
            found.append(_Played(cup, records, crosstable(store, cup.record, labels)))
        yield _Random(store, found)


def _counted(cup: Cup, records: list[MatchRecord], one: int, other: int) -> dict[str, Any]:
    """Count an encounter by plain loops, from the view of the bot of seat `one`."""
    sides: dict[str, Counter[str]] = {"moving_first": Counter(), "moving_second": Counter()}
    forfeits: Counter[int] = Counter()
    pairs: Counter[int] = Counter()
    openings: set[tuple[int, ...]] = set()
    for record in records:
        planned = cup.plan[record.number - 1]
        if not record.rated or {planned.first, planned.second} != {one, other}:
            continue
        is_first = planned.first == one
        result = {"draw": "draws", "first": "wins", "second": "losses"}[record.outcome]
        if not is_first:
            result = {"wins": "losses", "losses": "wins"}.get(result, result)
        sides["moving_first" if is_first else "moving_second"][result] += 1
        if record.termination in FAULTS:
            forfeits[other if result == "wins" else one] += 1
        pairs[planned.match_no // 2] += 1
        openings.add(record.actions[: record.num_opening])
    every = sides["moving_first"] + sides["moving_second"]
    return {
        **{name: every[name] for name in ("wins", "draws", "losses")},
        **{
            name: tuple(side[result] for result in ("wins", "draws", "losses"))
            for name, side in sides.items()
        },
        "pairs": sum(number == 2 for number in pairs.values()),
        "openings": len(openings),
        "forfeits": forfeits[one],
        "opponent_forfeits": forfeits[other],
    }


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:z.1f}"


def test_every_cell_counts_what_a_plain_loop_counts(played: _Random) -> None:
    met = 0
    for cup, records, cross in played.tournaments:
        for one, line in enumerate(cross.cells):
            for other, cell in enumerate(line):
                expected = _counted(cup, records, one, other) if one != other else {}
                assert {name: getattr(cell, name) for name in expected} == expected, (cup.record.name, one)
                met += cell.games > 0
    assert met > NUM_TOURNAMENTS


def test_lines_cells_json_and_matrix_agree(played: _Random, capsys: pytest.CaptureFixture[str]) -> None:
    for each in played.tournaments:
        labels, cross = each.labels, each.cross
        view = matrix_view(cross, {label: label for label in labels}, "")
        print_crosstable(cross, "ndjson")
        objects = {
            (found["bot"], found["opponent"]): found
            for found in map(json.loads, capsys.readouterr().out.splitlines())
        }
        found = meetings(played.store, each.cup.record)
        for one, line in enumerate(cross.cells):
            for other, cell in enumerate(line):
                shown = view.cells[one][other]
                if one == other:
                    assert shown is None
                    continue
                assert shown is not None
                told = objects[labels[one], labels[other]]
                met = found.get((one, other))
                is_empty = met is None
                assert [cell.score is None, shown.score is None, told["score"] is None] == [is_empty] * 3
                if met is None:
                    continue
                _agree(met, cell, shown.elo, shown.error, told)
                back = cross.cells[other][one]
                assert back.moving_first == cell.moving_second[::-1]
                assert back.moving_second == cell.moving_first[::-1]
                assert shown.first_score == _share(cell.moving_first)
                assert shown.second_score == _share(cell.moving_second)


def _share(results: tuple[int, int, int]) -> float | None:
    return (results[0] + results[1] / 2) / sum(results) if sum(results) else None


def _agree(met: HeadToHead, cell: Cell, elo: float | None, error: float | None, told: dict[str, Any]) -> None:
    line = elo_line(met)
    for each_elo, each_error in ((cell.elo, cell.error), (elo, error), (told["elo"], told["error"])):
        assert line.startswith(f"Elo difference: {_digits(each_elo)} +/- {_digits(each_error)}, LOS: ")
    assert f"LOS: {100 * cast('float', cell.los):z.1f} %" in line
    assert told["los"] == cell.los
    score = f"{met.counts.wins} - {met.counts.losses} - {met.counts.draws}"
    assert score_line("a", "b", met.counts).startswith(f"Score of a vs b: {score}  [")
    assert (cell.wins, cell.losses, cell.draws) == (told["wins"], told["losses"], told["draws"])
    assert told["score"] == cell.score == met.counts.score


def test_of_two_bots_table_line_json_and_goal_are_one(played: _Random) -> None:
    compared = 0
    for each in played.tournaments:
        labels = each.labels
        if len(labels) != 2:
            continue
        met = count_match(played.store, each.cup.record)
        tables = standings(played.store, each.cup.record)
        if not met.counts.num_matches:
            assert widest_error(tables) == float("inf")
            continue
        (table,) = tables
        rows = {row.name: row for row in table.rows}
        told = encounter_object(labels[0], labels[1], met)
        gap = rows[labels[0]].elo - rows[labels[1]].elo
        assert _digits(gap) == _digits(cast("float", told["elo"])) == elo_line(met).split()[2]
        # A rating is relative to the mean of both, so half of the error of the gap belongs to each.
        goal = widest_error(tables)
        assert _digits(2 * goal) == _digits(cast("float", told["elo_error"]))
        assert goal == max(cast("float", row.error) for row in table.rows)
        assert table.rows[0].los == pytest.approx(max(met.gap.los, 1 - met.gap.los), abs=1e-9)
        cell = each.cross.cells[0][1]
        assert (_digits(cell.elo), _digits(cell.error)) == (_digits(gap), _digits(2 * goal))
        compared += 1
    assert compared > NUM_TOURNAMENTS / 3
