"""Plays a small game out against every reply: exact results of a bot against uniformly random play."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.contract import Limit

if TYPE_CHECKING:
    from arena_plugins.contract import Bot, Game, State

    Chances = tuple[float, float, float]


def exact_chances(bot: Bot, game: Game, player: int) -> Chances:
    """Give the chances that `bot`, playing `player`, wins, draws and loses against random play.

    Of actions between which the bot draws lots, those its policy names, each is followed. No loss can be
    reached where the chance of one is exactly 0.
    """
    known: dict[tuple[tuple[int, ...], int], Chances] = {}

    def of(state: State) -> Chances:
        if state.is_terminal:
            result = state.returns[player]
            return (float(result > 0), float(result == 0), float(result < 0))
        key = (state.cells, state.current_player)
        if key not in known:
            known[key] = _mean([of(state.child(action)) for action in actions_of(state)])
        return known[key]

    def actions_of(state: State) -> list[int]:
        if state.current_player != player:
            return list(state.legal_actions)
        answer = bot.play(state, Limit())
        return [action for action, share in (answer.policy or {answer.action: 1.0}).items() if share]

    return of(game.initial_state())


def _mean(chances: list[Chances]) -> Chances:
    wins, draws, losses = (sum(column) / len(chances) for column in zip(*chances, strict=True))
    return wins, draws, losses
