"""Log files of matches, one each: of all matches on request, otherwise of faults and void matches."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

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
_LINE: Final = 1 << 16
"""Maximum characters of a message in a log: the longest that a bot may send."""
_SCHEMA: Final = "arena-log/1"
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


def log_folder(tournament: str) -> Path:
    """Return the log folder of a tournament; it may not exist yet."""
    return home() / "logs" / (_ODD.sub("_", tournament) or "_")


def keep_log(job: Job, seats: Sequence[Seat], result: MatchResult) -> None:
    """Write the log of a match if it is due; errors of the file system are ignored, so no match suffers.

    Bots in the arena's own process exchange no messages, so there is nothing to log for them.
    """
    wires = {
        ("first", "second")[player]: seat.wire
        for player, seat in enumerate(seats)
        if isinstance(seat, HostedSeat)
    }
    went_wrong = result.fault is not None or result.termination.is_void
    if not wires or not (job.log or went_wrong):
        return
    with suppress(OSError):
        folder = log_folder(job.match.rpartition("/")[0])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not job.log and sum(1 for _ in folder.iterdir()) >= MAX_FAULTS:
            return
        attempt = f".{job.attempt}" * bool(job.attempt)
        path = folder / f"{job.number}{attempt}.jsonl"
        # Renamed when complete, so that a reader never sees half a log.
        beside = path.with_suffix(".part")
        with open(beside, "w", encoding="utf-8", opener=_private) as file:
            file.writelines(json.dumps(entry) + "\n" for entry in _entries(job, seats, result))
        beside.replace(path)


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
