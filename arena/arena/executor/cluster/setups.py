"""Parameters of the processes of a cluster, and the words that a slot reports to its supervisor."""

from __future__ import annotations

import msgspec

from arena.executor.cluster.contents import QUOTA
from arena.executor.cluster.facts import WorkerFacts
from arena.executor.slots import Slot

CONNECTED = "connected"
"""Printed by a slot once it has joined."""
PLAYED = "played"
"""Printed by a slot once it has played its first batch."""
BUSY = "busy"
"""Printed by a slot when it begins a batch or shard."""
FREE = "free"
"""Printed by a slot when it has ended a batch or shard."""
END = "end"
"""Written to a slot by its supervisor: finish what runs, begin nothing else, then end."""
LOST = 75
"""Exit status of a slot that lost its scheduler or aborted a match; 75 is EX_TEMPFAIL of sysexits.h."""


class SchedulerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a scheduler process."""

    address: str
    """`tls://HOST:PORT`; port 0 chooses a free port."""
    keys: str = ""
    """Path of the key file; empty for plain TCP."""
    parent: int
    """Id of the process with which it ends."""


class SupervisorSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a supervisor process."""

    address: str
    keys: str
    """Path of the key file; empty for plain TCP."""
    facts: WorkerFacts
    """Properties of this machine, among them its number of slots."""
    quota: int = QUOTA
    """Bytes of contents that this machine keeps."""
    gpus: tuple[str, ...] = ()
    """Ids of the GPUs of the first slots, one each, in the format of CUDA_VISIBLE_DEVICES."""
    measures_speed: bool = True
    """Whether the speed in `facts` is measured again now and then; if not, it is 0."""
    parent: int = 0
    """Id of the process with which it ends; 0 for none."""


class SlotSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a slot process."""

    address: str
    keys: str
    """Path of the key file; empty for plain TCP."""
    slot: Slot
    facts: WorkerFacts
    folder: str
    """Folder for temporary files; the supervisor removes it."""
    parent: int
    """Process id of the supervisor."""
    programs_roam: bool
    """Whether bots that are programs may use all cores; see `Core`."""
    quota: int = QUOTA
    """Bytes of contents that this machine keeps."""
