"""Follows one player through every possible reply of the other, ply by ply, visiting each position once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.errors import BotError, IllegalMoveError, InvalidMoveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arena_plugins import Game, State

    Layer = dict[bytes, bytes]
    """Positions of one ply: the key of each, with one sequence of actions that leads there."""
    Ask = Callable[[Sequence["Open"]], Iterable[tuple[int, ...]]]
    """Returns, for each position in order, the actions that may be chosen there; none if the bot resigns."""

_BYTES = 2
"""Bytes of an action in a sequence; the largest board has 676 actions."""


class Open(NamedTuple):
    """A position in which the player on trial is to move, compact enough to be sent and kept."""

    key: bytes
    """All that the answer depends on."""
    line: bytes
    """A sequence of actions that leads there; see `state_after`."""

    @property
    def ply(self) -> int:
        """Number of actions so far."""
        return len(self.line) // _BYTES


class TooManyError(Exception):
    """More positions are reached than were allowed."""


class Found(NamedTuple):
    """The result of following every line to its end."""

    positions: int
    """Number of distinct positions that the bot was asked about."""
    ends: dict[str, int]
    """Number of distinct final positions by their result for the player: won, drawn, lost."""
    longest: int
    """Plies of the longest line."""
    first: dict[str, bytes]
    """By result for the player, a shortest line that ends with it."""


class Walk:
    """All positions that are reached when one player chooses by `ask` and the other plays every legal action.

    A position is identified by its stones, not by the order in which they were placed; with `sees_last` also
    by the last action.
    """

    def __init__(self, game: Game, player: int, *, sees_last: bool, most: int) -> None:
        self._game = game
        self._player = player
        self._sees_last = sees_last
        self._most = most
        self._finals: set[tuple[bytes, str]] = set()
        self._ends = {"won": 0, "drawn": 0, "lost": 0}
        self._first: dict[str, bytes] = {}
        self._longest = 0
        self.known = 0
        """Number of positions to be asked about, so far."""

    @property
    def ended(self) -> int:
        """Number of final positions, so far."""
        return sum(self._ends.values())

    def follow(self, ask: Ask) -> Found:
        """Follow every line to its end.

        Raises:
            TooManyError: more positions are reached than `most`.
            BotError: an action is not allowed.
        """
        layer: Layer = {}
        self._meet(self._game.initial_state(), b"", layer)
        while layer:
            layer = self._next(layer, ask)
        return Found(self.known, self._ends, self._longest, self._first)

    def _next(self, layer: Layer, ask: Ask) -> Layer:
        """Return the positions one ply later.

        Stones are only added, so no final position occurs at two plies.
        """
        following: Layer = {}
        self._finals.clear()
        mine = [Open(*entry) for entry in layer.items() if entry[0][0] == self._player]
        for (_, line), actions in zip(mine, ask(mine) if mine else (), strict=True):
            if not actions:
                self._end("lost", line)
            self._go_on(line, actions, following)
        for key, line in layer.items():
            if key[0] != self._player:
                self._go_on(line, state_after(self._game, line).legal_actions, following)
        return following

    def _go_on(self, line: bytes, actions: Iterable[int], following: Layer) -> None:
        state = state_after(self._game, line)
        for action in actions:
            try:
                child = state.child(action)
            except (IllegalMoveError, InvalidMoveError) as error:
                raise BotError(f"{place(self._game, line)}: {error}") from error
            self._meet(child, line + int(action).to_bytes(_BYTES, sys.byteorder), following)

    def _meet(self, state: State, line: bytes, following: Layer) -> None:
        """Count a position, unless it was counted before."""
        stones = bytes(state.cells)
        if state.is_terminal:
            worth = state.returns[self._player]
            result = "won" if worth > 0 else "lost" if worth < 0 else "drawn"
            if (stones, result) not in self._finals:
                self._finals.add((stones, result))
                self._end(result, line)
            return
        is_mine = state.current_player == self._player
        key = bytes((state.current_player,)) + stones
        if is_mine and self._sees_last:
            key += line[-_BYTES:]
        if key in following:
            return
        following[key] = line
        self.known += is_mine
        if self.known > self._most:
            raise TooManyError(
                f"more than {self._most:,} positions come up, by ply {len(line) // _BYTES} already"
            )

    def _end(self, result: str, line: bytes) -> None:
        self._ends[result] += 1
        self._first.setdefault(result, line)
        self._longest = max(self._longest, len(line) // _BYTES)


def state_after(game: Game, line: bytes) -> State:
    """Return the state after a sequence of actions."""
    state = game.initial_state()
    for action in memoryview(line).cast("H"):
        state = state.child(action)
    return state


def moves(game: Game, line: bytes) -> str:
    """Return a line in the notation of the game."""
    state, texts = game.initial_state(), list[str]()
    for action in memoryview(line).cast("H"):
        texts.append(game.move(state, action))
        state = state.child(action)
    return " ".join(texts)


def place(game: Game, line: bytes) -> str:
    """Describe a position of a match for an error message."""
    return f"after {moves(game, line)}" if line else "at the beginning"
