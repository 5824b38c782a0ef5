"""Programs that run bots (node, java, Python interpreters): the files that each of them needs."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from arena.installed import find_program, is_installed, script_words

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHARED: dict[str, tuple[str, ...]] = {
    r"node|nodejs": (
        "/etc/ssl/openssl.cnf",
        "/usr/share/nodejs",
        "/usr/share/node_modules",
        "/usr/share/icu",
    ),
    r"dotnet": ("/usr/share/dotnet", "/usr/lib/dotnet", "/etc/dotnet"),
    r"perl": ("/usr/share/perl", "/usr/share/perl5", "/etc/perl"),
    r"ruby": ("/usr/share/rubygems-integration", "/usr/share/ruby"),
    r"lua|luajit": ("/usr/share/lua", "/usr/share/luajit-2.1", "/usr/local/share/lua"),
    r"tclsh": ("/usr/share/tcltk",),
    r"guile": ("/usr/share/guile",),
    r"php": ("/etc/php", "/usr/share/php"),
    r"julia": ("/usr/share/julia", "/etc/julia"),
}
"""Folders of the system other than its libraries, by a pattern for the program's name without version."""
_SYSTEM_PREFIXES = frozenset({"/", "/usr", "/usr/local"})
"""Prefixes whose libraries every bot is shown."""


def runtime_files(program: str) -> tuple[str, ...]:
    """Return the files and folders that a program needs in addition to the system's libraries.

    They are the program, its installation unless it is the system's, and files that such programs keep
    elsewhere: for an interpreter of a virtual environment its packages and its base interpreter, for Java its
    home and the configuration that links in it lead to.
    """
    return _runtime_files(os.path.abspath(program))  # noqa: PTH100 - must keep links


def script_programs(script: str) -> tuple[str, ...]:
    """Return the installed programs that the first line of a script names; empty if the file is not a script.

    For `env` it includes the program that is found on the PATH.
    """
    words = (word for word in script_words(script) if not word.startswith("-"))
    places = (shutil.which(word) if "/" in word else find_program(word) for word in words)
    # The line is written by the bot's author; a program outside the system could be bot code that is not
    # hashed.
    return tuple(str(place) for place in places if place is not None and is_installed(Path(place)))


@lru_cache(maxsize=64)
def _runtime_files(program: str) -> tuple[str, ...]:
    place, real = Path(program), Path(os.path.realpath(program))
    found = [program, *_environment(place)]
    prefix = real.parent.parent
    if real.parent.name == "bin" and str(prefix) not in _SYSTEM_PREFIXES:
        is_java = (prefix / "lib" / "modules").is_file()
        found += [str(prefix)] if is_java else _inside(prefix, "lib", "lib64", "share")
        found += _linked_out(prefix) if is_java else ()
    name = re.sub(r"[-0-9.]+\Z", "", real.name)
    for kind, paths in _SHARED.items():
        if re.fullmatch(kind, name):
            found += paths
    return tuple(path for path in dict.fromkeys(found) if os.access(path, os.F_OK))


def _environment(program: Path) -> list[str]:
    """Return the parts of the virtual environment that an interpreter belongs to; empty if there is none."""
    prefix, real = program.parent.parent, Path(os.path.realpath(program))
    configuration = prefix / "pyvenv.cfg"
    found: list[str] = []
    with suppress(OSError):
        lines = configuration.read_text(encoding="utf-8", errors="replace").splitlines()
        found += _inside(prefix, configuration.name, "lib", "lib64")
        for key, _, value in (line.partition("=") for line in lines):
            # The author of the environment, perhaps a bot's author, wrote that line, so it is verified.
            if key.strip() == "home" and os.path.realpath(value.strip()) == str(real.parent):
                found.append(str(Path(value.strip()).parent / "lib"))
    return found


def _inside(prefix: Path, *names: str) -> list[str]:
    """Return the entries of a folder except links out of it, which could expose any folder of the host."""
    root = os.path.realpath(prefix)
    return [
        str(prefix / name) for name in names if Path(os.path.realpath(prefix / name)).is_relative_to(root)
    ]


def _linked_out(folder: Path) -> Iterator[str]:
    """Yield the targets outside a folder of links in it; broken links are skipped."""
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in (*folders, *files)):
            if path.is_symlink() and path.exists():
                target = Path(os.path.realpath(path))
                if not target.is_relative_to(folder):
                    yield str(target)
