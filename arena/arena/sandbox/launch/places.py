"""Where things lie inside a container; the arena needs to know it, too."""

from __future__ import annotations

SCRATCH = "/scratch"
"""The one folder that can be written to: home, temporary files, shared memory and compiled code."""
COMPILED_NAME = ".numba"
COMPILED = f"{SCRATCH}/{COMPILED_NAME}"
"""Where numba keeps what it compiled."""
SHM = f"{SCRATCH}/.shm"
CONTENT = "/bot"
"""The read-only content of the competitor."""
