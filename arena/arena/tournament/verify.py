"""Is a stored match what it claims to be? The rules replay it, and deterministic bots play it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena_plugins import Outcome, load_game

from arena.executor.worker import Control, play_job
from arena.tournament.plan import make_jobs, restore_plan

if TYPE_CHECKING:
    from arena_db.records import StoredMatch
    from arena_db.store import Store
    from arena_plugins import Game, State


class Finding(NamedTuple):
    """What a verification found."""

    agrees: bool
    text: str


def verify_match(store: Store, match: StoredMatch) -> Finding:
    """Replay a match by the rules, then let its bots play it again from the same seeds.

    Only actions of bots that declare themselves deterministic are compared, up to the first divergence.

    Raises:
        ConfigError: a bot is no longer the one that played.
    """
    game = load_game(match.game)
    broken = _replay(game, match)
    if broken:
        return Finding(agrees=False, text=f"match {match.id} contradicts the rules: {broken}")
    tournament = store.tournament(match.tournament_name)
    if tournament is None:
        return Finding(agrees=False, text=f"match {match.id} belongs to no tournament")
    plan = restore_plan(store, tournament)
    planned = [planned for planned in plan.matches if planned.number == match.number]
    control = Control(lambda _: None)
    try:
        again = play_job(make_jobs(tournament, plan, planned)[0], control)
        deterministic = control.seats.deterministic()
    finally:
        control.close()
    names = (match.first_label, match.second_label)
    for ply in range(match.num_opening, max(len(match.actions), len(again.actions))):
        if match.actions[ply : ply + 1] == again.actions[ply : ply + 1]:
            continue
        mover = names[_mover(game, match.actions[:ply])]
        if deterministic.get(mover):
            stored = _move(game, match.actions, ply)
            return Finding(
                agrees=False,
                text=f"match {match.id} diverges at ply {ply + 1}: {mover} played {stored}, now {_move(game, again.actions, ply)}",
            )
        return Finding(
            agrees=True,
            text=f"match {match.id} keeps the rules; it is the same up to ply {ply}, where {mover}, "
            "which is not deterministic, plays another move",
        )
    return Finding(agrees=True, text=f"match {match.id} keeps the rules, and its bots play it again move by move")


def _replay(game: Game, match: StoredMatch) -> str:
    state = game.initial_state()
    for ply, action in enumerate(match.actions):
        if action not in state.legal_actions:
            return f"action {action} at ply {ply + 1} is not legal"
        state = state.child(action)
    if match.termination != "rules":
        return ""
    if not state.is_terminal:
        return "it is not over at its end"
    first, _ = state.returns
    outcome = Outcome.DRAW if first == 0 else Outcome.FIRST if first > 0 else Outcome.SECOND
    return "" if outcome == match.outcome else f"its outcome is {outcome}, not {match.outcome}"


def _mover(game: Game, actions: tuple[int, ...]) -> int:
    return _state(game, actions).current_player


def _move(game: Game, actions: tuple[int, ...], ply: int) -> str:
    return game.move(_state(game, actions[:ply]), actions[ply]) if ply < len(actions) else "nothing"


def _state(game: Game, actions: tuple[int, ...]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state
