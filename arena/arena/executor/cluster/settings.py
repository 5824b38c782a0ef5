"""How Dask is set: it carries messages and notices who is gone; all else is ours."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from dask import config
from distributed.security import Security

if TYPE_CHECKING:
    from arena.executor.cluster.key_files import KeyFile

SILENT_S = 30
"""Seconds without a sign of life after which a slot is lost."""
_SETTINGS: dict[str, object] = {
    # 10 s or less fail an assertion of Dask. A connection without an answer ends after it.
    "distributed.comm.timeouts.tcp": "12s",
    "distributed.comm.timeouts.connect": "5s",
    "distributed.scheduler.worker-ttl": f"{SILENT_S}s",
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # They watch the slot, not its bots.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.low-level-log-length": 4,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.preload": [],
    "distributed.scheduler.preload": [],
}


def set_dask() -> None:
    """Set what Dask reads from its configuration, whatever the user's says."""
    config.set(_SETTINGS)


def security_of(key: KeyFile | None) -> Security:
    """Return how connections are secured: TLS 1.3 with certificates on both ends, or not at all."""
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
