"""Prints the stderr of a bot that failed its first position or its check."""

from __future__ import annotations

from arena.cli.output import say
from arena.executor.prints import keep_failure


def print_failure(label: str, stderr: str) -> None:
    """Print the last lines that a bot wrote to stderr, and the path where all of them are kept."""
    lines, path = keep_failure(label, stderr)
    if lines:
        place = "" if path is None else f" (kept in {path})"
        say(f"{label} wrote to stderr{place}:", err=True)
    for line in lines:
        say(f"  {line}", err=True)
