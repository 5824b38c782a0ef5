"""Records on their way from a worker to the coordinator: in a file, whose name alone goes through a pipe.

A worker that is killed within a long write to a pipe leaves half of a message, and its reader, who sees
other workers at the other end, waits for the rest forever. A name is written at once or not at all.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ArenaError
from arena_db.records import MatchRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

Parcel = str | list[MatchRecord]
"""The name of a file of records; the records where no file could be written."""
_DECODER = msgspec.msgpack.Decoder(list[MatchRecord])


def pack(records: Sequence[MatchRecord]) -> Parcel:
    """Write the records to a temporary file; where there is no room for it, nothing is lost.

    What was written before the room ended goes with the folder of the run.
    """
    try:
        with tempfile.NamedTemporaryFile(suffix=".records", delete=False) as file:
            file.write(msgspec.msgpack.encode(records))
    except OSError:
        return list(records)
    return file.name


class ParcelLostError(ArenaError):
    """The file of a parcel was removed before it was read: somebody cleared the temporary files."""


def unpack(parcel: Parcel) -> list[MatchRecord]:
    """Read the records, and remove the file.

    Raises:
        ParcelLostError: the file is gone.
        OSError: the file cannot be read.
        msgspec.DecodeError: it was changed.
    """
    if not isinstance(parcel, str):
        return parcel
    path = Path(parcel)
    try:
        records = _DECODER.decode(path.read_bytes())
    except FileNotFoundError as error:
        raise ParcelLostError(f"{path} was removed before its results were read") from error
    path.unlink(missing_ok=True)
    return records
