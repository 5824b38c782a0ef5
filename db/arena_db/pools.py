"""Rating pools: conditions that must be equal for ratings to be compared. Names are printed, never parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

WATCHDOG_MS: Final = 60_000
"""Milliseconds per move if only nodes, or nothing at all, limit a bot."""

LimitMode: TypeAlias = Literal["move", "fischer", "bank", "none"]
"""`move`: a time per move; `fischer`: a clock for the match; `bank`: a time per move, and a bank beyond
it."""
Process: TypeAlias = Literal["hosted", "hosted-scaled", "in-process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRecord:
    """A time limit and a kind of process; with the game of a tournament it is the tournament's pool."""

    mode: LimitMode = "none"
    """`none` without a limit, or with a limit that this version cannot parse."""
    move_ms: int = 0
    """Milliseconds for one move; one day for `fischer`."""
    base_ms: int = 0
    """Milliseconds on the clock at the start (`fischer`) or in the bank (`bank`)."""
    inc_ms: int = 0
    """Milliseconds added after each move (`fischer`)."""
    moves: int | None = None
    """Number of moves after which `base_ms` is added again (`fischer`); None for never."""
    nodes: int | None = None
    """Search nodes per move; None for no limit."""
    process: Process = "hosted"
    """`hosted`: each bot in a process of its own; `hosted-scaled`: also with more seconds on slow worker
    machines and fewer on fast ones; `in-process`: in the process of the arena."""
    label: str = ""
    """Name of a pool without a limit, such as `training`; empty for all others."""

    @property
    def limit(self) -> str:
        """The limit as text, such as `5/move`; empty without one."""
        if self.mode == "none":
            return ""
        return limit_text(self.mode, self.move_ms, self.base_ms, self.inc_ms, self.moves, self.nodes)

    @property
    def name(self) -> str:
        """The name for people: `5/move hosted`, or the label."""
        return self.label or f"{self.limit} {self.process}"

    @property
    def short(self) -> str:
        """The limit, or the label if there is no limit."""
        return self.limit or self.label


def limit_text(  # noqa: PLR0913, PLR0917 - the fields of a limit
    mode: LimitMode, move_ms: int, base_ms: int, inc_ms: int, moves: int | None, nodes: int | None
) -> str:
    """Return the canonical text of a limit: `5/move`, `60+0.6`, `40/60+0.5`, `2/move bank 60`, `1000 nodes`.

    All times are in milliseconds.
    """
    by_nodes = "" if nodes is None else f"{nodes} nodes"
    if mode == "fischer":
        periods = "" if moves is None else f"{moves}/"
        increment = f"+{seconds_text(inc_ms)}" if inc_ms else ""
        time = f"{periods}{seconds_text(base_ms)}{increment}"
    elif mode == "bank":
        time = f"{seconds_text(move_ms)}/move bank {seconds_text(base_ms)}"
    elif by_nodes and move_ms == WATCHDOG_MS:
        return by_nodes
    else:
        time = f"{seconds_text(move_ms)}/move"
    return f"{time} {by_nodes}".rstrip()


def seconds_text(time_ms: int) -> str:
    """Return milliseconds as seconds with as many digits as needed: `0.6`."""
    return f"{time_ms // 1000}.{time_ms % 1000:03}".rstrip("0").rstrip(".")
