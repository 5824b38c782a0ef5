"""What the dashboard remembers from one start to the next: its theme, and how boards and cells are shown."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from arena.home import home
from arena.live.wall import Sort
from arena.tui.widgets.matrix import Mode

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

FILE: Final = "dashboard.json"
"""Name of the file in the arena's home."""
_MAX_BYTES: Final = 10_000


class SavedSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is remembered; a filter is not, because it would hide things from whoever forgot about it."""

    theme: str = ""
    """Name of the theme; empty for the usual one."""
    sort: Sort = "place"
    """Order of the boards on the wall."""
    zoom: int = 0
    """Steps by which the boards on the wall are larger."""
    shows_evals: bool = True
    """Whether boards on the wall show what searches say."""
    cells: Mode = "score"
    """What the cells of the matrix show."""


class SettingsFile:
    """The file in which settings are kept; one that cannot be read or written costs the settings alone."""

    def __init__(self, path: Path | None = None) -> None:
        """Keep the path of the file; None for the usual place."""
        self._path = home() / FILE if path is None else path

    def read(self) -> SavedSettings:
        """Return what is kept; the defaults where there is no file, or none that can be read."""
        with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError), self._path.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_BYTES), type=SavedSettings)
        return SavedSettings()

    def keep(self, **changes: Any) -> None:  # noqa: ANN401 # of any setting
        """Change some settings; those that another dashboard has changed meanwhile stay as they are there."""
        settings = msgspec.structs.replace(self.read(), **changes)
        # A name of its own: two dashboards may write at once, and a reader sees one file or the other.
        draft = self._path.with_name(f".{FILE}-{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
            draft.replace(self._path)
