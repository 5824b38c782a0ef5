"""The errors of the contract, and the one the core adds.

ArenaError                (see arena_plugins.errors for the whole tree)
├── StoreError                the store is damaged, newer, foreign, locked or full
└── ConfigError               a tournament that cannot be held as it is written
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


__all__ = [
    "ArenaError",
    "BotError",
    "BotTerminatedError",
    "BotTimeoutError",
    "ConfigError",
    "IllegalMoveError",
    "InvalidMoveError",
    "OptionError",
    "PluginError",
    "ProtocolError",
    "StoreError",
]
