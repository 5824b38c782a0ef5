"""The errors of the contract, and those the core adds.

ArenaError                (see arena_plugins.errors for the whole tree)
├── StoreError                the store is damaged, newer, foreign, locked or full
├── ConfigError               a tournament that cannot be held as it is written
├── BotFailedError            a bot that does not start, or fails its first position or its check
├── NotFoundError             something that was asked for by name, number or address is not there
└── ExportError               an export that cannot be written, or read again
"""

from arena_plugins.errors import (
    ArenaError,
    BotError,
    BotTerminatedError,
    BotTimeoutError,
    IllegalMoveError,
    InvalidMoveError,
    OptionError,
    PluginError,
    ProtocolError,
)


class StoreError(ArenaError):
    """The store cannot be used; the text says why and what to do."""


class ConfigError(ArenaError):
    """An option, a file or a combination of them that no tournament can be made of."""


class NotFoundError(ArenaError):
    """Something that was asked for by name, number or address is not there; the text names the nearest."""


class BotFailedError(ArenaError):
    """A bot that does not start, or fails its first position or its check."""


class ExportError(ArenaError):
    """Matches that cannot be exported, or an export that is damaged, foreign or of another version."""


__all__ = [
    "ArenaError",
    "BotError",
    "BotFailedError",
    "BotTerminatedError",
    "BotTimeoutError",
    "ConfigError",
    "ExportError",
    "IllegalMoveError",
    "InvalidMoveError",
    "NotFoundError",
    "OptionError",
    "PluginError",
    "ProtocolError",
    "StoreError",
]
