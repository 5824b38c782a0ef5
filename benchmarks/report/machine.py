"""Describes the machine of a run: processor, load, and the versions of the distributions that matter."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

OWN = ("bot-arena", "numpy", "numba", "llvmlite", "msgspec", "sqlalchemy")


def describe() -> dict[str, str]:
    """Return processor, cores, kernel and Python version."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def load() -> float:
    """Return the mean number of runnable processes over the last minute."""
    return round(os.getloadavg()[0], 1)


def versions() -> dict[str, str]:
    """Return the version of each distribution that our figures depend on."""
    return {name: metadata.version(name) for name in OWN}


def _processor() -> str:
    """Return the name of the processor with family and model, because one name is shared by many models."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family')}, model {facts.get('model')})"
