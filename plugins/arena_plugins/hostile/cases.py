"""The hostile programs as values, for tests of adapters and games."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.hostile.table import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.hostile.table import Misbehaviour

_TIERS = ("T1", "T2", "T3")
_PROGRAM = str(Path(__file__).with_name("__main__.py"))


class HostileCase(NamedTuple):
    """One hostile program, and what it must end in."""

    number: int
    """Of the acceptance matrix; 0 for one that is not in it."""
    name: str
    """What it does, in a word."""
    expected: Mapping[str, tuple[str, ...]]
    """By isolation tier, the terminations that are right; a tier that promises nothing is left out.

    `rules` means that the program has no effect: it plays on, first legal actions only.
    """
    move: int
    """Which of its moves it misbehaves at, from 1; 0 is every move."""
    limit_ms: int
    """The time for a move that it is made for, in milliseconds, with the usual margin of 50 ms."""
    init_s: float
    """The time to start that it is made for, in seconds."""
    memory_bytes: int
    """The memory limit that it is made for."""
    opponent: str
    """Name of the program it is to play against: `good` answers at once, `slow` after 50 ms."""
    needs: tuple[str, ...]
    """What it must be given to reach for, see `command`."""

    def command(self, python: str, canaries: Mapping[str, object] | None = None) -> list[str]:
        """Return the command line that starts it.

        Args:
            python: path of a Python interpreter; no other package need be installed there.
            canaries: what it reaches for, by the keys in `needs`; what is missing it does not try.
                `store` and `weights` are files it tries to read or write. `folder` is one whose mode it tries
                to change by a link. At `port` of 127.0.0.1 and at the abstract socket `abstract` something
                listens. `pid` is a process it tries to read, trace and signal. `mark` are hex digits by which
                what it leaves in the kernel is found.
        """
        told = (
            [f"canaries={','.join(f'{key}:{value}' for key, value in canaries.items())}"] if canaries else []
        )
        return [python, "-I", "-S", "-B", _PROGRAM, self.name, str(self.move), *told]


def cases() -> tuple[HostileCase, ...]:
    """Return all hostile programs, in the order in which the arena itself tries them."""
    return tuple(_case(row) for row in TABLE if not row.is_plugin)


def _case(row: Misbehaviour) -> HostileCase:
    expected = {tier: found for tier in _TIERS if (found := row.expected_in(tier))}
    return HostileCase(
        number=row.number,
        name=row.name,
        expected=MappingProxyType(expected),
        move=row.move,
        limit_ms=row.limit_ms,
        init_s=row.init_s,
        memory_bytes=row.memory_bytes,
        opponent=row.opponent,
        needs=row.needs,
    )
