"""The hostile programs as data, for tests of adapters and games."""

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
    """One hostile program and the terminations expected of it."""

    number: int
    """A fixed number of the case, as used in the tests; 0 for cases without one."""
    name: str
    """A short name for the misbehaviour."""
    expected: Mapping[str, tuple[str, ...]]
    """The expected terminations for each isolation tier; a tier without guarantees is left out.

    `rules` means that the misbehaviour has no effect: the program plays on with the first legal action.
    """
    move: int
    """The number of its move at which it misbehaves, from 1; 0 means every move."""
    limit_ms: int
    """The time for a move that it is designed for, in milliseconds, with the usual margin of 50 ms."""
    init_s: float
    """The startup time that it is designed for, in seconds."""
    memory_bytes: int
    """The memory limit that it is designed for, in bytes."""
    opponent: str
    """Name of the program it plays against: `good` answers at once, `slow` after 50 ms."""
    needs: tuple[str, ...]
    """The canaries it attacks, as keys for `command`."""

    def command(self, python: str, canaries: Mapping[str, object] | None = None) -> list[str]:
        """Return the command line that starts the program.

        Args:
            python: path of a Python interpreter; it needs no other packages.
            canaries: the targets of the attack, by the keys in `needs`; missing ones are not attacked.
                `store` and `weights` are files it tries to read or write. `folder` is a folder whose mode it
                tries to change through a link. `port` is a listening TCP port on 127.0.0.1, `abstract` the
                name of a listening abstract socket. `pid` is a process it tries to read, trace and signal.
                `mark` is a string of hex digits that identifies the objects it leaves in the kernel.
        """
        told = (
            [f"canaries={','.join(f'{key}:{value}' for key, value in canaries.items())}"] if canaries else []
        )
        return [python, "-I", "-S", "-B", _PROGRAM, self.name, str(self.move), *told]


def cases() -> tuple[HostileCase, ...]:
    """Return all hostile programs, in the order in which the arena's own trial runs them."""
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
