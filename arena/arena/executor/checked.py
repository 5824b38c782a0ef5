"""What the last check of each bot found: kept beside the store, for whoever looks at bots."""

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
"""A larger file is none of ours."""
_MAX_FILES: Final = 1000
_MAX_TEXT: Final = 500


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the conformance kit."""

    bot: str
    """As it was written, `mcts:playouts=20`."""
    identity: str
    """Of the competitor that was checked: another one now is a bot that has changed."""
    game: str
    t: float
    """When it ended, UTC seconds."""
    num_passed: int
    failed: tuple[str, ...]
    """Checks that failed, with what was found, one sentence each."""

    @property
    def num_checks(self) -> int:
        """How many checks there were."""
        return self.num_passed + len(self.failed)


def summary(bot: str, identity: str, game: str, t: float, checks: Sequence[Check]) -> Checked:
    """Sum up what the kit found."""
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
    """Keep it in place of the one before; where that cannot be written, nothing is kept and nobody hurt."""
    path = _folder() / f"{sha256(checked.bot.encode()).hexdigest()[:32]}.json"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Renamed when it is whole: who reads meanwhile sees the old one or the new one.
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            file.write(msgspec.json.encode(checked))
        Path(file.name).replace(path)


def last_checks() -> dict[str, Checked]:
    """Give the last check of each bot by what was checked; files that cannot be read do not count."""
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
