"""Exact results of a bot against uniformly random play, by enumerating every reply in a small game."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.contract import Limit

if TYPE_CHECKING:
    from arena_plugins.contract import Bot, Game, State

    Chances = tuple[float, float, float]


def exact_chances(bot: Bot, game: Game, player: int) -> Chances:
    """Return the chances that `bot`, playing `player`, wins, draws and loses against random play.

    If the bot draws between several actions, all that its policy names are followed. If the chance of a loss
    is exactly 0, no loss can be reached.
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
