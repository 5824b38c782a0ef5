"""Computes the `Limit` of one answer from the time control and the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.contract import Limit

if TYPE_CHECKING:
    from arena_plugins.wire import Clock, ClockSpec

_SHARE = 20
"""Number of own moves that a fischer clock is assumed to have to last for."""
_INCREMENT_SHARE = 0.8
"""Part of the increment that is spent at once; the rest refills the clock."""


def make_limit(tc: ClockSpec, clock: Clock, moves_played: int) -> Limit:
    """Return the limit for a bot's next answer, after `moves_played` moves of its own.

    - `move`: the time for a move, or the remaining time if that is less.
    - `fischer`: `remaining / 20 + 0.8 * increment` (fewer than 20 if `moves` ends a session sooner), at
      most the remaining time less the margin, and never more than `move_ms`.
    - `bank`: the time for a move; `Limit.bank` holds the bank as well, as a reserve for late answers.
    """
    remaining = max(clock.you_ms, 0)
    if tc.mode == "fischer":
        left = _SHARE if tc.moves is None else min(_SHARE, tc.moves - moves_played % tc.moves)
        wish = remaining / left + _INCREMENT_SHARE * tc.inc_ms
        # With less than two margins left, subtracting one would leave almost nothing: use half instead.
        milliseconds = min(wish, max(remaining - tc.margin_ms, remaining / 2), tc.move_ms)
    elif tc.mode == "bank":
        milliseconds = tc.move_ms
    else:
        milliseconds = min(tc.move_ms, remaining)
    bank = remaining / 1000 if tc.mode == "bank" else None
    return Limit(seconds=milliseconds / 1000, nodes=tc.nodes, bank=bank)
