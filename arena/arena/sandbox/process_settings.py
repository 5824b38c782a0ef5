"""What is started for a bot: its command, isolation, limits, files and cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.sandbox.readable import Readable


class ProcessSettings(NamedTuple):
    """The settings of one process of a bot."""

    command: Sequence[str]
    """Program and arguments, as absolute paths, because it runs in a scratch folder."""
    tier: Tier = Tier.T1
    """The isolation tier."""
    resources: Resources = Resources()
    """Its resource limits."""
    readable: Readable | None = None
    """The files it may read in T2 and T3; None for everything that this interpreter can import."""
    engine: Sequence[str] | None = None
    """Program (an absolute path) and arguments of an engine that is started beside it; see `spawn`."""
    cores: Collection[int] | None = None
    """The cores it may run on; None for those of this process."""
