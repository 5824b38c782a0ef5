"""Matches are graded ply by ply: equal to brute force, by two judges, after kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from arena.errors import ArenaError, ConfigError
from arena.games.solver.find import solver_for
from arena.grading import BotJudge, SolverJudge, grade_match, make_judge
from arena.referee.seats import Answer
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.store import Store
from arena_plugins import load_game
from arena_plugins.errors import PluginError
from arena_plugins.thoughts import Thoughts
from brute_force import Known, truth, truths
from game_samples import seeded
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from arena.analysis import Ply
    from arena.grading import MatchJudge
    from arena_db.records import StoredMatch
    from arena_plugins import Game, State

NUM_MATCHES = 20
SMALL = ("gomoku:k=3,size=4", "connect-four:cols=4,rows=4")
HARD = (24, 0, 42, 6, 30, 1, 20, 2, 9, 11, 46, 48)
"""A match on 7x7 whose first plies the solver does not solve."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    with Store.open(tmp_path / "arena.db") as opened:
        yield opened


def add(store: Store, spec: str, actions: Sequence[int], *, num_opening: int = 0) -> StoredMatch:
    length, name = len(actions), f"cup-{len(store.tournaments.newest())}"
    cup = add_cup(store, name=name, game=spec, num_actions=load_game(spec).num_actions)
    changes: dict[str, Any] = {"times_ms": (5,) * length, "values": (None,) * length}
    store.matches.save([cup.match(1, actions=tuple(actions), num_opening=num_opening, **changes)])
    (match,) = store.matches.of_tournament(cup.record.id)
    return match


def random_match(spec: str, seed: int) -> tuple[int, ...]:
    rng, state = seeded(seed), load_game(spec).initial_state()
    while not state.is_terminal:
        state = state.child(rng.choice(state.legal_actions))
    return state.history


def states_before(match: StoredMatch) -> list[State]:
    states = [load_game(match.game).initial_state()]
    for action in match.actions:
        states.append(states[-1].child(action))
    return states


def graded(store: Store, match: StoredMatch, judge: MatchJudge | None = None) -> JudgedMatch:
    told: list[int] = []
    analysis = grade_match(
        store, match, judge or SolverJudge(None), keep=True, tell=lambda _, ply: told.append(ply.ply)
    )
    assert told == sorted(told, reverse=True), "from the end"
    assert store.analyses.of([match.id], name=analysis.name)[match.id] == (analysis,), "what is stored"
    return analysis


def test_twenty_matches_with_known_mistakes_are_judged_as_brute_force_does(store: Store) -> None:
    known: Known = {}
    num = num_mistakes = 0
    for seed in range(1000):
        match_actions = random_match("tic-tac-toe", seed)
        states = [load_game("tic-tac-toe").initial_state()]
        for action in match_actions:
            states.append(states[-1].child(action))
        losses = [
            truth(states[ply], known).outcome - truths(states[ply], known)[action].outcome
            for ply, action in enumerate(match_actions)
        ]
        if not any(losses):
            continue
        analysis = graded(store, add(store, "tic-tac-toe", match_actions))
        assert [ply.loss for ply in analysis.plies] == losses
        for ply, state in zip(analysis.plies, states, strict=False):
            expected = truths(state, known)
            assert {(each.action, each.value, each.distance) for each in ply.scores} == {
                (action, *worth) for action, worth in expected.items()
            }
            assert set(ply.best) == {a for a, worth in expected.items() if worth == truth(state, known)}
            assert ply.value == truth(state, known).outcome
            check_line(state, ply.line, known)
        num, num_mistakes = num + 1, num_mistakes + sum(map(bool, losses))
        if num == NUM_MATCHES:
            break
    assert num == NUM_MATCHES
    assert num_mistakes > NUM_MATCHES


def check_line(state: State, line: tuple[int, ...], known: Known) -> None:
    """Assert that a line goes to the end or for 8 actions, and that no move in it gives anything away."""
    distance = truth(state, known).distance
    assert len(line) == min(8, distance)
    for action in line:
        assert truths(state, known)[action] == truth(state, known)
        state = state.child(action)


@pytest.mark.parametrize("spec", SMALL)
def test_scores_are_those_of_a_solver_that_is_asked_alone(store: Store, spec: str) -> None:
    solver = solver_for(load_game(spec))
    assert solver is not None
    match = add(store, spec, random_match(spec, 5))
    for ply, state in zip(graded(store, match).plies, states_before(match), strict=False):
        expected = solver.solve(state)
        assert {each.action: (each.value, each.distance) for each in ply.scores} == dict(expected.actions)
        assert (ply.value, ply.best) == (expected.worth.outcome, expected.best)


class Interrupted(SolverJudge):
    """A judge that is interrupted after some plies, as by Ctrl-C; counts the judged plies."""

    def __init__(self, most: int) -> None:
        super().__init__(None)
        self.most = most
        self.judged: list[int] = []

    def plies(self, game: Game, actions: Sequence[int], known: Mapping[int, JudgedPly]) -> Iterator[Ply]:
        for ply in super().plies(game, actions, known):
            if len(self.judged) == self.most:
                raise KeyboardInterrupt
            self.judged.append(ply.ply)
            yield ply


def test_an_interrupted_grading_goes_on_with_the_rest(store: Store) -> None:
    match = add(store, "tic-tac-toe", random_match("tic-tac-toe", 3))
    num = len(match.actions)
    whole = graded(store, add(store, "tic-tac-toe", match.actions))
    for most in (1, 2, num - 4):
        judge = Interrupted(most)
        before = store.analyses.of([match.id]).get(match.id, ())
        done = sum(ply.is_judged for ply in before[0].plies) if before else 0
        with pytest.raises(KeyboardInterrupt):
            graded(store, match, judge)
        (partial,) = store.analyses.of([match.id])[match.id]
        assert judge.judged == list(range(num - done))[::-1][:most], "nothing twice"
        assert [ply.is_judged for ply in partial.plies] == [False] * (num - done - most) + [True] * (
            done + most
        )
    assert not partial.is_complete
    assert store.integrity.check() == []
    assert graded(store, match).plies == whole.plies
    again = Interrupted(num)
    graded(store, match, again)
    assert again.judged == [], "it is complete"


def test_what_was_not_solved_is_tried_again_with_more(store: Store) -> None:
    match = add(store, "gomoku:k=4,size=7", HARD)
    first = graded(store, match, SolverJudge(100))
    unknown = [ply for ply, said in enumerate(first.plies) if said.value is None]
    assert unknown
    assert first.is_complete, "it was looked at, and is not known"
    told: list[int] = []
    grade_match(store, match, SolverJudge(200), keep=False, tell=lambda _, ply: told.append(ply.ply))
    assert told == unknown[::-1]
    assert store.analyses.of([match.id])[match.id] == (first,), "nothing was kept"


def test_gradings_of_older_versions_are_completed(store: Store) -> None:
    match = add(store, "tic-tac-toe", random_match("tic-tac-toe", 3))
    whole = graded(store, match)
    plies = tuple(JudgedPly(value=ply.value, loss=ply.loss, best=ply.best) for ply in whole.plies)
    store.analyses.add(replace(whole, plies=plies))
    assert graded(store, match).plies == whole.plies


def minimax(game: str, options: str = "depth=9") -> BotJudge:
    judge = make_judge(f"minimax:{options}", load_game(game), nodes=None, isolation="none", require_tier="T0")
    assert isinstance(judge, BotJudge)
    return judge


def test_a_bot_judges_what_it_would_play_and_what_it_expects(store: Store) -> None:
    """A bot that sees all of tic-tac-toe finds the same mistakes as the solver."""
    judge = minimax("tic-tac-toe")
    try:
        for seed in (0, 1, 2):
            match = add(store, "tic-tac-toe", random_match("tic-tac-toe", seed))
            exact, found = graded(store, match), graded(store, match, judge)
            assert found.name == "minimax:depth=9"
            assert found.identity == judge.identity != ""
            states = states_before(match)
            for ply, (said, sure) in enumerate(zip(found.plies, exact.plies, strict=True)):
                assert said.best[0] in states[ply].legal_actions
                assert (said.loss or 0) >= 0.5 if sure.loss else said.loss == pytest.approx(0, abs=0.49)
                assert {each.action for each in said.scores} == {said.best[0], match.actions[ply]}
                assert said.line[0] == said.best[0]
            assert {one.name for one in store.analyses.of([match.id])[match.id]} == {
                "solver",
                "minimax:depth=9",
            }
    finally:
        judge.close()


def answers(values: Mapping[int, tuple[int, float]]) -> BotJudge:
    """Return a judge whose moves and values are given by ply, in place of a real bot."""
    judge = minimax("tic-tac-toe")

    def ask(game: Game, state: State) -> Answer:  # noqa: ARG001 - as it is called
        action, value = values[len(state.history)]
        return Answer(action=action, elapsed_s=0.0, thoughts=Thoughts(value=value))

    judge._ask = ask  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # a bot of known opinions
    return judge


def test_what_a_bot_would_have_played_itself_loses_nothing(store: Store) -> None:
    # The bot rates the position after its own move worse, which is no mistake of this move.
    match = add(store, "tic-tac-toe", (4, 1))
    last, first = 1, 0
    found = graded(store, match, answers({0: (4, 0.5), 1: (0, 0.25), 2: (8, 0.75)})).plies
    assert found[first].loss == 0
    assert found[first].value == 0.5
    # Another move is worth what is expected after it: 0.75 for the opponent.
    assert found[last].loss == pytest.approx(0.25 + 0.75)


def test_a_winning_move_that_a_bot_did_not_see_is_worth_the_win(store: Store) -> None:
    match = add(store, "tic-tac-toe", (0, 3, 1, 4, 2))
    said = dict.fromkeys(range(5), (8, 0.0))
    last = graded(store, match, answers(said)).plies[4]
    assert {each.action: each.value for each in last.scores} == {2: 1.0, 8: 0.0}


def test_a_ply_after_which_the_match_was_cut_short_is_judged_by_one_more_question(store: Store) -> None:
    match = add(store, "tic-tac-toe", (4, 1, 0))
    judge = minimax("tic-tac-toe")
    try:
        last = graded(store, match, judge).plies[2]
    finally:
        judge.close()
    # The corner wins: a2 and c1 threaten at once.
    assert last.loss == pytest.approx(0, abs=0.49)
    assert {each.action: each.value for each in last.scores}[0] == pytest.approx(1, abs=0.49)


def test_another_version_of_the_bot_judges_everything_anew(store: Store) -> None:
    match = add(store, "tic-tac-toe", (4, 1, 0, 8))
    judge = minimax("tic-tac-toe", "depth=1")
    try:
        found = graded(store, match, judge)
        told: list[int] = []
        grade_match(store, match, judge, keep=True, tell=lambda _, ply: told.append(ply.ply))
        assert told == []
        judge.identity = "0" * 64
        grade_match(store, match, judge, keep=True, tell=lambda _, ply: told.append(ply.ply))
        assert told == [3, 2, 1, 0]
        assert store.analyses.of([match.id])[match.id][0].plies == found.plies
    finally:
        judge.close()


def test_who_cannot_judge() -> None:
    tic_tac_toe, gomoku = load_game("tic-tac-toe"), load_game("gomoku")
    wish: dict[str, Any] = {"isolation": "none", "require_tier": "T0"}
    with pytest.raises(ConfigError, match=r"installed are .*mcts, minimax, .*solver"):
        make_judge(None, gomoku, nodes=None, **wish)
    with pytest.raises(PluginError, match='did you mean "mcts"'):
        make_judge("mtcs", gomoku, nodes=None, **wish)
    with pytest.raises(ConfigError, match="both set a limit"):
        make_judge("mcts:nodes=5", gomoku, nodes=7, **wish)
    with pytest.raises(ConfigError, match="--nodes 0 is not a whole number from 1"):
        make_judge(None, tic_tac_toe, nodes=0, **wish)
    assert make_judge("mcts:playouts=7", gomoku, nodes=7, **wish).name == "mcts:nodes=7,playouts=7"
    silent = make_judge("random", tic_tac_toe, nodes=None, **wish)
    try:
        with pytest.raises(ArenaError, match="random cannot judge: it reports no values"):
            list(silent.plies(tic_tac_toe, (4, 1), {}))
    finally:
        silent.close()


def test_a_killed_command_loses_no_ply_it_stored(tmp_path: Path, store: Store) -> None:
    match = add(store, "gomoku:k=4,size=7", HARD)
    command = [sys.executable, "-P", "-m", "arena", "grade", str(match.id), "--format", "ndjson"]
    with subprocess.Popen(  # noqa: S603 # this program, and words as a list
        [*command, "--db", str(tmp_path / "arena.db")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        niceness = os.getpriority(os.PRIO_PROCESS, process.pid)
        process.send_signal(signal.SIGKILL)
    assert niceness >= 10
    assert [line["ply"] for line in lines] == [11, 10, 9]
    assert [line["done"] for line in lines] == [1, 2, 3]
    (partial,) = store.analyses.of([match.id])[match.id]
    judged = [ply for ply, said in enumerate(partial.plies) if said.is_judged]
    assert judged == list(range(judged[0], 12))
    assert store.integrity.check() == []
