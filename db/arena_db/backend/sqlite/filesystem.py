"""Detects network file systems, on which SQLite's locks do not work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/mounts")

_NETWORK: Final = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "ocfs2",
        "pvfs2",
        "smb3",
        "smbfs",
        "fuse.cephfs",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.sshfs",
    }
)
"""File systems shared by several machines: the index of a write-ahead log is in the memory of one machine
(https://www.sqlite.org/wal.html#overview)."""


def network_type(path: Path) -> str | None:
    """Return the type of the network file system that contains a path; None if it is not a known one."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    parents = {str(folder) for folder in (path.resolve(), *path.resolve().parents)}
    fields = [line.split(" ") for line in lines]
    # Of two mounts on one folder the later one is visible.
    mounts = {_unescaped(point): kind for _, point, kind, *_ in fields if _unescaped(point) in parents}
    kind = mounts[max(mounts, key=len)] if mounts else ""
    return kind if kind in _NETWORK else None


def _unescaped(text: str) -> str:
    """Return a field of `/proc/mounts` with its octal escapes of blanks and backslashes decoded."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
