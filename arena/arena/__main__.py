"""The command `arena`."""

import sys
from pathlib import Path


def main() -> None:
    """Run the command line."""
    # Not above: a worker imports the module that began its run, and has no use for a command line.
    from arena.cli.main import main as run

    run()


def _forget_current_folder() -> None:
    """Import nothing more from the current folder, which `python -m` puts first; a script does not."""
    if not sys.flags.safe_path and sys.path[0] in {"", str(Path.cwd())}:
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()
    main()
