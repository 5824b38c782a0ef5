"""Paths inside a container and keywords of a recipe, shared by the launcher and the arena."""

from __future__ import annotations

SCRATCH = "/scratch"
"""The only writable folder: home, temporary files, shared memory and compiled code."""
COMPILED_NAME = ".numba"
COMPILED = f"{SCRATCH}/{COMPILED_NAME}"
"""The folder of numba's cache."""
SHM = f"{SCRATCH}/.shm"
CONTENT = "/bot"
"""The read-only content of the competitor."""

OWN_PROCFS, WHOLE_PROCFS, NO_PROCFS = "own", "all", "none"
"""What /proc shows: the processes inside, these and all of the kernel's information, or nothing."""
FILL_SPACE, FILL_INODES = FILLS = ("space", "inodes")
"""The resources of the scratch folder that can be exhausted before the bot starts."""
