"""Where things lie inside a container, and the words of a recipe; the arena needs to know them, too."""

from __future__ import annotations

SCRATCH = "/scratch"
"""The one folder that can be written to: home, temporary files, shared memory and compiled code."""
COMPILED_NAME = ".numba"
COMPILED = f"{SCRATCH}/{COMPILED_NAME}"
"""Where numba keeps what it compiled."""
SHM = f"{SCRATCH}/.shm"
CONTENT = "/bot"
"""The read-only content of the competitor."""

OWN_PROCFS, WHOLE_PROCFS, NO_PROCFS = "own", "all", "none"
"""What /proc shows: the processes inside, all that the kernel tells of itself too, or nothing."""
FILL_SPACE, FILL_INODES = FILLS = ("space", "inodes")
"""What of the scratch folder can be used up before the bot starts."""
