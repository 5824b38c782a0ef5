"""Files of what was said in matches, one each: of all if that is wished, else of faults and void matches."""

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
"""Files of a tournament after which none is written that nobody asked for."""
_LINE: Final = 1 << 16
"""Characters of a message that are kept: the longest a bot may send."""
_SCHEMA: Final = "arena-log/1"
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


def log_folder(tournament: str) -> Path:
    """Give the folder for the logs of a tournament, which may not exist yet."""
    return home() / "logs" / (_ODD.sub("_", tournament) or "_")


def keep_log(job: Job, seats: Sequence[Seat], result: MatchResult) -> None:
    """Write the log of a match where it is due; where that cannot be done, no match suffers.

    Bots in the arena's own process speak over no wire: of them there is nothing to write.
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
        beside = path.with_suffix(".part")
        with open(beside, "w", encoding="utf-8", opener=_private) as file:
            file.writelines(json.dumps(entry) + "\n" for entry in _entries(job, seats, result))
        beside.replace(path)


def _private(path: str, flags: int) -> int:
    """Open a file that its owner alone may read: what bots say is not for everybody on the machine."""
    return os.open(path, flags, 0o600)


def _entries(job: Job, seats: Sequence[Seat], result: MatchResult) -> Iterator[dict[str, object]]:
    """Give what the file says, line by line: of the match, of each message by its time, of the end."""
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
