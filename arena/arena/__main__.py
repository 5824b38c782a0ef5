"""The command `arena`."""

import os
import sys
from pathlib import Path

from arena.garbage import collect_rarely, leave_garbage
from arena.interrupts import repeat_lost_interrupts

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""How NumPy's linear algebra is told its number of threads, on Linux and Windows, and on macOS."""

# For workers as well, which import the module that began their run.
collect_rarely()


def main() -> None:
    """Run the command line."""
    # On a machine that plays matches, the threads that share one small inverse wait for each other by
    # spinning: a table of 200 bots then takes twice the CPU and the time. NumPy reads this when it is
    # imported; a value that the user has set counts.
    for name in _BLAS_THREADS:
        os.environ.setdefault(name, "1")
    # Not above: a worker imports the module that began its run, and has no use for a command line.
    from arena.cli.main import main as run

    repeat_lost_interrupts()
    try:
        run()
    finally:
        leave_garbage()


def _forget_current_folder() -> None:
    """Import nothing more from the current folder, which `python -m` puts first; a script does not."""
    if not sys.flags.safe_path and sys.path[0] in {"", str(Path.cwd())}:
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()
    main()
