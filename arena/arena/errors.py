"""The errors of the contract, and those that the core adds.

ArenaError                (see arena_plugins.errors for the whole tree)
├── StoreError                the store is damaged, newer, foreign, locked or full
├── ConfigError               options or files that are invalid, or do not fit together ├── BotFailedError
a bot does not start, or fails its first position or its check ├── NotFoundError             nothing has the
requested name, number or address └── ExportError               an export cannot be written or read again
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
    """The store cannot be used; the message says why and what to do."""


class ConfigError(ArenaError):
    """An option, a file or a combination of them is invalid; the message says why."""


class NotFoundError(ArenaError):
    """Nothing has the requested name, number or address; the message contains the closest one."""


class BotFailedError(ArenaError):
    """A bot does not start, or fails its first position or its check."""


class ExportError(ArenaError):
    """Matches cannot be exported, or an export is damaged, foreign or of another version."""


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
