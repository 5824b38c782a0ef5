"""Tells the programs of this machine from files that came with a bot and are only called like one."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

_INTERPRETER = re.compile(
    r"(python|pypy|node|nodejs|deno|bun|java|dotnet|mono|wine|wine64|ruby|perl|php|lua|luajit|julia|Rscript|guile"
    r"|racket|sbcl|ghc|runghc|swipl|tclsh|erl|escript|elixir|scala|kotlin|groovy|qemu-\w+|env|sh|bash|dash|zsh"
    r"|ksh|fish|busybox)(-?[0-9][0-9.]*)?(\.exe)?\Z"
)
"""Programs that run other programs."""
_FIRST_LINE = 256
"""Bytes Linux reads of it."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix/store")


def is_system(program: Path) -> bool:
    """Return whether a program lies in a folder of the system."""
    return any(program.is_relative_to(place) for place in _SYSTEM)


def is_installed(program: Path) -> bool:
    """Return whether a program is one of this machine, behind all links: no bot brought it.

    It is if it lies in a folder of the system or with the interpreter that runs this, or if `PATH` finds it.
    """
    real = Path(os.path.realpath(program))
    if is_system(real) or real.is_relative_to(os.path.realpath(sys.base_prefix)):
        return True
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [folder for folder in path if folder.startswith("/")]
    found = (shutil.which(name, path=folder) for folder in folders for name in (program.name, real.name))
    return any(os.path.realpath(place) == str(real) for place in found if place)


def is_interpreter(name: str) -> bool:
    """Return whether a program of this name runs other programs."""
    return _INTERPRETER.match(name) is not None


def find_program(word: str) -> Path | None:
    """Return the program that `PATH` finds for a name without folders; None if there is none.

    Version managers put scripts under the names of interpreters, which start the right one as a process of
    their own; no bot may do that, so an interpreter that is a program is preferred to a script.
    """
    if not word or "/" in word or "\0" in word:
        return None
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = [place for folder in folders if folder and (place := shutil.which(word, path=folder))]
    if is_interpreter(word):
        found.sort(key=is_script)
    return Path(found[0]).absolute() if found else None


def is_script(program: str | Path) -> bool:
    """Return whether a file begins with `#!`; one that cannot be read counts as a script."""
    try:
        with Path(program).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def script_words(script: str | Path) -> list[str]:
    """Return the words of the first line of a script, first the program that runs it; none of other files."""
    try:
        with Path(script).open("rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return []
    # A carriage return belongs to the last word, which then names no program.
    return os.fsdecode(line[2:].strip(b" \t\n")).split(" ") if line.startswith(b"#!") else []
