"""Time controls and their notation."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

import msgspec

from arena.errors import ConfigError
from arena_db.pools import WATCHDOG_MS, PoolRecord, limit_text
from arena_plugins import wire

DEFAULT_MOVE_MS = 5_000
"""Milliseconds per move if no limit is given."""
_NODES_END = 10**18
"""Exclusive upper bound of numbers of nodes, so that they fit signed 64-bit ints."""
_SECOND_MS = 1000
_MINUTE_MS = 60 * _SECOND_MS
DAY_MS = 86_400_000
"""Maximum of any time, in milliseconds; on the wire it stands for "no limit per move"."""
MARGIN_MS = 50
"""Default margin: how many milliseconds late an answer may be without losing."""

_SECONDS = r"(?:[0-9]{1,5}:[0-5]?[0-9](?:\.[0-9]{1,3})?|[0-9]{1,5}(?:\.[0-9]{1,3})?)"
_TC = re.compile(rf"(?:([0-9]{{1,4}})/)?({_SECONDS})(?:\+({_SECONDS}))?\Z")
_NODES = re.compile(r"(?:(.+) )?([0-9]{1,18}) nodes\Z")
_PER_MOVE = re.compile(rf"({_SECONDS})/move(?: bank ({_SECONDS}))?\Z")


class TimeControl(msgspec.Struct, frozen=True, kw_only=True):
    """A limit on a bot's time; `str()` returns its canonical text, which names the rating pool.

    Controls that limit a bot in the same way are equal; so `inf` equals its watchdog, `60/move`.
    """

    mode: Literal["move", "fischer", "bank"]
    """`move`: time per move; `fischer`: a clock for the match; `bank`: time per move plus a reserve."""
    move_ms: int
    """Milliseconds for one move; one day for `fischer`."""
    base_ms: int = 0
    """Milliseconds on the clock at the start (`fischer`) or in the bank (`bank`)."""
    inc_ms: int = 0
    """Milliseconds added after each move (`fischer`)."""
    moves: int | None = None
    """Number of moves after which `base_ms` is added again (`fischer`); None for never."""
    nodes: int | None = None
    """Search nodes per move, enforced only by the bot itself; None is no limit."""
    margin_ms: int = MARGIN_MS
    """Milliseconds that an answer may be late without losing; not part of the text."""

    @classmethod
    def parse(
        cls,
        tc: str | None,
        st: float | None,
        nodes: int | None,
        bank: float | None = None,
        margin_ms: int = MARGIN_MS,
    ) -> TimeControl:
        """Make a time control from the options `--tc`, `--st`, `--nodes`, `--bank` and `--timemargin`.

        `st` and `bank` are in seconds. Without any option it is 5 seconds per move; `nodes` or `inf` alone
        keep a watchdog of 60 seconds.

        Raises:
            ConfigError: a value is out of range, or options exclude each other.
        """
        if nodes is not None and not 1 <= nodes < _NODES_END:
            raise ConfigError(f"nodes {nodes} is not a whole number from 1")
        if not 0 <= margin_ms <= DAY_MS:
            raise ConfigError(f"a time margin of {margin_ms} ms is not from 0 to {DAY_MS}")
        if tc is not None:
            if st is not None:
                raise ConfigError(f"tc {tc} and st {st:g} exclude each other; give one of them")
            if bank is not None:
                raise ConfigError(f"bank {bank:g} is time beyond st, so it cannot go with tc {tc}")
            return _of_text(tc, nodes, margin_ms)
        if bank is None and st is None:
            move_ms = DEFAULT_MOVE_MS if nodes is None else WATCHDOG_MS
        else:
            move_ms = DEFAULT_MOVE_MS if st is None else _number("st", st)
        if bank is None:
            return cls(mode="move", move_ms=move_ms, nodes=nodes, margin_ms=margin_ms)
        base_ms = _number("bank", bank)
        return cls(mode="bank", move_ms=move_ms, base_ms=base_ms, nodes=nodes, margin_ms=margin_ms)

    @classmethod
    def from_text(cls, text: str, margin_ms: int = MARGIN_MS) -> TimeControl:
        """Parse what `str()` wrote: `from_text(str(control), control.margin_ms) == control`.

        Raises:
            ConfigError: `text` is not a time control.
        """
        nodes: int | None = None
        rest: str | None = text
        with_nodes = _NODES.match(text)
        if with_nodes is not None:
            rest, nodes = with_nodes[1], int(with_nodes[2])
        per_move = None if rest is None else _PER_MOVE.match(rest)
        if rest is None:
            return cls.parse(None, None, nodes, None, margin_ms)
        if per_move is None:
            return cls.parse(rest, None, nodes, None, margin_ms)
        st = _milliseconds(per_move[1]) / 1000
        bank = None if per_move[2] is None else _milliseconds(per_move[2]) / 1000
        return cls.parse(None, st, nodes, bank, margin_ms)

    def __str__(self) -> str:
        """Return the canonical text: `5/move`, `60+0.6`, `40/60+0.5`, `2/move bank 60`, `1000 nodes`."""
        return limit_text(self)

    def scaled(self, factor: float) -> TimeControl:
        """Return the control with all its times multiplied, in whole milliseconds and at least 1.

        Nodes and the margin stay, since they do not depend on the speed of a machine; so does a watchdog, and
        a day per move, which stands for "no limit".
        """
        if self.is_nodes_alone or self == _WATCHDOG:
            return self

        def multiply(time_ms: int) -> int:
            return min(DAY_MS, max(1, round(time_ms * factor))) if time_ms else 0

        return msgspec.structs.replace(
            self,
            move_ms=self.move_ms if self.mode == "fischer" else multiply(self.move_ms),
            base_ms=multiply(self.base_ms),
            inc_ms=multiply(self.inc_ms),
        )

    def pool(self, *, is_hosted: bool, is_scaled: bool = False) -> PoolRecord:
        """Return the rating pool: only matches under the same limit and the same way of running are compared.

        Args:
            is_hosted: whether each bot runs in its own process.
            is_scaled: whether worker machines scale its times by their speed; only for hosted bots.
        """
        return PoolRecord(
            mode=self.mode,
            move_ms=self.move_ms,
            base_ms=self.base_ms,
            inc_ms=self.inc_ms,
            moves=self.moves,
            nodes=self.nodes,
            process="hosted-scaled" if is_scaled else "hosted" if is_hosted else "in-process",
        )

    @property
    def is_nodes_alone(self) -> bool:
        """Whether it bounds nodes, and time only as a watchdog."""
        return self.nodes is not None and str(self) == f"{self.nodes} nodes"

    def to_wire(self) -> wire.ClockSpec:
        """Return the field `tc` of a `new_match` message."""
        return wire.ClockSpec(
            mode=self.mode,
            move_ms=self.move_ms,
            base_ms=self.base_ms,
            inc_ms=self.inc_ms,
            margin_ms=self.margin_ms,
            moves=self.moves,
            nodes=self.nodes,
        )


_WATCHDOG = TimeControl(mode="move", move_ms=WATCHDOG_MS)


def _of_text(tc: str, nodes: int | None, margin_ms: int) -> TimeControl:
    if tc == "inf":
        return TimeControl(mode="move", move_ms=WATCHDOG_MS, nodes=nodes, margin_ms=margin_ms)
    found = _TC.match(tc)
    if found is None:
        raise ConfigError(f'cannot read the time control "{tc}"; write 60+0.6, 40/60+0.5, 2:30+1 or inf')
    moves = None if found[1] is None else int(found[1])
    if moves == 0:
        raise ConfigError(f'the time control "{tc}" has periods of 0 moves; write at least 1')
    return TimeControl(
        mode="fischer",
        move_ms=DAY_MS,
        base_ms=_checked(f'the time control "{tc}"', _milliseconds(found[2]), 1),
        inc_ms=_checked(f'the time control "{tc}"', _milliseconds(found[3] or "0"), 0),
        moves=moves,
        nodes=nodes,
        margin_ms=margin_ms,
    )


def _milliseconds(text: str) -> int:
    minutes, colon, seconds = text.rpartition(":")
    # Decimal, because 1000 times a float such as 1.001 may be just below the whole number.
    return int(Decimal(seconds) * _SECOND_MS) + (int(minutes) * _MINUTE_MS if colon else 0)


def _number(option: str, seconds: float) -> int:
    if not 0 < seconds <= DAY_MS / 1000:
        raise ConfigError(f"{option} {seconds:g} is not a number of seconds from 0.001 to {DAY_MS // 1000}")
    return _checked(f"{option} {seconds:g}", round(seconds * 1000), 1)


def _checked(what: str, milliseconds: int, least: int) -> int:
    if not least <= milliseconds <= DAY_MS:
        raise ConfigError(f"{what} has a time that is not from {least / 1000:g} to {DAY_MS // 1000} seconds")
    return milliseconds
