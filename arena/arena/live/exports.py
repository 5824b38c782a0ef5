"""View-models of an export: the form, the command line that it equals, and what would be exported."""

from __future__ import annotations

import msgspec

from arena.errors import ConfigError
from arena.live.tables import MatchRow

OFF_ON = ("off", "on")
POSITIONS = ("parquet", "npz", "jsonl", "csv")
"""Formats that are a folder of positions; the others are a file of matches."""


class ExportForm(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wrote into the form; an empty field leaves the default of the command."""

    format: str = "npz"
    out: str = ""
    """The folder or file that is to be written."""
    filter: str = ""
    """In the language of filters."""
    limit: str = ""
    """The newest, so many."""
    split: str = ""
    """Share for training, between 0 and 1."""
    dedup: str = "off"
    disjoint: str = "off"
    forfeits: str = "off"
    unrated: str = "off"

    @property
    def is_of_positions(self) -> bool:
        """Whether a folder of positions comes of it, not a file of matches."""
        return self.format in POSITIONS

    def words(self, conditions: list[str]) -> list[str]:
        """Give the command line behind `arena`, a word each.

        Args:
            conditions: what the filter is as options of the command.

        Raises:
            ConfigError: a field is missing, or does not go with the format.
        """
        out = self.out.strip()
        if not out:
            raise ConfigError("out: name the folder or file that is to be written")
        shares = {"split": self.split.strip(), "limit": self.limit.strip()}
        switches = {
            "dedup": self.dedup,
            "disjoint": self.disjoint,
            "include-forfeits": self.forfeits,
            "unrated": self.unrated,
        }
        words = ["export", f"--format={self.format}", *conditions]
        words += [f"--{name}={value}" for name, value in shares.items() if value]
        words += [f"--{name}" for name, value in switches.items() if value == "on"]
        return [*words, "--", out]


class ExportPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What would be exported."""

    num_matches: int = 0
    num_positions: int = 0
    games: tuple[str, ...] = ()
    """Specs; an export holds matches of one."""
    newest: tuple[MatchRow, ...] = ()
    """The newest of the matches."""

    @property
    def text(self) -> str:
        """`26 matches of tic-tac-toe, 213 positions`."""
        if not self.num_matches:
            return "no match fits; a filter leaves more, unrated: on takes those that do not count"
        if len(self.games) > 1:
            return f"matches of {len(self.games)} games: {', '.join(self.games)}; filter one of them by game:"
        game = f" of {self.games[0]}" if self.games else ""
        return f"{self.num_matches} matches{game}, {self.num_positions} positions"
