"""Stores of random matches to export, some with claims, remarks and grades."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from arena.games.symmetry import match_hash
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter, Remark
from arena_db.remark_codec import pack_remarks
from arena_db.store import Store
from arena_plugins import game_spec, load_game
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

    from arena_db.records import MatchRecord, StoredMatch
    from arena_plugins import Game, State

OPENING = 2
"""Number of opening actions of each match."""
EVERYTHING = MatchFilter(rated_only=False)


class Played(NamedTuple):
    """A match as it was generated."""

    actions: tuple[int, ...]
    winner: int
    """1: the first player won, -1: the second, 0: a draw."""
    values: tuple[float | None, ...]
    remarks: tuple[Remark | None, ...]


def fill(path: Path, spec: str = "connect-four", num: int = 12, seed: int = 1, **changes: object) -> Game:
    """Store a finished tournament of random matches between three bots; return the game."""
    game = load_game(spec)
    rng = Random(seed)  # noqa: S311 - play, no secrets
    with Store.open(path) as store:
        cup = add_cup(store, num=num, game=game_spec(game), num_actions=game.num_actions, **changes)
        records: list[MatchRecord] = []
        for number in range(1, num + 1):
            played = play(game, rng)
            records.append(
                cup.match(
                    number,
                    outcome={1: "first", -1: "second", 0: "draw"}[played.winner],
                    actions=played.actions,
                    num_opening=OPENING,
                    times_ms=tuple(range(len(played.actions))),
                    values=played.values,
                    remarks=pack_remarks(played.remarks),
                    match_hash=match_hash(game, played.actions),
                )
            )
        store.matches.save(records)
    return game


def play(game: Game, rng: Random) -> Played:
    """Play at random; the bots report an evaluation in every other position after the opening."""
    state = game.initial_state()
    values: list[float | None] = []
    remarks: list[Remark | None] = []
    while not state.is_terminal:
        is_said = len(values) >= OPENING and rng.random() < 0.5
        values.append(round(rng.uniform(-1, 1), 3) if is_said else None)
        remarks.append(_remark(state, rng) if is_said else None)
        state = state.child(rng.choice(state.legal_actions))
    winner = 0 if state.returns[0] == state.returns[1] else 1 if state.returns[0] > 0 else -1
    return Played(state.history, winner, tuple(values), tuple(remarks))


def grade(store: Store, match: StoredMatch, values: list[float | None]) -> None:
    """Store the grades that a solver would have given."""
    plies = tuple(JudgedPly(value=value, loss=None) for value in values)
    store.analyses.add(JudgedMatch(match=match.id, name="solver", plies=plies, made_at=0.0))


def states_of(game: Game, actions: tuple[int, ...]) -> list[State]:
    """Return the positions in which an action followed."""
    states = [game.initial_state()]
    for action in actions[:-1]:
        states.append(states[-1].child(action))
    return states


def _remark(state: State, rng: Random) -> Remark:
    shares = [rng.random() + 0.01 for _ in state.legal_actions]
    policy = tuple((a, share / sum(shares)) for a, share in zip(state.legal_actions, shares, strict=True))
    if rng.random() < 0.5:
        return Remark(policy=policy)
    return Remark(visits=tuple((action, round(100 * share) + 1) for action, share in policy))
