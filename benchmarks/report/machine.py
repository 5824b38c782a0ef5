"""On what a run was made: the machine, how busy it was, the versions of all that counts."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

OWN = ("bot-arena", "numpy", "numba", "llvmlite", "msgspec", "sqlalchemy")


def describe() -> dict[str, str]:
    """Give processor, cores, kernel and Python."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def load() -> float:
    """Give the mean number of processes that wanted to run in the last minute."""
    return round(os.getloadavg()[0], 1)


def versions() -> dict[str, str]:
    """Give the version of each distribution that our figures depend on."""
    return {name: metadata.version(name) for name in OWN}


def _processor() -> str:
    """Give the name of the processor, with family and model, as one name is given to many."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family')}, model {facts.get('model')})"
