"""What the processes of a cluster are told when they start, and what a slot says to its supervisor."""

from __future__ import annotations

import msgspec

from arena.executor.cluster.contents import QUOTA
from arena.executor.cluster.facts import WorkerFacts
from arena.executor.slots import Slot

CONNECTED = "connected"
"""What a slot prints once it has joined."""
PLAYED = "played"
"""What a slot prints once it has played its first batch."""
LOST = 75
"""Exit status of a slot that has no scheduler any more, or ends an aborted match."""


class SchedulerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of a scheduler is told when it starts."""

    address: str
    """`tls://HOST:PORT`; port 0 takes a free one."""
    keys: str = ""
    """Path of the key file; empty for plain TCP."""
    parent: int
    """The process id it ends with."""


class SupervisorSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a supervisor is told."""

    address: str
    keys: str
    """Path of the key file; empty for plain TCP."""
    facts: WorkerFacts
    """What this machine is; how many slots it has is in there."""
    quota: int = QUOTA
    """Bytes of contents that this machine keeps."""
    parent: int = 0
    """The process id it ends with; 0 for none."""


class SlotSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of a slot is told when it starts."""

    address: str
    keys: str
    """Path of the key file; empty for plain TCP."""
    slot: Slot
    facts: WorkerFacts
    folder: str
    """For temporary files; the supervisor removes it."""
    parent: int
    """The process id of the supervisor."""
    programs_roam: bool
    """See `Core`."""
    quota: int = QUOTA
    """Bytes of contents that this machine keeps."""
