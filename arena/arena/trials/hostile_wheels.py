"""Wheels of hostile bots, and a separate home in which to install them."""

from __future__ import annotations

import os
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from arena.shelf.install import install

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

_HOME = "ARENA_HOME"


@contextmanager
def own_home(folder: Path) -> Generator[None]:
    """Set the arena's home to `folder` within a `with` block."""
    before = os.environ.get(_HOME)
    os.environ[_HOME] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_HOME]
        else:
            os.environ[_HOME] = before


def install_bot(name: str, sources: Mapping[str, str], folder: Path) -> None:
    """Build a wheel and install it, as `arena bots install` does.

    Args:
        name: name of the bot; its module has the same name with `_` for `-`.
        sources: content of the wheel's files by path.
        folder: folder for the wheel; it is created.

    Raises:
        PluginError: it is refused.
        ArenaError: pip cannot unpack it.
    """
    folder.mkdir()
    install(str(make_wheel(name, sources, folder)))


def make_wheel(name: str, sources: Mapping[str, str], folder: Path) -> Path:
    """Write the wheel of a bot; its distribution has the bot's name, as far as file names allow."""
    module = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name[:64])
    info = f"{module}-1.dist-info"
    files = {
        **sources,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": (
            f"[arena.bots]\n{name} = {module}\n[console_scripts]\n{module} = {module}:main\n"
        ),
    }
    path = folder / f"{module}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in files.items():
            wheel.writestr(inside, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{inside},,\n" for inside in [*files, f"{info}/RECORD"]))
    return path
