"""Advice for machines on which a tier cannot be set up."""

from __future__ import annotations

import sys
from pathlib import Path

_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
_MOST = Path("/proc/sys/user/max_user_namespaces")
_CALLS = ("clone", "mount", "pivot_root", "uid_map", "gid_map", "setgroups")
"""Calls and files with which namespaces are created and filled."""


def cure(cause: str) -> str:
    """Return what an administrator can do so that a tier can be set up; empty if unknown.

    Args:
        cause: the launcher's error, which names the refused call.
    """
    if "landlock" in cause:
        return 'add "landlock" to the kernel parameter lsm=, or use Linux 6.12 or later'
    if any(word in cause for word in _CALLS) and sys.platform == "linux":
        return _cure_namespaces()
    return ""


def _cure_namespaces() -> str:
    if _number(_RESTRICTED) == 1:
        return (
            "AppArmor restricts user namespaces on this machine (Ubuntu 23.10 and later, see "
            "https://github.com/containers/bubblewrap/issues/632): install a profile with `userns,` for this "
            f"interpreter, or set {_sysctl(_RESTRICTED)}=0"
        )
    for path, value in ((_CLONE, 1), (_MOST, 10_000)):
        if _number(path) == 0:
            return f"unprivileged user namespaces are disabled on this machine: set {_sysctl(path)}={value}"
    return (
        "Docker's default filter of system calls forbids namespaces: start the container with "
        "--security-opt seccomp=unconfined, or run the arena as root with CAP_SYS_ADMIN"
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _sysctl(path: Path) -> str:
    return ".".join(path.parts[3:])
