"""Dask's configuration: Dask only carries messages and detects lost members; the arena does the rest."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from dask import config
from distributed.security import Security

if TYPE_CHECKING:
    from arena.executor.cluster.key_files import KeyFile

SILENT_S = 30
"""Seconds without a heartbeat after which a slot counts as lost."""
_SETTINGS: dict[str, object] = {
    # An unanswered connection ends after this time. Values up to 10 s fail an assertion in Dask.
    "distributed.comm.timeouts.tcp": "12s",
    # Long enough for a scheduler that a thousand slots join at once: an attempt that ends early is repeated,
    # which keeps the scheduler busy with handshakes.
    "distributed.comm.timeouts.connect": "30s",
    "distributed.scheduler.worker-ttl": f"{SILENT_S}s",
    # Dask's own scheduling is never used: a batch is a message, and losses are judged by the coordinator.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    # No web pages: each would be a further way into the process.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # These monitor the memory of the slot process, not of its bots, which have limits of their own.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    # Dask warns of each longer pause of its loop, of which a busy machine has many.
    "distributed.admin.tick.limit": "60s",
    # By default every member wakes fifty times a second to measure such pauses.
    "distributed.admin.tick.interval": "5s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.low-level-log-length": 4,
    # The arena does not use these measurements, each of which lists all open files of the process.
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.system-monitor.disk": False,
    # A preload in the user's configuration would run other code in the process.
    "distributed.worker.preload": [],
    "distributed.scheduler.preload": [],
}


def set_dask() -> None:
    """Apply the arena's settings of Dask, which override those of the user."""
    config.set(_SETTINGS)


def security_of(key: KeyFile | None) -> Security:
    """Return how connections are secured: TLS 1.3 with certificates on both ends, or plain TCP."""
    if key is None:
        return Security(require_encryption=False)
    roles = {
        f"tls_{role}_{part}": text
        for role in ("scheduler", "worker", "client")
        for part, text in (("cert", key.certificate), ("key", key.key))
    }
    return Security(
        tls_ca_file=key.authority, tls_min_version=ssl.TLSVersion.TLSv1_3, require_encryption=True, **roles
    )
