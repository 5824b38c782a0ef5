"""The command `arena`."""

import os
import sys
from pathlib import Path

from arena.garbage import collect_rarely, leave_garbage
from arena.interrupts import repeat_lost_interrupts

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables that limit the threads of NumPy's linear algebra; the second one is for macOS."""

# At import time, so that it also applies to worker processes, which import this module.
collect_rarely()


def main() -> None:
    """Run the command line."""
    # While matches keep all cores busy, threads that share the inversion of one small matrix wait for each
    # other by spinning: a table of 200 bots then takes twice the CPU and the time. NumPy reads these
    # variables when it is imported; a value set by the user is kept.
    for name in _BLAS_THREADS:
        os.environ.setdefault(name, "1")
    # Imported late: worker processes import this module, too, and need no command line.
    from arena.cli.main import main as run

    repeat_lost_interrupts()
    try:
        run()
    finally:
        leave_garbage()


def _forget_current_folder() -> None:
    """Remove the current folder from `sys.path`, where `python -m` puts it first, unlike a console script."""
    if not sys.flags.safe_path and sys.path[0] in {"", str(Path.cwd())}:
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()
    main()
