"""Openings over random stores, compared with brute force, and the results of perfect play beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import ConfigError, NotFoundError
from arena.games.notation import format_moves
from arena.games.symmetry import canonical, leading, match_hash
from arena.live.opening_views import BestPlay, best_line, opening_lines
from arena.rating.shares import wilson
from arena.results.condition import Condition, read_condition
from arena.results.opening_statistics import find_best_play, find_openings, solve_moves
from arena_db.store import Store
from arena_plugins import load_game
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

    from arena.live.opening_views import OpeningsView
    from arena_db.records import MatchRecord, StoredMatch
    from arena_plugins.contract import Game, State
    from stores import Cup

_GAMES = {"tic-tac-toe": 9, "connect-four": 7}
_OUTCOMES = ("first", "draw", "second")


class _World(NamedTuple):
    """A store of random matches, and their game."""

    store: Store
    game: Game
    matches: list[StoredMatch]


def _random_line(game: Game, rng: Random, most: int) -> tuple[int, ...]:
    """Play at random, often with the same first moves, so that many matches reach the same position."""
    state, actions = game.initial_state(), list[int]()
    while not state.is_terminal and len(actions) < most:
        few = state.legal_actions[:3] if rng.random() < 0.7 else state.legal_actions
        actions.append(rng.choice(few))
        state = state.child(actions[-1])
    if rng.random() < 0.3:
        symmetry = rng.choice(game.symmetries)
        actions = [symmetry.actions[action] for action in actions]
    return tuple(actions)


def _random_match(cup: Cup, number: int, game: Game, rng: Random) -> MatchRecord:
    actions = _random_line(game, rng, rng.randrange(1, 8))
    length = len(actions)
    return cup.match(
        number,
        actions=actions,
        num_opening=rng.randrange(min(3, length + 1)),
        times_ms=(0,) * length,
        values=(None,) * length,
        outcome=rng.choice(_OUTCOMES),
        match_hash=match_hash(game, actions),
        rated=rng.random() < 0.9,
    )


def _fill(path: Path, spec: str, rng: Random, num: int) -> _World:
    game = load_game(spec)
    store = Store.open(path, fast=True)
    cup = add_cup(store, "a", "b", "c", num=num, game=spec, num_actions=_GAMES[spec])
    records = [
        cup.void(number) if rng.random() < 0.05 else _random_match(cup, number, game, rng)
        for number in range(1, num + 1)
    ]
    store.matches.save(records)
    played = [match.id for match in store.matches.of_tournament(cup.record.id) if match.outcome != "void"]
    store.changes.void(rng.sample(played, 2), reason="a test", who="me@here")
    matches = [match for match in store.matches.of_tournament(cup.record.id) if match.outcome != "void"]
    return _World(store, game, matches)


def _after(game: Game, actions: tuple[int, ...]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def _step_key(game: Game, actions: tuple[int, ...], num: int) -> object:
    """Return a key of a move in a position, equal for symmetric ones: the least pair of boards."""
    boards = (_after(game, actions[:num]).cells, _after(game, actions[: num + 1]).cells)
    images: list[tuple[list[int], ...]] = []
    for symmetry in game.symmetries:
        image = tuple([0] * len(boards[0]) for _ in boards)
        for new, cells in zip(image, boards, strict=True):
            for cell, stone in enumerate(cells):
                new[symmetry.cells[cell]] = stone
        images.append(image)
    least = min(images)
    return tuple(map(tuple, least))


def _check(world: _World, line: tuple[int, ...], *, rated_only: bool) -> OpeningsView:
    """Compare with a scan of all matches, in which positions are equal if their canonical forms are."""
    game, num = world.game, len(line)
    here = _after(game, line)
    wanted = canonical(game, here).key
    reached = [
        match
        for match in world.matches
        if match.outcome != "void"
        and not match.void_reason
        and (match.rated or not rated_only)
        and len(match.actions) >= num
        and canonical(game, _after(game, match.actions[:num])).key == wanted
    ]
    found: defaultdict[object, list[StoredMatch]] = defaultdict(list)
    for match in reached:
        if len(match.actions) > num:
            found[_step_key(game, match.actions, num)].append(match)
    view = find_openings(
        world.store,
        Condition(),
        format_moves(game, line),
        rated_only=rated_only,
    )
    assert view.games == len(reached)
    assert view.transposed == sum(match.actions[:num] != line for match in reached)
    assert view.ended == sum(len(match.actions) == num for match in reached)
    assert [row.games for row in view.rows] == sorted((len(some) for some in found.values()), reverse=True)
    mine = ("first", "second")[here.current_player]
    for row in view.rows:
        some = found[_step_key(game, (*line, row.action), num)]
        outcomes = Counter(match.outcome for match in some)
        different = len({match.match_hash for match in some})
        score = (outcomes[mine] + outcomes["draw"] / 2) / len(some)
        low, high = wilson(score * different, different)
        assert (row.games, row.wins, row.draws) == (len(some), outcomes[mine], outcomes["draw"])
        assert row.losses == len(some) - row.wins - row.draws
        assert row.given == sum(match.num_opening > num for match in some)
        assert row.different == different
        assert row.score == pytest.approx(score, abs=1e-6)
        assert (100 * row.score_low, 100 * row.score_high) == pytest.approx((low, high), abs=1e-4)
        own = {game.parse_move(here, move) for move in (row.move, *row.twins)}
        key = _step_key(game, (*line, row.action), num)
        assert own == {
            action for action in here.legal_actions if _step_key(game, (*line, action), num) == key
        }
    return view


@pytest.mark.parametrize("spec", _GAMES)
@settings(max_examples=6, derandomize=True, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_openings_are_counts_by_brute_force(
    spec: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = Random(seed)  # noqa: S311 - play, no secrets
    world = _fill(tmp_path_factory.mktemp("openings") / "a.db", spec, rng, 40)
    with world.store:
        lines = [(), *(match.actions[:num] for match in world.matches for num in (1, 2, 3, 4))]
        for line in rng.sample(lines, 8):
            if not _after(world.game, line).is_terminal:
                _check(world, line, rated_only=rng.random() < 0.7)


def test_orders_and_mirror_images_of_a_line_are_counted_with_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", fast=True) as store:
        cup = add_cup(store, "a", "b", num=4)
        lines = ((3, 0, 2, 5), (2, 0, 3, 5), (3, 6, 4, 1), (3, 0, 2, 4))
        store.matches.save([cup.match(number, actions=line) for number, line in enumerate(lines, 1)])
        view = find_openings(store, Condition(), "4 1 3")
        assert (view.games, view.transposed, view.player) == (4, 2, 1)
        assert [(row.move, row.games) for row in view.rows] == [("6", 3), ("5", 1)]
        start = find_openings(store, Condition(), "")
        assert [(row.moves, row.games) for row in start.rows] == [("4", 3), ("3 (5)", 1)]
        assert (start.rows[0].wins, start.rows[0].score) == (3, 1.0)
        assert "2 of 4 came by other moves" in " ".join(opening_lines(view))


def test_conditions_choose_matches_and_the_title_says_so(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", fast=True) as store:
        cup = add_cup(store, "a", "b", "c", num=6)
        store.matches.save([cup.match(number) for number in range(1, 7)])
        view = find_openings(store, read_condition("bot:c ply<9"), "4 3")
        assert view.games == sum(2 in (match.first, match.second) for match in cup.plan)
        assert view.title == f"connect-four  4 3  {view.games} matches  of bot:c ply<9"
        none = find_openings(store, read_condition("ply>9"), "4 3")
        assert (none.games, none.rows) == (0, ())
        assert "no stored match continues from here" in opening_lines(none)


def test_what_cannot_be_answered_is_said(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", fast=True) as store:
        with pytest.raises(NotFoundError, match="no stored match"):
            find_openings(store, Condition(), "")
        cup = add_cup(store, "a", "b", num=2)
        store.matches.save([cup.match(1)])
        with pytest.raises(ConfigError, match='"9" is not a move of connect-four'):
            find_openings(store, Condition(), "4 9")


def test_it_stops_where_nobody_wants_the_answer(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", fast=True) as store:
        cup = add_cup(store, "a", "b", num=30)
        store.matches.save([cup.match(number) for number in range(1, 31)])
        pages = store.plays.begun_lines(Condition().to_filter(rated_only=True), 7, 1, page=10)
        assert [len(page) for page in pages] == [10, 10, 10]
        asked: list[int] = []

        def is_wanted() -> bool:
            asked.append(1)
            return False

        find_openings(store, Condition(), "", is_wanted=is_wanted)
        assert asked == [1]


def test_perfect_play_stands_beside_the_moves(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", fast=True) as store:
        cup = add_cup(store, "a", "b", num=3, game="tic-tac-toe", num_actions=9)
        # X has two corners; O has to reply between them.
        lines = ((0, 4, 2, 1), (0, 4, 2, 3), (0, 4, 2, 1))
        store.matches.save([cup.match(number, actions=line) for number, line in enumerate(lines, 1)])
        view = find_best_play(find_openings(store, Condition(), "a3 b2 c3"))
        assert {row.action: (row.perfect, row.verdict) for row in view.rows} == {
            1: (0, "draws"),
            3: (-1, "loses in 2"),
        }


def test_symmetries_lead_from_one_position_to_another() -> None:
    game = load_game("connect-four")
    left, right = _after(game, (0,)), _after(game, (6,))
    assert leading(game, left, right) == (1,)
    assert leading(game, left, left) == (0,)
    assert leading(game, game.initial_state(), game.initial_state()) == (0, 1)
    assert leading(game, left, game.initial_state()) == ()


def test_equal_boards_with_another_side_to_move_are_two_positions() -> None:
    game = load_game("connect-four")
    here = _after(game, (3,))
    there = cast("State", SimpleNamespace(cells=here.cells, current_player=1 - here.current_player))
    assert leading(game, here, there) == ()


def test_the_solver_judges_every_move_of_a_position() -> None:
    told: list[list[BestPlay]] = []
    found = solve_moves("tic-tac-toe", "a3 b2 c3", told.append)
    game = load_game("tic-tac-toe")
    state = _after(game, tuple(game.parse_move(game.initial_state(), move) for move in ("a3", "b2", "c3")))
    assert [best.action for best in found] == list(state.legal_actions)
    assert {best.move: best.perfect for best in found} == {
        game.move(state, action): _brute(state.child(action), state.current_player)
        for action in state.legal_actions
    }
    # The only move that does not lose blocks the row above; after the others X wins in two plies.
    assert {best.move: best.plies for best in found if best.perfect < 0} == {
        best.move: 2 for best in found if best.move != "b3"
    }
    assert solve_moves("tic-tac-toe", "a3 b2 b3 c2 c3", told.append) == []
    with pytest.raises(ConfigError, match="is not a line of tic-tac-toe"):
        solve_moves("tic-tac-toe", "a3 a3", told.append)
    with pytest.raises(ConfigError, match="no exact solver for gomoku"):
        solve_moves("gomoku", "", told.append)


def test_the_best_moves_are_named() -> None:
    def best(move: str, perfect: int, plies: int | None) -> BestPlay:
        return BestPlay(move=move, action=0, perfect=perfect, plies=plies)

    assert best_line([]) == ""
    assert best_line([best("a", 1, 9), best("b", 1, 7), best("c", 0, 4)]) == "best play: b wins in 7"
    assert best_line([best("a", -1, 2), best("b", -1, 8), best("c", -1, 8)]) == "best play: b c loses in 8"
    assert best_line([best("a", -1, 2), best("b", 0, 20)]) == "best play: b draws"


def test_a_long_search_tells_what_it_knows() -> None:
    told: list[list[BestPlay]] = []
    found = solve_moves("gomoku:k=4,size=5", "", told.append, nodes=20_000)
    assert len(found) < 25
    assert all(best in found for known in told for best in known if best.plies is not None)


def _brute(state: State, player: int) -> int:
    if state.is_terminal:
        return int(state.returns[player])
    values = [_brute(state.child(action), player) for action in state.legal_actions]
    return max(values) if state.current_player == player else min(values)
