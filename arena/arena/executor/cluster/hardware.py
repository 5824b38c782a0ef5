"""The hardware of a worker machine: its GPUs, and how it computes floating-point numbers."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAM: Final = "nvidia-smi"
_QUERY: Final = ("--query-gpu=index,uuid,name", "--format=csv,noheader")
_PATIENCE_S: Final = 20.0
"""Timeout of `nvidia-smi` in seconds; it first initialises each GPU whose persistence mode is off."""
_ID: Final = re.compile(r"[0-9]+|GPU-[0-9a-fA-F-]+")


def find_gpus(ids: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the GPUs with these ids.

    Args:
        ids: their indices or uuids.

    Raises:
        ConfigError: an id is malformed or given twice, or there is no such GPU here.
    """
    for gpu in ids:
        if not _ID.fullmatch(gpu) or ids.count(gpu) > 1:
            raise ConfigError(f"--gpu {','.join(ids)}: write different indices or uuids, such as --gpu 0,1")
    names = _names()
    missing = [gpu for gpu in ids if gpu not in names]
    if missing:
        known = ", ".join(gpu for gpu in names if gpu.isdigit()) or "none"
        raise ConfigError(
            f"--gpu {missing[0]}: {_PROGRAM} lists no such GPU here (GPUs: {known}); leave --gpu out to "
            "offer processors only"
        )
    return tuple(names[gpu] for gpu in ids)


def describe_gpus(names: Sequence[str]) -> str:
    """Return the names of GPUs in a few words, as in `2 GPUs (NVIDIA H100)`; empty without a GPU."""
    if not names:
        return ""
    kinds = [f"{num} {name}" if len(set(names)) > 1 else name for name, num in Counter(names).items()]
    return f"{len(names)} GPU{'s' * (len(names) != 1)} ({', '.join(kinds)})"


def _names() -> dict[str, str]:
    """Return the name of each GPU, by index and by uuid; empty without a driver."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return {}
    try:
        said = subprocess.run(  # noqa: S603 - the driver's own program
            [program, *_QUERY], capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    # Split at most twice: the name may contain a comma.
    rows = [[word.strip() for word in line.split(",", 2)] for line in said.splitlines()]
    return {gpu: row[2] for row in rows if len(row) == 3 for gpu in row[:2]}  # noqa: PLR2004 - as in the query


LIBRARIES: Final = ("numpy", "numba", "llvmlite", "onnxruntime")
"""The libraries that compute in self-play."""
_FLAGS: Final = ("avx", "amx", "fma", "f16c", "sse", "ssse", "bmi", "asimd", "sve", "neon", "fp", "bf16")
"""Prefixes of the names of instruction sets for which these libraries have separate code."""


@cache
def arithmetic() -> str:
    """Describe how this machine computes: processor, instruction sets, C library, versions of `LIBRARIES`.

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
    # x86 lists its instruction sets as `flags`, ARM as `Features`, with one line for each core.
    flags = [line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))]
    return sorted({name for name in " ".join(flags).split() if name.startswith(_FLAGS)})
