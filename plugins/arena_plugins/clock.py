"""Makes the Limit of one answer from the time control and the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.contract import Limit

if TYPE_CHECKING:
    from arena_plugins.wire import Clock, TimeControl

_SHARE = 20
"""A match on a fischer clock is planned as if this many own moves were still to come."""
_INCREMENT_SHARE = 0.8
"""The part of the increment that is spent at once; the rest refills the clock."""


def make_limit(tc: TimeControl, clock: Clock, moves_played: int) -> Limit:
    """Give what the bot may use for its next answer, having played `moves_played` itself.

    - `move`: the time of a move, or the remaining time where that is less.
    - `fischer`: `remaining / 20 + 0.8 * increment` (fewer than 20 where `moves` ends a session sooner), at
      most the remaining time less the margin, and never more than `move_ms`.
    - `bank`: the time of a move; the bank, which is told too, stays for accidents.
    """
    remaining = max(clock.you_ms, 0)
    if tc.mode == "fischer":
        left = _SHARE if tc.moves is None else min(_SHARE, tc.moves - moves_played % tc.moves)
        wish = remaining / left + _INCREMENT_SHARE * tc.inc_ms
        # With less than two margins left, half of it is the safer bound.
        milliseconds = min(wish, max(remaining - tc.margin_ms, remaining / 2), tc.move_ms)
    elif tc.mode == "bank":
        milliseconds = tc.move_ms
    else:
        milliseconds = min(tc.move_ms, remaining)
    bank = remaining / 1000 if tc.mode == "bank" else None
    return Limit(seconds=milliseconds / 1000, nodes=tc.nodes, bank=bank)
