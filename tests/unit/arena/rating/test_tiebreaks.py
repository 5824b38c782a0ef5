from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.rating.tiebreaks import Meeting, places, tie_breaks

POINTS = {"+": 1.0, "=": 0.5, "-": 0.0}


def _published(name: str) -> tuple[list[Meeting], list[list[float]]]:
    """Return the games of a published chess tournament, and the published figures of each player."""
    meetings: list[Meeting] = []
    players: list[list[float]] = []
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        kind, *words = line.split()
        if kind == "round":
            for one, other, sign in re.findall(r"(\d+)-(\d+)([-+=])", line):
                won = POINTS[sign]
                meetings.append(Meeting(int(one), int(other), won, 1 - won, int(won), int(1 - won)))
        elif kind == "player":
            players.append([float(word) for word in words])
    return meetings, players


def test_buchholz_of_a_published_swiss() -> None:
    meetings, players = _published("world-rapid-2024.txt")
    assert (len(meetings), len(players)) == (605, 110)
    found = tie_breaks(meetings, len(players))
    assert [[each.points, each.cut_one, each.buchholz] for each in found] == players


def test_sonneborn_berger_of_a_published_round_robin() -> None:
    meetings, players = _published("uz-chess-cup-2025.txt")
    found = tie_breaks(meetings, len(players))
    assert [[each.points, each.sonneborn_berger, each.wins] for each in found] == players
    # In a round robin all players have met.
    assert {each.buchholz + each.points for each in found} == {45.0}
    # The three winners against one another: the third beat both, the others drew.
    assert [each.direct for each in found[:3]] == [0.5, 0.5, 2.0]
    assert [each.direct for each in found[3:4]] == [None]
    assert places(found)[:3] == [2, 3, 1]


def test_a_bye_is_an_opponent_with_the_own_points() -> None:
    meetings = [Meeting(0, None, 2.0, 0.0, 0, 0), Meeting(0, 1, 0.5, 1.5, 0, 1)]
    first, second = tie_breaks(meetings, 2)
    assert (first.points, first.buchholz, first.cut_one, first.median) == (2.5, 4.0, 2.5, 0.0)
    assert first.sonneborn_berger == 2.0 * 2.5 + 0.5 * 1.5
    assert (first.wins, second.wins) == (0, 1)
    assert (second.buchholz, second.cut_one) == (2.5, 0.0)


def test_direct_encounter_needs_that_all_have_met() -> None:
    # All three have two points; 0 beat 1 and 1 beat 2, but 0 and 2 have not met.
    chain = [
        Meeting(0, 1, 2.0, 0.0, 2, 0),
        Meeting(1, 2, 2.0, 0.0, 2, 0),
        Meeting(2, 3, 2.0, 0.0, 2, 0),
    ]
    assert [each.direct for each in tie_breaks(chain, 4)] == [None] * 4
    closed = [*chain[:2], Meeting(2, 0, 2.0, 0.0, 2, 0)]
    assert [each.direct for each in tie_breaks(closed, 3)] == [2.0, 2.0, 2.0]


def test_who_has_not_played_is_last() -> None:
    found = tie_breaks([Meeting(2, 0, 1.5, 0.5, 1, 0)], 3)
    assert places(found) == [2, 3, 1]
    assert found[1].key == (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
    assert places(tie_breaks([], 3)) == [1, 1, 1]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2), st.integers(0, 2)), max_size=20
    )
)
def test_sums_agree_with_a_table_of_all_against_all(rows: list[tuple[int, int, int, int]]) -> None:
    """The reference uses only a list of opponents per bot, in plain loops."""
    meetings = [
        Meeting(one, other, won / 2, lost / 2, won // 2, lost // 2)
        for one, other, won, lost in rows
        if one != other
    ]
    found = tie_breaks(meetings, 6)
    points = [0.0] * 6
    opponents: list[list[int]] = [[] for _ in range(6)]
    taken: list[list[float]] = [[] for _ in range(6)]
    for one, other, won, lost, *_ in meetings:
        assert other is not None
        points[one] += won
        points[other] += lost
        opponents[one].append(other)
        opponents[other].append(one)
        taken[one].append(won)
        taken[other].append(lost)
    for bot, each in enumerate(found):
        theirs = sorted(points[other] for other in opponents[bot])
        assert each.points == points[bot]
        assert each.buchholz == sum(theirs)
        assert each.cut_one == sum(theirs) - (theirs[0] if theirs else 0)
        assert each.median == (sum(theirs) - theirs[0] - theirs[-1] if len(theirs) > 1 else 0)
        assert each.sonneborn_berger == sum(
            won * points[other] for won, other in zip(taken[bot], opponents[bot], strict=True)
        )
        level = [other for other in range(6) if points[other] == points[bot]]
        if each.direct is None:
            assert len(level) == 1 or any(
                other not in opponents[one] for one in level for other in level if one != other
            )
        else:
            assert each.direct == sum(
                won for won, other in zip(taken[bot], opponents[bot], strict=True) if other in level
            )


@pytest.mark.parametrize("place", range(7))
def test_each_tie_break_decides_when_those_before_are_equal(place: int) -> None:
    equal = tie_breaks([Meeting(0, 1, 0.5, 0.5, 0, 0)], 2)[0]
    names = ("points", "buchholz", "cut_one", "median", "sonneborn_berger", "direct", "wins")
    fields = {name: getattr(equal, name) for name in names}
    better = type(equal)(**{**fields, names[place]: fields[names[place]] + 1})
    # Later tie-breaks do not matter, however high they are.
    worse = type(equal)(**{**fields, **{name: fields[name] + 9 for name in names[place + 1 :]}})
    assert places([worse, better]) == [2, 1]
