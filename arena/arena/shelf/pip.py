"""Calls pip to fetch and unpack wheels: only wheels, one at a time, without their requirements."""

from __future__ import annotations

import importlib.util
import subprocess
from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.own_python import interpreter, own_python

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def fetch(requirement: str, folder: Path, index: str | None) -> Path:
    """Fetch the best wheel for a requirement into a new folder.

    Args:
        requirement: name and versions, without anything else.
        folder: the folder, which is created.
        index: URL of the package index; None for the one pip is configured to use.

    Raises:
        ArenaError: there is no such wheel, or it cannot be fetched.
    """
    folder.mkdir(parents=True)
    arguments = ["download", "--no-deps", "--only-binary=:all:", f"--dest={folder}"]
    arguments += [f"--index-url={index}"] if index else []
    _run_pip(*arguments, "--", requirement)
    (found,) = folder.iterdir()
    return found


def unpack(wheels: Iterable[Path], folder: Path) -> None:
    """Unpack wheels into one folder, without their requirements and without contacting an index.

    Raises:
        ArenaError: a wheel is damaged, or is for another Python or machine.
    """
    files = [str(wheel) for wheel in wheels]
    _run_pip("install", "--isolated", "--no-index", "--no-deps", f"--target={folder}", "--", *files)


def _run_pip(*arguments: str) -> None:
    if importlib.util.find_spec("pip") is None:
        raise ArenaError(f"installing needs pip, which {interpreter()} lacks; {interpreter()} -m ensurepip")
    command = own_python("-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check")
    done = subprocess.run(  # noqa: S603 - the names were checked, so none can be taken for an option
        [*command, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        last = lines[-1].removeprefix("ERROR: ") if lines else f"it ended with {done.returncode}"
        raise ArenaError(f"pip {arguments[0]}: {last}")
