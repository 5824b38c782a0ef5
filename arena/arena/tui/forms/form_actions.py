"""Changes that the dashboard makes to matches and tournaments; these are slow and belong in threads."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING, Final

from arena.errors import ArenaError
from arena.home import open_store, removed_file
from arena.results.corrections import author, declare_void
from arena.tui.shell import child
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_JOIN_S: Final = 180.0
"""Maximum seconds for a bot to be copied and to answer its first position."""
_MAX_TEXT: Final = 500
"""Maximum number of characters shown of the last line of a command's output."""


def set_void(option: str | None, number: int, reason: str, *, undo: bool) -> str:
    """Declare a match void or count it again, and return a sentence about the result.

    Args:
        option: path of the store; None for the default place.
        number: number of the match in the store.
        reason: the reason, stored with the change.
        undo: whether to count the match again.

    Raises:
        ArenaError: there is no such match, or the store cannot be written.
    """
    with open_store(option, create=False) as store:
        match = store.matches.find(number)
        if match is None:
            raise ArenaError(f"there is no match #{number}")
        changed = declare_void(store, [match.tournament], [number], reason, undo=undo)
    if not changed:
        return f"it {'counted' if undo else 'was void'} before"
    return "it counts again" if undo else "it is void: no table counts it"


def archive_event(option: str | None, number: int, *, undo: bool) -> str:
    """Hide a tournament from lists, or list it again; return a sentence about the result.

    Raises:
        ArenaError: the tournament is gone or is being run, or the store cannot be written.
    """
    with open_store(option, create=False) as store:
        record = _event(store, number)
        store.changes.archive(record.id, who=author(), undo=undo)
    return f"{record.name} is {'listed again' if undo else 'archived; a lists it, too'}"


def remove_event(option: str | None, number: int) -> str:
    """Move a tournament out of the store to a file of its own; return a sentence with its path.

    Raises:
        ArenaError: the tournament is gone or is being run, the file exists, or the store cannot be written.
    """
    with open_store(option, create=False) as store:
        record = _event(store, number)
        file = removed_file(option, record.name)
        store.transfers.remove(record.id, file, who=author())
    return f"{record.name} is in {file}; arena db merge {shlex.quote(str(file))} takes it back"


def withdraw_bot(option: str | None, event: str, bot: str, reason: str) -> str:
    """Withdraw a bot from a tournament; return a sentence with the bots that left.

    Raises:
        ArenaError: no such bot plays there, or the store cannot be written.
    """
    from arena.coordinator import joining

    with open_store(option, create=False) as store:
        record = joining.find_open_event(store, event)
        left = joining.leave(store, record, bot, reason=reason)
    return f"{', '.join(entrant.label for entrant in left)} left {event}; what it played counts"


def disqualify_bot(option: str | None, event: str, bot: str, reason: str) -> str:
    """Disqualify a bot of a tournament; return a sentence with the bots and the number of void matches.

    Raises:
        ArenaError: no such bot plays there, or the store cannot be written.
    """
    from arena.coordinator import joining

    with open_store(option, create=False) as store:
        record = joining.find_open_event(store, event)
        gone = joining.disqualify(store, record, bot, reason=reason)
    names, num = ", ".join(entrant.label for entrant, _ in gone), sum(num for _, num in gone)
    return f"{names} is disqualified from {event}; {num} match{'' if num == 1 else 'es'} became void"


def enter_bot(words: list[str]) -> str:
    """Run the command that enters a bot in a tournament, and return the last line of its output.

    The bot is copied and started, which belongs in a process of its own.

    Raises:
        ArenaError: the command failed; the message is the last line of its output.
    """
    try:
        done = subprocess.run(  # noqa: S603 # this program, and words as a list
            [*child.PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_JOIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ArenaError(f"the bot could not be entered: {error}") from error
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    said = clean_text(lines[-1], _MAX_TEXT) if lines else f"the command ended with {done.returncode}"
    if done.returncode:
        raise ArenaError(said)
    return said


def _event(store: Store, number: int) -> TournamentRecord:
    record = store.tournaments.find(number)
    if record is None:
        raise ArenaError(f"event {number} is no longer in {store.place}")
    return record


def installed_bots() -> tuple[str, ...]:
    """Return the names of all bots that can enter a tournament, sorted; no bot is loaded."""
    from arena.shelf.listing import list_bots

    return tuple(sorted(list_bots().entries))
