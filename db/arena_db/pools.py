"""Rating pools: conditions that must be equal for ratings to be compared. Names are printed, never parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

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
        return limit_text(self)

    @property
    def name(self) -> str:
        """The name for people: `5/move hosted`, or the label."""
        return self.label or f"{self.limit} {self.process}"

    @property
    def short(self) -> str:
        """The limit, or the label if there is no limit."""
        return self.limit or self.label


class TimeLimit(Protocol):
    """A limit on time and nodes; all times are in milliseconds, and the fields are those of `PoolRecord`."""

    @property
    def mode(self) -> LimitMode:
        """How the time is limited."""
        ...

    @property
    def move_ms(self) -> int:
        """Time for one move."""
        ...

    @property
    def base_ms(self) -> int:
        """Time on the clock at the start, or in the bank."""
        ...

    @property
    def inc_ms(self) -> int:
        """Time added after each move."""
        ...

    @property
    def moves(self) -> int | None:
        """Number of moves after which `base_ms` is added again; None for never."""
        ...

    @property
    def nodes(self) -> int | None:
        """Search nodes per move; None for no limit."""
        ...


def limit_text(limit: TimeLimit) -> str:
    """Return the text of a limit: `5/move`, `60+0.6`, `40/60+0.5`, `2/move bank 60`, `1000 nodes`."""
    mode, move_ms, base_ms, nodes = limit.mode, limit.move_ms, limit.base_ms, limit.nodes
    by_nodes = "" if nodes is None else f"{nodes} nodes"
    if mode == "fischer":
        periods = "" if limit.moves is None else f"{limit.moves}/"
        increment = f"+{seconds_text(limit.inc_ms)}" if limit.inc_ms else ""
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
