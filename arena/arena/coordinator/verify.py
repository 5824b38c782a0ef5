"""Verifies stored matches: replays them by the rules, and lets their bots play them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.coordinator.jobs import make_jobs
from arena.coordinator.restore import restore_plan
from arena.coordinator.rule_checks import contradiction, replay
from arena.errors import ConfigError
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_job
from arena.executor.workspace import workspace
from arena.naming import match_address
from arena_plugins import Termination, load_game

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_db.records import MatchRecord, StoredMatch
    from arena_db.store import Store
    from arena_plugins import Game, State


class Finding(NamedTuple):
    """The result of a verification."""

    agrees: bool
    text: str


def verify_match(store: Store, match: StoredMatch) -> Finding:
    """Replay a match by the rules, then let its bots play it again from the same seeds.

    Only actions of bots that declare themselves deterministic are compared, up to the first divergence.

    Raises:
        ConfigError: a bot has changed since it played.
    """
    states = replay(load_game(match.game), match.actions)
    broken = contradiction(states, match.actions, match.outcome, match.termination)
    if broken:
        return Finding(agrees=False, text=f"match {_address(match)} contradicts the rules: {broken}")
    again, deterministic = _play_again(store, match)
    end = max(len(match.actions), len(again.actions))
    if match.termination != Termination.RULES:
        # The match was cut short by an event that need not happen again.
        end = min(end, len(match.actions))
    for ply in range(match.num_opening, end):
        if match.actions[ply : ply + 1] != again.actions[ply : ply + 1]:
            return _divergence(match, states[ply], again, ply, deterministic)
    text = f"match {_address(match)} keeps the rules, and its bots play the same moves again"
    return Finding(agrees=True, text=text + _not_hashed(store, match))


def _address(match: StoredMatch) -> str:
    return match_address(match.tournament_name, match.number, match.attempt, match.outcome)


def _not_hashed(store: Store, match: StoredMatch) -> str:
    """Return a note about bots whose code was not hashed when they played: other code might have played."""
    tournament = store.tournaments.find(match.tournament_name)
    entrants = () if tournament is None else store.tournaments.entrants(tournament.id)
    seated = (match.first_label, match.second_label)
    labels = [each.label for each in entrants if each.label in seated and not each.bot.content]
    return f"; the code of {' and '.join(labels)} was not hashed when it was played" if labels else ""


def _play_again(store: Store, match: StoredMatch) -> tuple[MatchRecord, Mapping[str, bool]]:
    tournament = store.tournaments.find(match.tournament_name)
    if tournament is None:
        raise ConfigError(
            f"match {match.id} of the store belongs to no tournament; arena db check shows more"
        )
    plan = restore_plan(store, tournament)
    # The row of the plan, because the seeds of a match follow from its place in the plan.
    planned = store.plans.planned(tournament.id, after=match.number - 1, limit=1)
    for seat in (match.first_seat, match.second_seat):
        if plan.competitors[seat].is_absent:
            raise ConfigError(
                f"{plan.competitors[seat].label} has left {tournament.name}, and its files are gone or have "
                f"changed, so match {_address(match)} cannot be played again"
            )
    control = make_control(SlotCallbacks(Slot.here(0)))
    # The call with which workers play, so the bots run in the same sandbox and with the same limits.
    with workspace():
        try:
            again = play_job(make_jobs(tournament, plan, planned)[0], control)
            return again, control.seats.deterministic()
        finally:
            control.close()


def _divergence(
    match: StoredMatch, state: State, again: MatchRecord, ply: int, deterministic: Mapping[str, bool]
) -> Finding:
    mover = (match.first_label, match.second_label)[state.current_player]
    if not deterministic.get(mover):
        text = (
            f"match {_address(match)} keeps the rules, and its bots play the same moves again up to ply "
            f"{ply}, where {mover}, which does not say that it is deterministic, plays another one"
        )
        return Finding(agrees=True, text=text)
    game = load_game(match.game)
    was, now = (_move(game, state, actions, ply) for actions in (match.actions, again.actions))
    text = (
        f"match {_address(match)} diverges at ply {ply + 1}: {mover} played {was}, now {now} "
        "(a deterministic bot may do so only where it ran out of time)"
    )
    return Finding(agrees=False, text=text)


def _move(game: Game, state: State, actions: tuple[int, ...], ply: int) -> str:
    return game.move(state, actions[ply]) if ply < len(actions) else "nothing"
