"""Runs one bot of the list, or prints the list: `python -m arena_plugins.hostile LIST|NAME`.

It can also be started by its path under `python -I -S`: the bots need the standard library only.
"""

import sys
from pathlib import Path
from types import ModuleType

if not __package__:
    # Started by its path: the real package would import libraries that a bare interpreter does not see.
    package = ModuleType("arena_plugins")
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules[package.__name__] = package

from arena_plugins.hostile.run import main

if __name__ == "__main__":
    main(sys.argv[1:])
