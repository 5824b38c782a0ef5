"""Distinguishes programs of this machine from files of a bot that have the same names."""

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
"""Matches programs that run other programs."""
_FIRST_LINE = 256
"""Number of bytes of a script's first line that Linux reads."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix/store")


def is_system(program: Path) -> bool:
    """Return whether a program is in a system folder."""
    return any(program.is_relative_to(place) for place in _SYSTEM)


def is_installed(program: Path) -> bool:
    """Return whether a program, with links resolved, belongs to this machine and not to a bot.

    Programs in a system folder, beside the interpreter of this process, or found by `PATH` belong to it.
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

    Version managers install scripts under the names of interpreters; such a script starts the selected
    interpreter as a new process. Bots must not do that, so binaries are preferred to scripts for
    interpreters.
    """
    if not word or "/" in word or "\0" in word:
        return None
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = [place for folder in folders if folder and (place := shutil.which(word, path=folder))]
    if is_interpreter(word):
        found.sort(key=is_script)
    return Path(found[0]).absolute() if found else None


def is_script(program: str | Path) -> bool:
    """Return whether a file starts with `#!`; an unreadable file counts as a script."""
    try:
        with Path(program).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def script_words(script: str | Path) -> list[str]:
    """Return the words of a script's first line, beginning with its interpreter; empty for other files."""
    try:
        with Path(script).open("rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return []
    # Linux keeps a carriage return as part of the last word, which then names no program.
    return os.fsdecode(line[2:].strip(b" \t\n")).split(" ") if line.startswith(b"#!") else []
