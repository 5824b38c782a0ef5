"""View-models of the forms for an export and for a session against a bot, with their command lines."""

from __future__ import annotations

import msgspec

from arena.errors import ConfigError
from arena.live.table_views import MatchRow

OFF_ON = ("off", "on")


class ExportForm(msgspec.Struct, frozen=True, kw_only=True):
    """Input of the export form; an empty field selects the default of the command."""

    format: str = "npz"
    out: str = ""
    """The folder or file to write."""
    filter: str = ""
    """Condition in the filter language."""
    limit: str = ""
    """Maximum number of matches; the newest are exported."""
    split: str = ""
    """Share for training, between 0 and 1."""
    dedup: str = "off"
    disjoint: str = "off"
    forfeits: str = "off"
    unrated: str = "off"

    def words(self, conditions: list[str]) -> list[str]:
        """Return the equivalent command line without `arena`, as a list of words.

        Args:
            conditions: the filter as options of the command.

        Raises:
            ConfigError: a field is missing or incompatible with the format.
        """
        out = self.out.strip()
        if not out:
            raise ConfigError("out: name the folder or file to write")
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
    """Number and sample of the matches that would be exported."""

    num_matches: int = 0
    num_positions: int = 0
    games: tuple[str, ...] = ()
    """Specs of the games; an export holds matches of only one."""
    newest: tuple[MatchRow, ...] = ()
    """The newest of the matches."""

    @property
    def text(self) -> str:
        """A summary: `26 matches of tic-tac-toe, 213 positions`."""
        if not self.num_matches:
            return "no match fits; relax the filter, or set unrated: on to include unrated matches"
        if len(self.games) > 1:
            return (
                f"matches of {len(self.games)} games: {', '.join(self.games)}; select one of them with game:"
            )
        game = f" of {self.games[0]}" if self.games else ""
        return f"{self.num_matches} matches{game}, {self.num_positions} positions"


SIDES = ("first", "second")
"""The side of the person in the first match."""


class PlayForm(msgspec.Struct, frozen=True, kw_only=True):
    """Input of the form for a session; an empty field selects the default of the command."""

    bot: str = ""
    """Spec of the bot."""
    game: str = ""
    side: str = "first"
    st: str = ""
    clock: str = ""
    nodes: str = ""
    opening: str = ""
    hint: str = ""
    rated: str = "off"

    def words(self) -> list[str]:
        """Return the equivalent command line without `arena`, as a list of words; defaults are omitted.

        Raises:
            ConfigError: there is no bot.
        """
        if not self.bot.strip():
            raise ConfigError("name the bot to play against, such as mcts:playouts=1000")
        given = [f"--{name}={value}" for name, value in self._options().items()]
        given += ["--second"] if self.side == "second" else []
        given += ["--rated"] if self.rated == "on" else []
        return ["play", *given, "--", self.bot.strip()]

    def values(self) -> dict[str, object]:
        """Return the input as option values of the command.

        Raises:
            ConfigError: a number cannot be parsed.
        """
        values: dict[str, object] = {"game": "connect-four", **self._options()}
        for name, kind, what in (("st", float, "number of seconds"), ("nodes", int, "whole number")):
            if name in values:
                try:
                    values[name] = kind(str(values[name]))
                except ValueError as error:
                    raise ConfigError(f'{name}: "{values[name]}" is not a {what}') from error
        return {**values, "bot": self.bot.strip(), "side": self.side, "rated": self.rated == "on"}

    def _options(self) -> dict[str, str]:
        names = ("game", "st", "clock", "nodes", "opening", "hint")
        return {name: value.strip() for name in names if (value := getattr(self, name)).strip()}
