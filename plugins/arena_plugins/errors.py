"""The errors of the arena and of everything that plugs into it.

    ArenaError
    ├── InvalidMoveError      not a move at all: cannot be read, no such action
    ├── IllegalMoveError      a move, but not allowed in this state
    ├── BotError              a bot failed at its job
    │   ├── BotTimeoutError       no answer before the deadline
    │   └── BotTerminatedError    its process ended
    ├── ProtocolError         bytes that are not arena-bot/1
    └── PluginError           a plugin that cannot be found, loaded or configured
        └── OptionError           an option a plugin refuses

`arena.errors` adds `StoreError`.
"""


class ArenaError(Exception):
    """The base of every error that the arena raises deliberately; its text is written for users."""


class InvalidMoveError(ArenaError):
    """The text or number is not a move of this game."""


class IllegalMoveError(ArenaError):
    """The action exists in this game but is not allowed in this state."""


class BotError(ArenaError):
    """A bot failed; the text is the reason."""


class BotTimeoutError(BotError):
    """A bot did not answer before its deadline."""


class BotTerminatedError(BotError):
    """A bot's process ended before it answered."""


class ProtocolError(ArenaError):
    """A line that is not a valid arena-bot/1 message."""


class PluginError(ArenaError):
    """A plugin cannot be found, loaded or configured."""


class OptionError(PluginError):
    """A game, bot or trainer does not know an option, or rejects its value."""
