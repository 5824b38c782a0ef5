"""The last conformance check of each bot, kept beside the store for the pages about bots."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from arena.home import home

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins.conformance import Check

_FOLDER: Final = "checks"
_MAX_BYTES: Final = 100_000
"""Maximum bytes of a file; a larger one was not written by this module and is ignored."""
_MAX_FILES: Final = 1000
"""Maximum number of files that are read: there is one for each bot, and none is ever removed."""
_MAX_TEXT: Final = 500
"""Maximum characters of a failed check: its detail comes from the bot."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the conformance kit."""

    bot: str
    """The spec as it was typed, such as `mcts:playouts=20`."""
    identity: str
    """Identity of the competitor that was checked; if it differs today, the bot has changed."""
    game: str
    t: float
    """When the run ended, in seconds since 1970 (UTC)."""
    num_passed: int
    failed: tuple[str, ...]
    """One sentence for each check that failed, with its finding."""

    @property
    def num_checks(self) -> int:
        """Number of checks in the run."""
        return self.num_passed + len(self.failed)


def summary(bot: str, identity: str, game: str, t: float, checks: Sequence[Check]) -> Checked:
    """Return the summary of a run of the kit."""
    failed = [
        f"{check.number} {check.title} ({check.detail})"[:_MAX_TEXT] for check in checks if not check.passed
    ]
    return Checked(
        bot=bot,
        identity=identity,
        game=game,
        t=t,
        num_passed=len(checks) - len(failed),
        failed=tuple(failed),
    )


def keep(checked: Checked) -> None:
    """Store a summary in place of the previous one; if that fails, it is lost without an error."""
    path = _folder() / f"{sha256(checked.bot.encode()).hexdigest()[:32]}.json"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # The rename is atomic, so a concurrent reader sees either the old file or the new one.
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            file.write(msgspec.json.encode(checked))
        Path(file.name).replace(path)


def last_checks() -> dict[str, Checked]:
    """Return the last check of each bot by its spec; unreadable files are skipped."""
    found: dict[str, Checked] = {}
    with suppress(OSError):
        for path in sorted(_folder().glob("*.json"))[:_MAX_FILES]:
            with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
                if path.stat().st_size <= _MAX_BYTES:
                    checked = msgspec.json.decode(path.read_bytes(), type=Checked)
                    found[checked.bot] = checked
    return found


def _folder() -> Path:
    return home() / _FOLDER
