"""The table of answers behind the opening book: consistent with the book, correct, and used by the solver."""

from __future__ import annotations

import hashlib
import json
import tomllib
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

import connect_four_answers
from arena.errors import ArenaError
from arena.games.k_in_a_row import KInARowState
from arena.games.solver._counters import BUDGET
from arena.games.solver._four import narrow
from arena.games.solver._layers import make_layers
from arena.games.solver._memory import new_memory
from arena.games.solver._ordering import shipped_order
from arena.games.solver._stones import landings
from arena.games.solver.book import shipped_book
from arena.games.solver.connect_four_solver import ConnectFourSolver
from arena.games.solver.stored_answers import SHIPPED, Answers, shipped_answers
from brute_force import random_states
from connect_four_answers import LEAST_NODES, search, shards
from game_samples import make, seeded

if TYPE_CHECKING:
    from pathlib import Path

    from arena_plugins.contract import State

GAME = make("connect-four")
FACTS = tomllib.loads(SHIPPED.with_suffix(".answers.provenance.toml").read_text("utf-8"))


def position(state: State) -> tuple[int, int]:
    """Return the stones of the side to move, and all stones."""
    assert isinstance(state, KInARowState)
    return state.own, state.own | state.opp


def mirror(state: State) -> State:
    image = GAME.initial_state()
    for action in state.history:
        image = image.child(6 - action)
    return image


def test_a_table_survives_the_file_and_knows_mirror_images(tmp_path: Path) -> None:
    states = random_states(GAME, seeded(1), 50, 9)
    # A position and its mirror image may both be drawn from the table.
    keys = {min(sum(position(state)), sum(position(mirror(state)))): state for state in states}
    upright = {key: state if sum(position(state)) == key else mirror(state) for key, state in keys.items()}
    Answers.of([(key, key % 40 - 20, key % 7) for key in keys]).write(tmp_path / "answers")
    table = Answers.read(tmp_path / "answers")
    assert len(table) == len(keys)
    for key, state in upright.items():
        assert table.find(*position(state)) == (key % 40 - 20, key % 7)
        if sum(position(mirror(state))) != key:
            assert table.find(*position(mirror(state))) == (key % 40 - 20, 6 - key % 7)
    for state in random_states(GAME, seeded(2), 20, 12):
        assert table.find(*position(state)) is None


def test_an_empty_table_knows_nothing(tmp_path: Path) -> None:
    Answers.of([]).write(tmp_path / "answers")
    assert Answers.read(tmp_path / "answers").find(0, 0) is None


@pytest.mark.parametrize("content", [b"", b"answers", zlib.compress(bytes(7))])
def test_a_damaged_table_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "answers"
    path.write_bytes(content)
    with pytest.raises(ArenaError, match=r"is not a table of answers.*install the package again"):
        Answers.read(path)


def test_the_provenance_is_that_of_the_file() -> None:
    assert FACTS["sha256"] == hashlib.sha256(SHIPPED.read_bytes()).hexdigest()
    assert FACTS["answers"] == len(shipped_answers()) > 0
    assert SHIPPED.stat().st_size < 1_000_000
    for ply in connect_four_answers.PLIES[:2]:
        assert FACTS[f"positions_ply_{ply}"] == len(make_layers(ply)[-1].keys)


def test_every_answer_agrees_with_the_book() -> None:
    """At ply 8 the book has the score of the position; it also bounds the position after the action."""
    book, table, layer = shipped_book(), shipped_answers(), make_layers(8)[-1]
    places = np.searchsorted(layer.keys, table.keys)
    checked = 0
    for place, key in zip(places.tolist(), table.keys.tolist(), strict=True):
        if place == len(layer.keys) or layer.keys[place] != key:
            continue
        own, mask = int(layer.own[place]), int(layer.mask[place])
        answer = table.find(own, mask)
        assert answer is not None
        assert answer.score == book.score(own, mask, 8)
        stone = landings(mask) & 63 << 7 * answer.action
        assert stone
        assert book.least(own ^ mask, mask | stone) <= -answer.score
        checked += 1
    assert checked > 0


def test_an_action_of_the_table_has_the_score_by_a_search_without_book() -> None:
    table, layer = shipped_answers(), make_layers(8)[-1]
    memory = new_memory(20, shipped_order())
    memory[BUDGET] = np.iinfo(np.int64).max
    known = np.flatnonzero(np.isin(layer.keys, table.keys))
    for place in known[:: max(1, len(known) // 2)][:2].tolist():
        own, mask = int(layer.own[place]), int(layer.mask[place])
        answer = table.find(own, mask)
        assert answer is not None
        stone = landings(mask) & 63 << 7 * answer.action
        # The search checks that the opponent's score is at most -answer.score; the book says that it is at
        # least that.
        window = np.array([-answer.score, 1 - answer.score], np.int64)
        assert narrow(memory, window, own ^ mask, mask | stone, True)  # noqa: FBT003 # kernels take no keywords
        assert window.tolist() == [-answer.score] * 2


def test_the_solver_answers_from_the_table_without_a_search() -> None:
    table, layer = shipped_answers(), make_layers(8)[-1]
    places = np.flatnonzero(np.isin(layer.keys, table.keys))
    with_table = ConnectFourSolver(GAME, shipped_book(), answers=table)
    without = ConnectFourSolver(GAME, shipped_book())
    needs_search: list[bool] = []
    for place in places[:: max(1, len(places) // 20)].tolist():
        own, mask = int(layer.own[place]), int(layer.mask[place])
        state = connect_four_answers.state_of(own, mask, 8)
        for image in (state, mirror(state)):
            answer = table.find(*position(image))
            assert answer is not None
            solved = with_table.solve(image, distances="best", nodes=0)
            assert solved.is_complete
            assert answer.action in solved.best
            assert connect_four_answers.score_of(solved.worth, 8) == answer.score
            without.clear()
            needs_search.append(not without.solve(image, distances="best", nodes=0).is_complete)
    # A forced move in the last column of the order is found without a search, its mirror image is not.
    assert sum(needs_search) >= 0.9 * len(needs_search)


def test_the_search_for_answers_finds_the_scores_of_the_book() -> None:
    book, layer = shipped_book(), make_layers(8)[-1]
    scores = [
        book.score(own, mask, 8) for own, mask in zip(layer.own.tolist(), layer.mask.tolist(), strict=True)
    ]
    # Far from a draw a search is short.
    places = [place for place, score in enumerate(scores) if score in {-7, 8}][::40]
    found = search(ConnectFourSolver(GAME, book), layer, places, 8)
    assert [each.key for each in found] == layer.keys[places].tolist()
    assert [each.score for each in found] == [scores[place] for place in places]
    assert len(found) > 3


def test_shards_hold_each_position_once_and_those_near_a_draw_first() -> None:
    book, layer = shipped_book(), make_layers(8)[-1]
    order = [place for shard in shards(8) for place in shard]
    assert sorted(order) == list(range(len(layer.keys)))
    first, last = (book.score(int(layer.own[at]), int(layer.mask[at]), 8) for at in (order[0], order[-1]))
    assert (first, last) == (1, -17)


def test_finished_shards_join_the_table_up_to_the_first_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect_four_answers, "SHIPPED", tmp_path / "connect-four.answers")
    begun, other = tmp_path / "begun", tmp_path / "other"
    for folder, number, positions in (
        (begun, 0, [[100, -3, 2, LEAST_NODES], [90, 4, 5, LEAST_NODES - 1]]),
        # A fresh checkout has the table of the first shard, but none of its files.
        (other, 1, [[80, 5, 6, LEAST_NODES]]),
        (other, 3, [[70, 1, 1, LEAST_NODES]]),
    ):
        folder.mkdir(exist_ok=True)
        shard = {"cpu_seconds": 4.0, "positions": positions}
        (folder / f"8-{number:05}.json").write_text(json.dumps(shard), "ascii")
    (begun / "8-00001.claim").write_text("1", "ascii")
    for folder, keys, searched in ((begun, [100], 100), (begun, [100], 100), (other, [80, 100], 200)):
        connect_four_answers.assemble(folder)
        table = Answers.read(tmp_path / "connect-four.answers")
        assert table.keys.tolist() == keys
        facts = tomllib.loads((tmp_path / "connect-four.answers.provenance.toml").read_text("utf-8"))
        assert (facts["searched_ply_8"], facts["searched_ply_9"]) == (searched, 0)
        assert (facts["answers"], facts["cpu_seconds"]) == (len(keys), searched // 25)
        assert connect_four_answers.num_searched(8) == searched
    assert table.to_dict() == {80: (5, 6), 100: (-3, 2)}


def test_what_the_table_was_made_from_is_not_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[list[int]] = []

    def note(_solver: object, _layer: object, places: list[int], _ply: int) -> None:
        searched.append(places)
        raise InterruptedError

    monkeypatch.setattr(connect_four_answers, "search", note)
    done = connect_four_answers.num_searched(8)
    with pytest.raises(InterruptedError):
        connect_four_answers.run(tmp_path, 8, float("inf"))
    assert done > 0
    assert searched == [shards(8)[done // connect_four_answers.SHARD]]
