from __future__ import annotations

from arena.rating.encounter import EncounterCounts
from arena.rating.lines import encounter_lines, ptnml_line, side_lines, verdict_line

EXAMPLE = EncounterCounts(
    wins=19, draws=8, losses=13, ptnml=(1, 2, 10, 4, 3), num_unique=40, num_unique_pairs=20
)


def test_the_example_of_the_conventions_byte_by_byte() -> None:
    assert encounter_lines("A", "B", EXAMPLE) == [
        "Score of A vs B: 19 - 13 - 8  [0.575] 40",
        "Elo difference: 46.6 +/- 78.7, LOS: 88.3 %, DrawRatio: 20.0 %",
        "Ptnml(0-2): [1, 2, 10, 4, 3], nElo: 61.7 +/- 101.5, PairsRatio: 2.33, DrawnPairs: 50.0 %",
        "Unique: 40 of 40 games, 20 of 20 pairs",
        "A and B are not separated: A - B = 47 Elo (95 %: -31 to 127)",
    ]


def test_each_side_has_its_line() -> None:
    counts = EncounterCounts(moving_first=(11, 4, 5), moving_second=(0, 0, 3))
    assert side_lines("A", counts) == [
        "A moving first: 11 - 5 - 4  [0.650] 20, wins 55.0 % (95 %: 34.2 to 74.2)",
        "A moving second: 0 - 3 - 0  [0.000] 3, wins 0.0 % (95 %: 0.0 to 56.1)",
    ]
    assert side_lines("A", EncounterCounts()) == []


def test_without_pairs_and_without_matches() -> None:
    assert encounter_lines("A", "B", EncounterCounts()) == [
        "Score of A vs B: 0 - 0 - 0  [-] 0",
        "Elo difference: 0.0 +/- 927.4, LOS: 50.0 %, DrawRatio: -",
        "Unique: 0 of 0 games, 0 of 0 pairs",
        "A and B are not separated: A - B = 0 Elo (95 %: -927 to 927)",
    ]


def test_the_stronger_bot_is_named_first() -> None:
    counts = EncounterCounts(wins=60, losses=40, ptnml=(0, 0, 40, 0, 10), num_unique=100, num_unique_pairs=50)
    line = verdict_line("A", "B", counts)
    assert line.startswith("A is stronger than B by 67 Elo (95 %: ")
    mirror = EncounterCounts(wins=40, losses=60, ptnml=(10, 0, 40, 0, 0), num_unique=100, num_unique_pairs=50)
    assert verdict_line("B", "A", mirror) == line


def test_no_lost_pair_has_no_ratio_and_zero_has_no_sign() -> None:
    counts = EncounterCounts(wins=2, ptnml=(0, 0, 0, 0, 1), num_unique=2, num_unique_pairs=1)
    assert "PairsRatio: -, DrawnPairs: 0.0 %" in ptnml_line(counts)
    hair = EncounterCounts(
        wins=10**6, losses=10**6 + 1, ptnml=(1, 0, 10**6, 0, 0), num_unique=2 * 10**6, num_unique_pairs=10**6
    )
    assert not any("-0 " in line or "-0.0 " in line for line in encounter_lines("A", "B", hair))
