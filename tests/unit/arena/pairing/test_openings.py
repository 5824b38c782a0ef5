"""Opening plans and the resulting lists: defaults, order, length, warnings.

The lists of drawn openings: complete in number, well formed, consistent with search and each other.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.games.solver.book import shipped_book
from arena.games.symmetry import canonical
from arena.pairing.openings import (
    SHIPPED_PLIES,
    OpeningPlan,
    drawn_openings,
    drawn_path,
    enumerate_positions,
    is_shipped,
    longest_list,
    make_openings,
)
from arena.pairing.sampling import sample_openings
from arena.pairing.solve import is_decided
from arena_plugins import State, load_game
from connect_four_book import drawn_text

if TYPE_CHECKING:
    from pathlib import Path

SIX = "gomoku:size=6,k=4"
GAMES = {spec: load_game(spec) for spec in ("tic-tac-toe", "connect-four", SIX, "gomoku")}

plans = st.one_of(
    st.just(OpeningPlan(kind="none")),
    st.text('ab/\\:,=" .').map(str.strip).filter(bool).map(lambda path: OpeningPlan("file", path)),
    st.builds(
        OpeningPlan,
        kind=st.just("auto"),
        path=st.just(""),
        plies=st.none() | st.integers(1, 100),
        balance=st.sampled_from(["auto", "undecided", "drawn"]),
        order=st.sampled_from(["random", "sequential"]),
        start=st.integers(1, 1000),
    ),
)


def listed(spec: str, plan: str, seed: int = 1, wanted: int = 10_000) -> list[tuple[int, ...]]:
    return make_openings(GAMES[spec], OpeningPlan.parse(plan), seed=seed, wanted=wanted).openings


def after(spec: str, actions: tuple[int, ...]) -> State:
    state = GAMES[spec].initial_state()
    for action in actions:
        state = state.child(action)
    return state


@given(plans)
def test_plans_survive_printing(plan: OpeningPlan) -> None:
    assert OpeningPlan.parse(str(plan)) == plan


def test_the_text_of_a_plan_leaves_defaults_out() -> None:
    assert str(OpeningPlan.parse("auto:start=1,order=random,balance=auto")) == "auto"
    text = "auto:plies=4,balance=drawn,order=sequential,start=3"
    assert str(OpeningPlan.parse(text)) == "auto:balance=drawn,order=sequential,plies=4,start=3"
    assert OpeningPlan.parse("file:my book, v=2.txt").path == "my book, v=2.txt"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "are not auto"),
        ("book.txt", "are not auto"),
        ("file:", "are not auto"),
        ("none:plies=2", "are not auto"),
        ("auto:", 'has a ":" but no option'),
        ("auto:plies=0", "plies=0 is not a whole number from 1"),
        ("auto:start=x", "start=x"),
        ("auto:balance=draw", 'did you mean "drawn"'),
        ("auto:order=shuffled", "random, sequential"),
        ("auto:plys=4", 'has no option "plys"; did you mean "plies"'),
    ],
)
def test_refuses_what_is_no_plan(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        OpeningPlan.parse(text)


@pytest.mark.parametrize(
    ("spec", "plan", "number", "plies"),
    [
        ("tic-tac-toe", "auto", 12, 2),
        ("tic-tac-toe", "auto:plies=4", 21, 4),
        ("tic-tac-toe", "auto:balance=drawn", 5, 2),
        ("connect-four", "auto", 101, 4),
        ("connect-four", "auto:balance=undecided", 528, 4),
        ("connect-four", "auto:plies=2", 6, 2),
        ("connect-four", "auto:plies=3", 121, 3),
        ("connect-four", "auto:plies=6", 972, 6),
        (SIX, "auto", 165, 2),
    ],
)
def test_number_and_length_of_the_openings(spec: str, plan: str, number: int, plies: int) -> None:
    openings = listed(spec, plan)
    assert len(openings) == len(set(openings)) == number
    assert {len(opening) for opening in openings} == {plies}


def test_none_is_the_initial_state() -> None:
    found = make_openings(GAMES["connect-four"], OpeningPlan.parse("none"), seed=1, wanted=50)
    assert found == ([()], [])


@settings(max_examples=30, deadline=None)
@given(
    spec=st.sampled_from(["tic-tac-toe", "connect-four", SIX, "gomoku"]),
    start=st.integers(1, 12),
    seed=st.integers(0, 2**63 - 1),
    few=st.integers(1, 6),
    more=st.integers(0, 30),
)
def test_asking_for_more_only_appends(spec: str, start: int, seed: int, few: int, more: int) -> None:
    plan = f"auto:start={start}"
    assert listed(spec, plan, seed, few + more)[:few] == listed(spec, plan, seed, few)


def test_order() -> None:
    in_order = listed("connect-four", "auto:order=sequential")
    assert in_order == drawn_openings(GAMES["connect-four"], 4)
    assert listed("connect-four", "auto:order=sequential", seed=2) == in_order
    one, two = listed("connect-four", "auto", seed=1), listed("connect-four", "auto", seed=2)
    assert sorted(one) == sorted(two) == sorted(in_order)
    assert len({tuple(one), tuple(two), tuple(in_order)}) == 3
    undecided = listed("tic-tac-toe", "auto:order=sequential")
    assert undecided == [state.history for state in enumerate_positions(GAMES["tic-tac-toe"], 2)]


def test_a_seed_means_the_same_openings_for_ever() -> None:
    """Later releases must be able to enlarge stored tournaments."""
    assert listed("connect-four", "auto", seed=5, wanted=2) == [(0, 5, 5, 3), (2, 0, 0, 3)]
    assert listed("gomoku", "auto", seed=5, wanted=2) == [(110, 48, 99, 174), (70, 98, 81, 85)]


def test_start_turns_the_list() -> None:
    whole = listed("tic-tac-toe", "auto")
    assert listed("tic-tac-toe", "auto:start=12") == [*whole[11:], *whole[:11]]
    assert listed("tic-tac-toe", "auto:start=12", wanted=3) == [whole[11], *whole[:2]]
    assert listed("gomoku", "auto:start=3", wanted=2) == listed("gomoku", "auto", wanted=4)[2:]


@pytest.mark.parametrize("plan", ["auto:start=13", "auto:start=13,plies=2", "auto:plies=9"])
def test_a_plan_without_openings_is_refused(plan: str) -> None:
    with pytest.raises(ConfigError, match="use another plies= or a smaller start="):
        listed("tic-tac-toe", plan)


def test_too_few_openings_are_a_warning() -> None:
    game, plan = GAMES["tic-tac-toe"], OpeningPlan()
    assert make_openings(game, plan, seed=1, wanted=12).warnings == []
    assert make_openings(game, plan, seed=1, wanted=13).warnings == [
        "13 pairs share 12 openings: some are repeated"
    ]


def test_a_game_without_openings_starts_from_its_initial_state() -> None:
    found = make_openings(load_game("gomoku:size=2,k=2"), OpeningPlan(), seed=1, wanted=5)
    assert found.openings == [()]
    assert found.warnings == ["no opening fits gomoku:k=2,size=2; all matches start from the initial state"]


def test_a_short_game_has_fewer_plies() -> None:
    found = make_openings(load_game("connect-four:rows=2,cols=2,k=2"), OpeningPlan(), seed=1, wanted=5)
    assert {len(opening) for opening in found.openings} <= {0, 1}
    longer = make_openings(load_game("gomoku:size=3,k=3"), OpeningPlan(), seed=1, wanted=5)
    assert {len(opening) for opening in longer.openings} == {4}


@pytest.mark.parametrize(
    ("spec", "plan", "plies"), [("gomoku", "auto", 4), ("connect-four", "auto:plies=8", 8)]
)
def test_samples_are_undecided_and_no_two_symmetric(spec: str, plan: str, plies: int) -> None:
    game = GAMES[spec]
    openings = listed(spec, plan, wanted=40)
    states = [after(spec, actions) for actions in openings]
    assert len({canonical(game, state).key for state in states}) == 40
    assert {len(opening) for opening in openings} == {plies}
    assert not any(is_decided(game, state) for state in states)
    assert listed(spec, plan, seed=2, wanted=40) != openings


def test_samples_end_once_every_class_of_symmetric_positions_was_drawn() -> None:
    """The first stone in tic-tac-toe is in the middle, in a corner or beside a corner."""
    classes = {4: "middle"} | dict.fromkeys((0, 2, 6, 8), "corner") | dict.fromkeys((1, 3, 5, 7), "side")
    drawn = islice(sample_openings(GAMES["tic-tac-toe"], 1, seed=7), 9)
    assert sorted(classes[action] for (action,) in drawn) == ["corner", "middle", "side"]


def test_gomoku_samples_keep_near_the_centre() -> None:
    cells = {cell for opening in listed("gomoku", "auto", wanted=200) for cell in opening}
    rows, columns = {cell // 15 for cell in cells}, {cell % 15 for cell in cells}
    assert rows == columns == set(range(3, 12))


def test_sampling_ends_where_openings_run_out() -> None:
    """No sequence of 11 plies avoids two in a row, but there are too many sequences to list."""
    game = load_game("connect-four:rows=3,cols=4,k=2")
    with pytest.raises(ConfigError, match="has 0 openings of 11 plies"):
        make_openings(game, OpeningPlan.parse("auto:plies=11"), seed=1, wanted=5)


def test_a_file_is_used_in_its_order(tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_text("44\n3\n4453\n", encoding="utf-8")
    plan = OpeningPlan.parse(f"file:{file}")
    found = make_openings(GAMES["connect-four"], plan, seed=1, wanted=2)
    assert found == ([(3, 3), (2,)], [])
    found = make_openings(GAMES["connect-four"], plan, seed=1, wanted=4)
    assert found == ([(3, 3), (2,), (3, 3, 4, 2)], ["4 pairs share 3 openings: some are repeated"])


@pytest.mark.parametrize(
    ("spec", "asked", "plan", "size"),
    [
        ("connect-four", "auto", "auto:plies=6", 972),
        ("connect-four", "auto:balance=drawn,start=9", "auto:balance=drawn,plies=6,start=9", 972),
        ("connect-four", "auto:plies=2", "auto:plies=2", 6),
        ("tic-tac-toe", "auto", "auto:plies=3", 29),
        ("tic-tac-toe", "none", "none", 1),
    ],
)
def test_the_longest_list(spec: str, asked: str, plan: str, size: int) -> None:
    found, openings = longest_list(GAMES[spec], OpeningPlan.parse(asked), seed=3, most=2000)
    assert (str(found), len(openings)) == (plan, size)
    assert openings == listed(spec, plan, 3)


def test_the_longest_list_is_of_the_fewest_plies_that_are_enough() -> None:
    found, openings = longest_list(
        GAMES["connect-four"], OpeningPlan.parse("auto:balance=undecided"), seed=3, most=60
    )
    assert (found.plies, len(openings)) == (4, 60)
    found, openings = longest_list(
        GAMES["connect-four"], OpeningPlan.parse("auto:balance=undecided"), seed=3, most=800
    )
    assert (found.plies, len(openings)) == (5, 800)
    assert len(set(openings)) == 800


CONNECT_FOUR = load_game("connect-four")


@pytest.mark.parametrize(
    ("spec", "plies", "number"),
    [
        ("connect-four", 2, 6),
        ("connect-four", 4, 101),
        ("connect-four", 6, 972),
        ("tic-tac-toe", 2, 5),
        ("tic-tac-toe", 4, 18),
        ("tic-tac-toe", 9, 0),
    ],
)
def test_number_of_draws(spec: str, plies: int, number: int) -> None:
    assert len(drawn_openings(load_game(spec), plies)) == number


def shipped_states(plies: int) -> list[State]:
    drawn = set(drawn_openings(CONNECT_FOUR, plies))
    return [state for state in enumerate_positions(CONNECT_FOUR, plies) if state.history in drawn]


@pytest.mark.parametrize("plies", [2, 4, 6])
def test_shipped_openings_are_undecided_least_and_in_canonical_order(plies: int) -> None:
    states = shipped_states(plies)
    assert [state.history for state in states] == drawn_openings(CONNECT_FOUR, plies)
    assert not any(is_decided(CONNECT_FOUR, state) for state in states)


@pytest.mark.parametrize("plies", [2, 4])
def test_a_draw_leads_to_a_draw_two_plies_later(plies: int) -> None:
    deeper = {canonical(CONNECT_FOUR, state).key for state in shipped_states(plies + 2)}
    for state in shipped_states(plies):
        assert any(
            canonical(CONNECT_FOUR, state.child(action).child(reply)).key in deeper
            for action in state.legal_actions
            for reply in state.child(action).legal_actions
        )


def test_shipped_openings_agree_with_the_values_of_the_first_move() -> None:
    """The middle column wins, the ones beside it draw (Allis 1988), so no reply to the middle draws."""
    first_columns = {actions[0] for actions in drawn_openings(CONNECT_FOUR, 2)}
    assert 3 not in first_columns
    assert 2 in first_columns


def test_the_shipped_lists_are_those_of_the_opening_book() -> None:
    book = shipped_book()
    assert book.plies >= 4
    for plies in (plies for plies in SHIPPED_PLIES if plies <= book.plies):
        assert drawn_path(plies).read_text("ascii") == drawn_text(book, plies)


@pytest.mark.parametrize(
    ("spec", "plies"), [("connect-four", 3), ("connect-four:cols=8", 4), ("gomoku:size=6,k=4", 2)]
)
def test_unknown_draws_are_refused_with_a_way_out(spec: str, plies: int) -> None:
    game = load_game(spec)
    assert not is_shipped(game, plies)
    with pytest.raises(
        ConfigError, match=f"after {plies} plies, only for connect-four after 2, 4, 6 and for"
    ):
        drawn_openings(game, plies)
