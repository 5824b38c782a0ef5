"""Runs one hostile bot, or prints the list of them: `python -m arena_plugins.hostile LIST|NAME`.

It can also be started by path under `python -I -S`, because the bots need only the standard library.
"""

import sys
from pathlib import Path
from types import ModuleType

if not __package__:
    # Started by path: importing the real package would import libraries that are not on the path under -S.
    package = ModuleType("arena_plugins")
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules[package.__name__] = package

from arena_plugins.hostile.run import main

if __name__ == "__main__":
    main(sys.argv[1:])
