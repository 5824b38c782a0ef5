"""Draws what a disk may contain after the power was cut at some point of a recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulated.recorder import Delete, Sync, Truncate, Write

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from simulated.recorder import Op

SECTOR = 512
"""Bytes that a disk writes atomically."""


@dataclass
class _Inode:
    content: bytearray = field(default_factory=bytearray)
    """Bytes that are certainly on the disk."""
    pending: list[Write | Truncate] = field(default_factory=list)
    """Operations since the last sync."""

    def settle(self) -> None:
        for op in self.pending:
            _apply(self.content, op)
        self.pending.clear()


@dataclass
class _Name:
    inodes: list[_Inode | None]
    """Files that the name may refer to after the cut: the last, or an earlier one whose removal was lost."""


class Disk:
    """A disk on which a recording is played back."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Start with the contents of the disk at the start of the recording."""
        self._names = {name: _Name([_Inode(bytearray(content))]) for name, content in files.items()}

    def play(self, op: Op) -> None:
        """Execute one operation."""
        match op:
            case Write() | Truncate():
                self._last(op.file).pending.append(op)
            case Sync():
                inode = self._last(op.file)
                inode.settle()
                self._names[op.file].inodes = [inode]
            case Delete():
                self._names[op.file].inodes.append(None)
            case _:
                pass

    def cut(self, chance: random.Random) -> dict[str, bytes]:
        """Draw the files that a power cut at this point leaves behind."""
        found: dict[str, bytes] = {}
        for name, known in self._names.items():
            inode = chance.choice(known.inodes)
            if inode is not None:
                found[name] = _torn(inode, chance)
        return found

    def _last(self, file: str) -> _Inode:
        known = self._names.setdefault(file, _Name([None]))
        inode = known.inodes[-1]
        if inode is None:
            inode = _Inode()
            known.inodes.append(inode)
        return inode


def _torn(inode: _Inode, chance: random.Random) -> bytes:
    """Keep some of what was not synced: a prefix, or single sectors in any order."""
    content = bytearray(inode.content)
    num = len(inode.pending)
    share = chance.choice([0.0, 1.0, chance.random()])
    if chance.random() < 0.5:  # noqa: PLR2004 - one of two ways
        whole = round(share * num)
        kept: Sequence[Write | Truncate] = inode.pending[:whole]
        torn, share = inode.pending[whole : whole + 1], 0.5
    else:
        kept, torn = [], inode.pending
    for op in kept:
        _apply(content, op)
    for op in torn:
        for part in _sectors(op):
            if chance.random() < share:
                _apply(content, part)
    return bytes(content)


def _sectors(op: Write | Truncate) -> list[Write | Truncate]:
    if isinstance(op, Truncate):
        return [op]
    ends = [
        *range(op.offset - op.offset % SECTOR + SECTOR, op.offset + len(op.data), SECTOR),
        op.offset + len(op.data),
    ]
    starts = [op.offset, *ends[:-1]]
    return [
        Write(op.file, start, op.data[start - op.offset : end - op.offset])
        for start, end in zip(starts, ends, strict=True)
    ]


def _apply(content: bytearray, op: Write | Truncate) -> None:
    if isinstance(op, Truncate):
        del content[op.size :]
        return
    if len(content) < op.offset:
        content.extend(bytes(op.offset - len(content)))
    content[op.offset : op.offset + len(op.data)] = op.data
