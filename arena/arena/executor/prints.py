"""Files with the output of bots, one per bot of a tournament, read by `arena logs`.

On one machine the worker that played a match appends to them with one write of whole lines: the text does not
pass through the coordinator, which must not wait for it, and appended writes of several workers do not
interleave. Output from a worker machine arrives with the result.
"""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from arena.executor.logs import LogPart, append, log_folder
from arena.home import home
from arena.referee.bot_output import MAX_BYTES, BotOutput
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from arena.executor.job import Job
    from arena.match import MatchResult
    from arena.referee.seats import Seat

MAX_TAIL: Final = 20
"""Lines of stderr that a command prints when a bot fails its preflight or its check."""
_MAX_LINE: Final = 4000
"""Maximum characters of a line; the rest continues on the next line."""
_MAX_NAME: Final = 80
_ODD: Final = re.compile(r"[^a-z0-9_.,=-]")
_TRIALS: Final = "~trials"
"""Folder of bots that failed before any match; no tournament can have this name."""


def prints_path(tournament: str, label: str) -> Path:
    """Return the file with the output of a bot in a tournament; it may not exist."""
    return log_folder(tournament) / file_name(label)


def file_name(label: str) -> str:
    """Return the name of the file with the output of a bot."""
    plain = _ODD.sub("_", label)[:_MAX_NAME]
    # Labels that differ only in replaced characters or in case need different files on any file system.
    return f"{plain}.log" if plain == label else f"{plain}~{sha256(label.encode()).hexdigest()[:8]}.log"


def listen(job: Job, seats: Sequence[Seat]) -> None:
    """Capture the output of bots in this process if it is to be kept; other bots always print into pipes."""
    for seat in seats:
        if isinstance(seat, InProcessSeat):
            seat.output = None if job.bot_output == "none" else BotOutput()


def match_output(job: Job, seats: Sequence[Seat], result: MatchResult) -> list[LogPart]:
    """Return what the bots printed in a match, for the file of each, if it is to be kept."""
    went_wrong = result.fault is not None or result.termination.is_void
    if job.bot_output == "none" or (job.bot_output == "faults" and not went_wrong):
        return []
    number = f"{job.number}.{job.attempt}" if job.attempt else f"{job.number}"
    found: list[LogPart] = []
    for seat, competitor in zip(seats, (job.first, job.second), strict=True):
        output = _output_of(seat)
        text = "" if output is None else "".join(_lines(number, output))
        if text:
            name = file_name(competitor.label)
            found.append(LogPart(job.tournament_name, name, text.encode(), "output"))
    return found


def _output_of(seat: Seat) -> BotOutput | None:
    if isinstance(seat, HostedSeat):
        return seat.wire.output
    return seat.output if isinstance(seat, InProcessSeat) else None


def _lines(number: str, output: BotOutput) -> Iterator[str]:
    """Yield `89 17| text` for each line (match, ply, text), and a note on how much is left out."""
    num_bytes, num_dropped = 0, output.num_dropped
    for ply, text in output.lines():
        for part in _parts(text):
            line = f"{number} {ply}| {part}\n"
            # The prefix counts, too: a million empty lines are mostly prefixes.
            num_bytes += len(line.encode())
            if num_bytes > MAX_BYTES:
                num_dropped += len(part.encode()) + 1
            else:
                yield line
    if num_dropped:
        yield f"{number} *| {num_dropped} more bytes were printed; at most {MAX_BYTES} per match are kept\n"


def _parts(text: str) -> Iterator[str]:
    """Split a line into cleaned pieces; an empty line yields one empty piece."""
    for begin in range(0, max(len(text), 1), _MAX_LINE):
        part = text[begin : begin + _MAX_LINE]
        # Most lines need no cleaning, which takes a hundred times as long.
        yield part if part.isascii() and part.isprintable() else clean_text(part, _MAX_LINE)


def read_prints(tournament: str, label: str, number: int | None = None) -> Iterator[str]:
    """Yield the kept lines of a bot in a tournament, or in one of its matches; none if nothing is kept.

    Args:
        tournament: name of the tournament.
        label: label of the bot.
        number: number of a match, all attempts included; None for all matches.

    Raises:
        OSError: the file exists but cannot be read.
    """
    starts = () if number is None else (f"{number} ", f"{number}.", "* ")
    with (
        suppress(FileNotFoundError),
        prints_path(tournament, label).open(encoding="utf-8", errors="replace") as file,
    ):
        for line in file:
            if number is None or line.startswith(starts):
                yield line.rstrip("\n")


def keep_failure(label: str, stderr: str) -> tuple[list[str], Path | None]:
    """Store the stderr of a bot that failed its preflight or its check, in place of the previous one.

    Args:
        label: label of the bot.
        stderr: its output, which may contain control characters.

    Returns:
        Its last lines, cleaned, and the file with all of it; None if it is empty or cannot be written.
    """
    lines = [part for line in stderr[-MAX_BYTES:].splitlines() for part in _parts(line)]
    if not any(lines):
        return [], None
    path = home() / "logs" / _TRIALS / file_name(label)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        append(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError:
        return lines[-MAX_TAIL:], None
    return lines[-MAX_TAIL:], path
