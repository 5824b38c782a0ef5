"""View-model of a play that is to begin: the form, and the command line that it equals."""

from __future__ import annotations

import msgspec

from arena.errors import ConfigError

SIDES = ("first", "second")
"""Who the person is in the first match."""


class PlayForm(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wrote into the form; an empty field leaves the default of the command."""

    bot: str = ""
    """Its spec."""
    game: str = ""
    side: str = "first"
    st: str = ""
    clock: str = ""
    nodes: str = ""
    opening: str = ""
    hint: str = ""
    rated: str = "off"

    def words(self) -> list[str]:
        """Give the command line behind `arena`, a word each; what is at its default is left out.

        Raises:
            ConfigError: there is no bot.
        """
        if not self.bot.strip():
            raise ConfigError("name the bot that you want to play, as: mcts:playouts=1000")
        given = [f"--{name}={value}" for name, value in self._options().items()]
        given += ["--second"] if self.side == "second" else []
        given += ["--rated"] if self.rated == "on" else []
        return ["play", *given, "--", self.bot.strip()]

    def values(self) -> dict[str, object]:
        """Give what is written, as values by option of the command.

        Raises:
            ConfigError: a number is none.
        """
        values: dict[str, object] = {"game": "connect-four", **self._options()}
        for name, kind, what in (("st", float, "number of seconds"), ("nodes", int, "whole number")):
            if name in values:
                try:
                    values[name] = kind(str(values[name]))
                except ValueError as error:
                    raise ConfigError(f'{name}: "{values[name]}" is no {what}') from error
        return {**values, "bot": self.bot.strip(), "side": self.side, "rated": self.rated == "on"}

    def _options(self) -> dict[str, str]:
        names = ("game", "st", "clock", "nodes", "opening", "hint")
        return {name: value.strip() for name in names if (value := getattr(self, name)).strip()}
