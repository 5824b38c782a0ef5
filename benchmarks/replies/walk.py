"""Follows one player through every reply of the other, ply by ply, each position once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.errors import BotError, IllegalMoveError, InvalidMoveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arena_plugins import Game, State

    Layer = dict[bytes, bytes]
    """Positions of a ply: the key of each, with one line that leads there."""
    Ask = Callable[[Sequence["Open"]], Iterable[tuple[int, ...]]]
    """Gives for each position, in order, the actions that may be chosen there; none when it is given up."""

_BYTES = 2
"""Of an action in a line; the largest board has 676."""


class Open(NamedTuple):
    """A position with the player to be proven to move, as small as it can be sent and kept."""

    key: bytes
    """What the answer depends on."""
    line: bytes
    """Actions that lead there; see `state_after`."""

    @property
    def ply(self) -> int:
        """Actions so far."""
        return len(self.line) // _BYTES


class TooManyError(Exception):
    """More positions come up than were allowed."""


class Found(NamedTuple):
    """All lines that can come up, played to their ends."""

    positions: int
    """Distinct ones that were asked about."""
    ends: dict[str, int]
    """Distinct final positions by their result for the player: won, drawn, lost."""
    longest: int
    """Plies of the longest line."""
    first: dict[str, bytes]
    """The first line that ended with each of these results, one of the shortest."""


class Walk:
    """All positions that can come up when one player chooses by `ask` and the other plays anything.

    Which stones lie where decides what can follow; what led there is no part of a position, but the last
    action is, if `sees_last`.
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
        """Positions to be asked about, so far."""

    @property
    def ended(self) -> int:
        """Final positions, so far."""
        return sum(self._ends.values())

    def follow(self, ask: Ask) -> Found:
        """Play every line to its end.

        Raises:
            TooManyError: more positions come up than `most`.
            BotError: an action is not allowed.
        """
        layer: Layer = {}
        self._meet(self._game.initial_state(), b"", layer)
        while layer:
            layer = self._next(layer, ask)
        return Found(self.known, self._ends, self._longest, self._first)

    def _next(self, layer: Layer, ask: Ask) -> Layer:
        """Give the positions one ply on; where stones only come, no final position comes at two plies."""
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
        """Count a position, unless it is known."""
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
    """Play a line from the beginning."""
    state = game.initial_state()
    for action in memoryview(line).cast("H"):
        state = state.child(action)
    return state


def moves(game: Game, line: bytes) -> str:
    """Write a line for people."""
    state, texts = game.initial_state(), list[str]()
    for action in memoryview(line).cast("H"):
        texts.append(game.move(state, action))
        state = state.child(action)
    return " ".join(texts)


def place(game: Game, line: bytes) -> str:
    """Say where in a match something happened."""
    return f"after {moves(game, line)}" if line else "at the beginning"
