"""The tiers of isolation a bot can be run in."""

from __future__ import annotations

import os
from enum import StrEnum


class Tier(StrEnum):
    """How a bot is kept apart, weakest first; the value is what records and options say."""

    T0 = "T0"
    """In the process of the worker: trusted bots only."""
    T1 = "T1"
    """A process group of its own with a clean environment, a scratch folder and resource limits."""


def strongest_tier() -> Tier:
    """Give the strongest tier this machine has."""
    return Tier.T1 if os.name == "posix" else Tier.T0
