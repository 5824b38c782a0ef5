"""Log files of matches, one each: of all matches on request, otherwise of faults and void matches."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from arena.home import home
from arena.referee.hosted import HostedSeat
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from arena.executor.job import Job
    from arena.match import MatchResult
    from arena.referee.seats import Seat

MAX_FAULTS: Final = 1000
"""Maximum log files in a tournament's folder; beyond it, only requested logs are written."""
MAX_FILE: Final = 16 << 20
"""Maximum bytes of output of one bot in one tournament; a full file takes no more."""
_FULL: Final = "* *| the file is full: at most {} bytes of a bot's output are kept per tournament\n"
_LINE: Final = 1 << 16
"""Maximum characters of a message in a log: the longest that a bot may send."""
_SCHEMA: Final = "arena-log/1"
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


def log_folder(tournament: str) -> Path:
    """Return the log folder of a tournament; it may not exist yet."""
    return home() / "logs" / (_ODD.sub("_", tournament) or "_")


LogKind: TypeAlias = Literal["output", "fault", "asked"]
"""`output` is appended to the file of a bot; `fault` is the log of a match that went wrong, of which a folder
keeps `MAX_FAULTS`; `asked` is the log of any match, on request."""


class LogPart(msgspec.Struct, frozen=True, array_like=True):
    """Text for a file in the log folder of a tournament, on the machine that runs the tournament."""

    tournament: str
    """Name of the tournament."""
    name: str
    """Name of the file."""
    data: bytes
    kind: LogKind


def write_part(part: LogPart) -> None:
    """Write to a log file; errors of the file system are ignored, so that no match suffers."""
    with suppress(OSError):
        folder = log_folder(part.tournament)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / part.name
        if part.kind == "output":
            append(path, part.data)
        elif part.kind == "asked" or sum(1 for _ in folder.iterdir()) < MAX_FAULTS:
            # Renamed when complete, so that a reader never sees half a log.
            beside = path.with_suffix(".part")
            with open(beside, "wb", opener=_private) as file:
                file.write(part.data)
            beside.replace(path)


def append(path: Path, data: bytes) -> None:
    """Append to a file until it has `MAX_FILE` bytes; a note at its end then says that it is full.

    Raises:
        OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size >= MAX_FILE:
            return
        if size + len(data) > MAX_FILE:
            data = data[: MAX_FILE - size].decode("utf-8", "ignore").encode()
            # The file is filled to its maximum, so that nothing is appended after the note.
            data += b"\n" + _FULL.format(MAX_FILE).encode()
        # In one write, which does not interleave with the writes of other workers.
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def match_file(number: int, attempt: int) -> str:
    """Return the name of the log file of a match."""
    return f"{number}{f'.{attempt}' * bool(attempt)}.jsonl"


def match_log(job: Job, seats: Sequence[Seat], result: MatchResult) -> list[LogPart]:
    """Return the log of a match if it is to be written, else an empty list.

    Bots in the arena's own process exchange no messages, so there is nothing to log for them.
    """
    went_wrong = result.fault is not None or result.termination.is_void
    if not any(isinstance(seat, HostedSeat) for seat in seats) or not (job.log or went_wrong):
        return []
    data = "".join(json.dumps(entry) + "\n" for entry in _entries(job, seats, result)).encode()
    kind: LogKind = "asked" if job.log else "fault"
    return [LogPart(job.tournament_name, match_file(job.number, job.attempt), data, kind)]


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read, since messages of bots are not public on this machine."""
    return os.open(path, flags, 0o600)


def _entries(job: Job, seats: Sequence[Seat], result: MatchResult) -> Iterator[dict[str, object]]:
    """Yield the entries of the file: the match, each message in order of time, and the end."""
    hosted = {player: seat for player, seat in enumerate(seats) if isinstance(seat, HostedSeat)}
    sides = ("first", "second")
    yield {
        "type": "match",
        "schema": _SCHEMA,
        "match": job.match,
        "attempt": job.attempt,
        "game": job.game,
        "first": clean_text(job.first.label, _LINE),
        "second": clean_text(job.second.label, _LINE),
        "tier": job.tier,
        "dropped": {sides[player]: seat.wire.num_dropped for player, seat in hosted.items()},
    }
    # Messages have monotonic times, which a change of the clock does not disturb; the file has times of day.
    ahead = time.time() - time.monotonic()
    said = sorted((each.at, player, each) for player, seat in hosted.items() for each in seat.wire)
    for at, player, message in said:
        text = message.line.decode("utf-8", "backslashreplace").rstrip("\r\n")
        yield {
            "type": "to" if message.is_sent else "from",
            "bot": sides[player],
            "t": datetime.fromtimestamp(at + ahead, UTC).isoformat(timespec="microseconds"),
            "line": clean_text(text, _LINE),
        }
    yield {
        "type": "end",
        "outcome": result.outcome.value,
        "termination": result.termination.value,
        "reason": clean_text(result.reason, _LINE),
        "fault": result.fault,
    }
