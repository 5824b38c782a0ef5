"""Bots that misbehave, one way each, to show what the referee and the isolation do about it.

Authors of adapters and games can play them too: `cases()` lists them with what each must end in. They speak
arena-bot/1 and need nothing but a Python interpreter and its standard library.
"""

from arena_plugins.hostile.cases import HostileCase, cases

__all__ = ["HostileCase", "cases"]
