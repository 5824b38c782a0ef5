"""Bots that misbehave, each in one way, to test how the referee and the sandbox react.

Authors of adapters and games can use them too: `cases()` lists them with the expected terminations. They
speak arena-bot/1 and need only a Python interpreter with its standard library.
"""

from arena_plugins.hostile.table import HostileCase, cases

__all__ = ["HostileCase", "cases"]
