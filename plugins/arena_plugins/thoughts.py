"""The type of a bot's remarks about a position, used by referee, store and viewers."""

from __future__ import annotations

from typing import Any, Final

import msgspec


class Thoughts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a bot reports about the position in which it moves; fields that it omits are None.

    The fields are those of `PlayResult` without the action. The referee drops invalid ones; the rest is
    displayed and stored, but never trusted.
    """

    value: float | None = None
    """Expected result for the side to move, in [-1, 1]."""
    policy: tuple[tuple[int, float], ...] | None = None
    """Pairs of legal action and probability by action; probabilities sum to 1 within 1e-3."""
    visits: tuple[tuple[int, int], ...] | None = None
    """Pairs of legal action and number of visits by action."""
    pv: tuple[int, ...] | None = None
    """The principal variation: the expected actions, the bot's own first."""
    nodes: int | None = None
    """Number of search nodes."""
    depth: int | None = None
    """Search depth in plies."""
    text: str | None = None
    """A comment for people, cleaned, at most 200 characters."""


UNSAID: Final = Thoughts()
"""The thoughts of a bot that reported only an action."""


def fields_of(thoughts: Thoughts) -> dict[str, Any]:
    """Return the fields of `Thoughts` by name; those that a subclass adds are left out."""
    return {name: getattr(thoughts, name) for name in Thoughts.__struct_fields__}
