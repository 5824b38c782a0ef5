"""How a machine computes floating-point numbers: machines with equal descriptions get equal results."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Final

LIBRARIES: Final = ("numpy", "numba", "llvmlite", "onnxruntime")
"""The libraries that compute in self-play."""
_FLAGS: Final = ("avx", "amx", "fma", "f16c", "sse", "ssse", "bmi", "asimd", "sve", "neon", "fp", "bf16")
"""Beginnings of the names of instruction sets for which these libraries have code of their own."""


@cache
def arithmetic() -> str:
    """Return the description: processor type, instruction sets, C library and versions of `LIBRARIES`.

    Libraries choose their kernels by instruction set, and each kernel adds and rounds in its own order. Two
    processors with the same instruction sets run the same kernels.
    """
    versions = ", ".join(f"{name} {_version(name)}" for name in LIBRARIES)
    libc = "-".join(platform.libc_ver()) or sys.platform
    sets = hashlib.sha256(" ".join(_instruction_sets()).encode()).hexdigest()[:8]
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"{platform.machine()} with instruction sets {sets}, {libc}, python {python}, {versions}"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def _instruction_sets() -> list[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return [platform.processor()]
    flags = [line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))]
    return sorted({name for name in " ".join(flags).split() if name.startswith(_FLAGS)})
