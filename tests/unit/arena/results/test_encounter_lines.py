"""Lines that other programs parse, also if results bound a gap on one side only."""

from __future__ import annotations

import math

import pytest

from arena.rating.fit import head_to_head
from arena.rating.model import look_level
from arena.rating.ratings import NO_MATCH, Gap
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.results.counts import EncounterCounts, HeadToHead, counts_of, say_pairs
from arena.results.encounter_lines import encounter_lines, ptnml_line, say_gap, side_lines, verdict_line
from rated import pairs, repeated

WORST_FIRST = [(0, 0), *[(0, 0.5)] * 2, *[(0.5, 0.5)] * 8, *[(1, 0)] * 2, *[(1, 0.5)] * 4, *[(1, 1)] * 3]


def _met(matches: list[RatedMatch]) -> HeadToHead:
    found = encounters(MatchArrays(matches))
    return HeadToHead(counts_of(found)[0], head_to_head(found)[0])


def test_the_example_of_the_conventions_byte_by_byte() -> None:
    assert encounter_lines("A", "B", _met(pairs(0, 1, WORST_FIRST))) == [
        "Score of A vs B: 12 - 6 - 22  [0.575] 40",
        "Elo difference: 51.8 +/- 84.9, LOS: 89.3 %, DrawRatio: 55.0 %",
        "Ptnml(0-2): [1, 2, 10, 4, 3], nElo: 61.7 +/- 101.5, PairsRatio: 2.33, DrawnPairs: 50.0 %",
        "Evidence: 20 of 20 pairs",
        "A and B are not separated: A - B = 52 Elo (95 %: -32 to 138)",
    ]


def test_the_other_bot_sees_the_mirror_image() -> None:
    mirror = _met(pairs(0, 1, WORST_FIRST)).counts.reversed()
    assert (mirror.wins, mirror.draws, mirror.losses) == (6, 22, 12)
    assert mirror.ptnml == (3, 4, 10, 2, 1)
    assert (mirror.moving_first, mirror.moving_second) == ((3, 14, 3), (3, 8, 9))


def test_each_side_has_its_line() -> None:
    counts = EncounterCounts(moving_first=(11, 4, 5), moving_second=(0, 0, 3))
    assert side_lines("A", counts) == [
        "A moving first: 11 - 5 - 4  [0.650] 20, wins 55.0 % (95 %: 34.2 to 74.2)",
        "A moving second: 0 - 3 - 0  [0.000] 3, wins 0.0 % (95 %: 0.0 to 56.1)",
    ]
    assert side_lines("A", EncounterCounts()) == []


def test_without_matches_nothing_is_known() -> None:
    assert encounter_lines("A", "B", HeadToHead(EncounterCounts(), NO_MATCH)) == [
        "Score of A vs B: 0 - 0 - 0  [-] 0",
        "Elo difference: 0.0 +/- -, LOS: 50.0 %, DrawRatio: -",
        "Evidence: 0 of 0 pairs",
        "A and B are not separated: A - B = unknown",
    ]


def test_the_stronger_bot_is_named_first() -> None:
    results = [(1, 1)] * 12 + [(1, 0)] * 40
    line = verdict_line("A", "B", _met(pairs(0, 1, results)).gap)
    assert line.startswith("A is stronger than B by 8")
    mirror = _met(pairs(0, 1, [(1 - one, 1 - other) for one, other in results]))
    assert verdict_line("B", "A", mirror.gap) == line


def test_an_unbeaten_bot_is_at_least_so_strong() -> None:
    met = _met(pairs(0, 1, [(1, 1)] * 20))
    assert met.gap.high == math.inf
    assert (
        verdict_line("A", "B", met.gap) == f"A is stronger than B by at least {met.gap.low:+.0f} Elo (95 %)"
    )
    assert say_gap(met.gap.reversed()) == f"at most {-met.gap.low:+.0f} Elo (95 %)"
    assert "PairsRatio: -, DrawnPairs: 0.0 %" in ptnml_line(met.counts)


def test_a_later_look_is_judged_more_strictly() -> None:
    found = encounters(MatchArrays(pairs(0, 1, [(1, 0)] * 30 + [(1, 0.5)] * 9 + [(0, 0.5)])))
    (gap,), (judged,) = head_to_head(found), head_to_head(found, 0.05 / 6)
    counts = counts_of(found)[0]
    first = encounter_lines("A", "B", HeadToHead(counts, gap))
    second = encounter_lines("A", "B", HeadToHead(counts, gap, 2, judged))
    assert first[-1].startswith("A is stronger than B by ")
    assert second[:-2] == first[:-1], "only the verdict has another level"
    assert second[-2].startswith("A and B are not separated: A - B = ")
    assert "(99.2 %: " in second[-2]
    assert second[-1] == (
        "Look 2 at results that grow is judged at 99.2 %; arena test plays until it is decided"
    )
    mirror = HeadToHead(counts, gap, 2, judged).reversed()
    assert mirror.verdict == judged.reversed()


def test_zero_has_no_sign() -> None:
    met = _met(pairs(0, 1, [(0.5, 0.5)] * 500 + [(0, 0.5), (0.5, 1)]))
    assert not any("-0 " in line or "-0.0 " in line for line in encounter_lines("A", "B", met))


@pytest.mark.parametrize(
    ("matches", "words"),
    [
        (pairs(0, 1, [(1, 0)] * 20, openings=3), "20 of 20 pairs, from 3 openings only"),
        (
            [match for event in range(4) for match in repeated(0, 1, [(1, 0)] * 50, event=event)],
            "50 different pairs in 200; the other 150 repeat earlier ones and count once",
        ),
        ([*pairs(0, 1, [(1, 0)] * 9), RatedMatch(0, 1, 1.0, "x", 9, 9)], "9 of 9 pairs, 1 single match"),
        ([RatedMatch(0, 1, 1.0, n, n, n) for n in range(9)], "9 single matches"),
    ],
    ids=["few openings", "copies", "a single", "only singles"],
)
def test_evidence_says_what_counts(matches: list[RatedMatch], words: str) -> None:
    met = _met(matches)
    assert met.counts.evidence == words
    assert met.counts.is_mostly_repeated == ("different" in words)


def test_one_pair_that_repeats_another() -> None:
    assert say_pairs(1, 2) == "1 different pair in 2; the other one repeats an earlier one and counts once"


def test_counts_are_those_of_the_lower_bot() -> None:
    counts = _met(pairs(1, 0, [(1, 1), (1, 0.5), (0, 1)])).counts
    assert (counts.wins, counts.draws, counts.losses) == (1, 1, 4)
    assert (counts.moving_first, counts.moving_second) == ((0, 1, 2), (1, 0, 2))
    assert counts.ptnml == (1, 1, 1, 0, 0)
    assert (counts.num_unique, counts.num_openings) == (6, 3)


def test_looks_at_results_that_grow_share_one_level() -> None:
    assert look_level(1) == 0.05
    assert sum(look_level(look) for look in range(2, 2000)) < 0.025
    gap = Gap(40, 30, 3, 80, 0.99, look_level(3))
    assert say_gap(gap) == "40 Elo (99.6 %: 3 to 80)"


def test_no_gap_is_minus_zero() -> None:
    gap = Gap(0.0, 30.0, -40.0, 40.0, 0.5).reversed()
    assert str(gap.elo) == "0.0"
    assert Gap(12.0, 30.0, -20.0, 41.0, 0.75).reversed() == Gap(-12.0, 30.0, -41.0, 20.0, 0.25)
