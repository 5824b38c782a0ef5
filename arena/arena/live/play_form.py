"""View-model of a match against a person: the form and the equivalent command line."""

from __future__ import annotations

import msgspec

from arena.errors import ConfigError

SIDES = ("first", "second")
"""The side of the person in the first match."""


class PlayForm(msgspec.Struct, frozen=True, kw_only=True):
    """Input of the form; an empty field selects the default of the command."""

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
