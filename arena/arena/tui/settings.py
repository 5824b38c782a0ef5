"""The saved settings of the dashboard: its theme, and how boards and cells are shown."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from arena.home import home
from arena.live.wall import Sort
from arena.tui.widgets.encounter_tables import Mode

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

FILE: Final = "dashboard.json"
"""Name of the file in the arena's home."""
_MAX_BYTES: Final = 10_000
"""Maximum number of bytes that are read of the file."""


class SavedSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The saved settings; filters are not saved, because a forgotten one would hide data."""

    theme: str = ""
    """Name of the theme; empty for the default one."""
    sort: Sort = "place"
    """Order of the boards."""
    zoom: int = 0
    """Number of steps by which the boards are enlarged."""
    shows_evals: bool = True
    """Whether boards show search information."""
    cells: Mode = "score"
    """What the cells of the matrix show."""


class SettingsFile:
    """The file with the settings; if it cannot be read or written, only the settings are lost."""

    def __init__(self, path: Path | None = None) -> None:
        """Store the path of the file; None for the default place."""
        self._path = home() / FILE if path is None else path

    def read(self) -> SavedSettings:
        """Return the saved settings; the defaults if there is no readable file."""
        with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError), self._path.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_BYTES), type=SavedSettings)
        return SavedSettings()

    def keep(self, **changes: Any) -> None:  # noqa: ANN401 # of any setting
        """Change some settings; other settings that another dashboard has changed meanwhile are kept."""
        settings = msgspec.structs.replace(self.read(), **changes)
        # A name per process: two dashboards may write at once, and readers must see a complete file.
        draft = self._path.with_name(f".{FILE}-{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
            draft.replace(self._path)
