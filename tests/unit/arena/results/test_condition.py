"""One filter language: text, options, form and URL mean the same, and the store supports all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ArenaError, ConfigError
from arena.live.views import MatchView, SeatView
from arena.results.condition import (
    BOARD_WORDS,
    TABLE_WORDS,
    WORDS,
    Condition,
    read_condition,
    read_pairs,
    word,
)
from arena_db.records import MatchFilter, OpeningFilter
from arena_db.store import Store
from stores import START, add_cup

if TYPE_CHECKING:
    from pathlib import Path

DAY = 1769817600.0
"""2026-01-31, UTC."""
MEANINGS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("bot:az vs:mcts*", {"bot": "az", "vs": "mcts*"}),
    ("result:1-0", {"outcome": "first"}),
    ("result:0-1", {"outcome": "second"}),
    ("result:1/2", {"outcome": "draw"}),
    ("result:1/2-1/2", {"outcome": "draw"}),
    ("result:void", {"outcome": "void"}),
    ("end:time*", {"termination": "time*"}),
    ("ply<20 ply>=3", {"plies": (("<", 20), (">=", 3))}),
    ("ply:7", {"plies": (("=", 7),)}),
    ("ply=7", {"plies": (("=", 7),)}),
    ("date>=2026-01-31", {"since": DAY}),
    ("date>2026-01-31", {"since": DAY + 86_400}),
    ("date<2026-01-31", {"until": DAY}),
    ("date<=2026-01-31", {"until": DAY + 86_400}),
    ("date:2026-01-31", {"since": DAY, "until": DAY + 86_400}),
    ("date:2026-01-31T12:00", {"since": DAY + 43_200, "until": DAY + 43_260}),
    ("date>2026-01-31T12:00:30", {"since": DAY + 43_231}),
    ("date:2026-01-31T12", {"since": DAY + 43_200, "until": DAY + 46_800}),
    ("date:20260131T1200", {"since": DAY + 43_200, "until": DAY + 43_260}),
    ("date>20260131T120030", {"since": DAY + 43_231}),
    ("date>2026-01-31T12:00:30.5Z", {"since": DAY + 43_230.6}),
    ("date<=2026-01-31T12:00:30.25", {"until": DAY + 43_230.26}),
    ("date:2026-W05", {"since": DAY - 5 * 86_400, "until": DAY + 2 * 86_400}),
    ("date:2026-W05-6", {"since": DAY, "until": DAY + 86_400}),
    ("date:2026-W05-6T12", {"since": DAY + 43_200, "until": DAY + 46_800}),
    ("date<2026-01-31T12:00+02:00", {"until": DAY + 36_000}),
    ("date<=2026-01-31T12:00Z", {"until": DAY + 43_260}),
    ("date>2026-01-31 date>2026-01-30 date<2026-02-01", {"since": DAY + 86_400, "until": DAY + 86_400}),
    ("duration>10", {"durations": ((">", 10_000),)}),
    ("duration<=2m duration>0.5s", {"durations": (("<=", 120_000), (">", 500))}),
    ("duration<500ms duration>1h", {"durations": (("<", 500), (">", 3_600_000))}),
    ("mistakes>2", {"mistakes": ((">", 2),)}),
    ("graded:yes", {"is_graded": True}),
    ("graded:no", {"is_graded": False}),
    ("graded:sol*", {"judge": "sol*"}),
    ("tournament:rr-1", {"tournament": "rr-1"}),
    ("game:gomoku:size=15", {"game": "gomoku"}),
    ("game:*-toe", {"game": "*-toe"}),
    ("pool:'5/move hosted'", {"pool": "5/move hosted"}),
    ("tc:10+0.1", {"limit": "10+0.1"}),
    ("tc:1:30+1 nodes:50", {"limit": "90+1 50 nodes"}),
    ("tc:5/move", {"limit": "5/move"}),
    ("tc:'5/move hosted'", {"limit": "5/move", "pool": "5/move hosted"}),
    ("tc:inf", {"limit": "60/move"}),
    ("tc:6*", {"limit": "6*"}),
    ("st:2.50", {"limit": "2.5/move"}),
    ("st:2 nodes:9", {"limit": "2/move 9 nodes"}),
    ("nodes:9", {"limit": "9 nodes"}),
    ("tier:T1", {"tier": "T1"}),
    ("tier>=T1", {"min_tier": "T1"}),
    ("machine:pc*", {"machine": "pc*"}),
    (
        "opening:'d c' game:connect-four",
        {"game": "connect-four", "openings": (OpeningFilter("connect-four", 7, (3, 2)),)},
    ),
    (
        "opening:b2* game:tic-tac-toe",
        {"game": "tic-tac-toe", "openings": (OpeningFilter("tic-tac-toe", 9, (4,), is_beginning=True),)},
    ),
    (
        "opening:none game:gomoku",
        {"game": "gomoku", "openings": (OpeningFilter("gomoku", 225, ()),)},
    ),
]
WRONG = [
    ("az", 'no filter "az"'),
    ("bot:", "bot has no value; write bot:VALUE"),
    ("ply", "ply has no value; write ply<VALUE"),
    ("bto:x", 'no filter "bto"; did you mean "bot"?'),
    ("colour:red", r'no filter "colour" \(there are bot: vs: result: end: ply< opening: date< duration<'),
    ("ply<x", "ply: x is not a whole number"),
    ("ply<-1", "ply: -1 is not a whole number"),
    ("bot<3", "bot takes :, not <"),
    ("result:2-0", r"no result 2-0 \(there are 1-0, 0-1, 1/2, void\)"),
    ("end:rulez", 'did you mean "rules"?'),
    ("tier>T1", "tier takes : or >=, not >"),
    ("tier:T9", "T9 is not one of T0, T1, T2, T3"),
    ("date>soon", "soon is not a time"),
    ("duration:1d", "1d is not a duration"),
    ("bot:a bot:b", 'bot: "a" and "b" exclude each other'),
    ("tc:60 st:3", "exclude each other"),
    ("nodes:x", "nodes x is not a whole number"),
    ("st:x", "st x is not a number"),
    ("tc:x", 'cannot read the time control "x"'),
    ('bot:"az', "unmatched quotation mark"),
]


@pytest.mark.parametrize(("text", "changes"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_what_a_condition_asks_the_store_for(text: str, changes: dict[str, Any]) -> None:
    condition = read_condition(text)
    assert condition.to_filter() == replace(MatchFilter(rated_only=False), **changes)
    assert condition.to_filter(rated_only=True).rated_only
    assert read_condition(condition.text) == read_pairs(condition.pairs()) == condition
    assert condition.is_empty == (not text)


@pytest.mark.parametrize(("text", "why"), WRONG, ids=[text for text, _ in WRONG])
def test_what_means_nothing_is_named(text: str, why: str) -> None:
    with pytest.raises(ArenaError, match=why):
        read_condition(text)


_NAMES = st.text("ab c'\"*?[]:=<>@#$\\é", min_size=1).filter(str.strip)
_VALUES = {
    "result": st.sampled_from(["1-0", "0-1", "1/2", "draw", "void"]),
    "end": st.sampled_from(["rules", "time*", "cras?"]),
    "date": st.sampled_from(["2026-01-31", "2026-01-31T12:00", "2026-01-31 12:00:01"]),
    "duration": st.sampled_from(["1", "2.5s", "70ms"]),
    "tc": st.sampled_from(["10+0.1", "5/move", "40/60"]),
    "tier": st.sampled_from(["T0", ">=T2"]),
    "ply": st.integers(0, 999).map(str),
    "mistakes": st.integers(0, 999).map(str),
}


@st.composite
def _pairs(draw: st.DrawFn) -> list[tuple[str, str]]:
    names = draw(
        st.lists(st.sampled_from([name for name in WORDS if name not in {"st", "nodes"}]), unique=True)
    )
    pairs: list[tuple[str, str]] = []
    for name in names:
        for _ in range(draw(st.integers(1, 2)) if WORDS[name].is_repeated else 1):
            sign = draw(st.sampled_from(["", *WORDS[name].signs])) if WORDS[name].is_repeated else ""
            pairs.append((name, sign + draw(_VALUES.get(name, _NAMES))))
    return pairs


@given(pairs=_pairs())
def test_text_and_pairs_lose_nothing(pairs: list[tuple[str, str]]) -> None:
    condition = read_pairs(pairs)
    assert read_condition(condition.text) == condition
    assert read_pairs(condition.pairs()) == condition
    assert sorted(name for name, _ in condition.pairs()) == sorted(name for name, _ in pairs)


@pytest.mark.parametrize("name", ["a b", "it's", 'q"', "[x]", "mcts:playouts=9", "$HOME", "#7"])
def test_names_are_quoted(name: str) -> None:
    assert read_condition(word("bot", name)).bot == name


def test_a_table_and_the_wall_take_some_words() -> None:
    wanted = read_condition("bot:a tc:5/move date>2026-01-31")
    assert wanted.only(TABLE_WORDS, "a table") is wanted
    with pytest.raises(ConfigError, match="the wall cannot be filtered by date; there are bot, vs, result"):
        wanted.only(BOARD_WORDS, "the wall")
    for text in (
        "result:1-0",
        "end:rules",
        "ply<9",
        "opening:none",
        "duration>1",
        "mistakes>1",
        "graded:yes",
    ):
        with pytest.raises(ConfigError, match="cannot be filtered by"):
            read_condition(text).only(TABLE_WORDS, "a table")


def _board(first: str, second: str, **changes: str) -> MatchView:
    seats = (SeatView(name=first, label=f"{first[0]}1"), SeatView(name=second, label=f"{second[0]}2"))
    plain = MatchView(number=1, game="gomoku", seats=seats, actions=(0,) * 7)
    return msgspec.structs.replace(plain, **changes)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("", True),
        ("bot:mcts", True),
        ("bot:mcts:playouts=9", True),
        ("bot:mcts@1.0:p=1", False),
        ("bot:m1", True),
        ("bot:m* vs:random", True),
        ("bot:random vs:random", False),
        ("bot:random vs:mcts", True),
        ("bot:mct", False),
        ("bot:[m]cts", False),
        ("bot:mct?", True),
        ("ply<8 ply>=7", True),
        ("ply<7", False),
        ("game:gom*", True),
        ("game:tic*", False),
        ("end:rules", False),
        ("result:1-0", False),
    ],
)
def test_boards(text: str, *, fits: bool) -> None:
    assert read_condition(text).fits_board(_board("mcts:playouts=9", "random")) == fits


def test_a_board_that_is_over_has_a_result() -> None:
    over = _board("mcts@1.0:p=1", "random", outcome="first", termination="rules")
    for text in ("end:rules", "end:r*", "result:1-0", "bot:mcts", "bot:mcts@1.0"):
        assert read_condition(text).fits_board(over)
    assert not read_condition("result:0-1").fits_board(over)
    assert not read_condition("end:crash").fits_board(over)


def test_an_opening_is_one_of_the_games_of_the_store(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a", "b")
        store.matches.save(
            [
                cup.match(1, actions=(3, 2, 3, 3), num_opening=2, started_at=START),
                cup.match(2, actions=(3, 2, 3, 3), num_opening=0),
                cup.match(3, actions=(3, 2, 3, 3), num_opening=3),
            ]
        )
        numbers = {
            text: [match.number for match in store.matches.newest(read_condition(text).to_filter(store))]
            for text in ("opening:dc", "opening:'d c'", "opening:d*", "opening:none", "opening:dcd")
        }
        assert numbers == {
            "opening:dc": [1],
            "opening:'d c'": [1],
            "opening:d*": [3, 1],
            "opening:none": [2],
            "opening:dcd": [3],
        }
        with pytest.raises(ConfigError, match=r'no game can begin with "h8" \(connect-four: '):
            read_condition("opening:h8").to_filter(store)
        with pytest.raises(ConfigError, match=r"there is none"):
            read_condition("opening:h8 game:go*o").to_filter(store)
    with pytest.raises(ConfigError, match="name its game, too"):
        read_condition("opening:dc").to_filter()


def test_a_condition_starts_empty() -> None:
    assert read_condition("  ") == Condition()
    assert Condition().text == ""
