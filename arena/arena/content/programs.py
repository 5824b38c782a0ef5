"""Separates a command into the bot's own files, which are copied, and runtimes with their environments."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import os
import shlex
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from arena.content.collect import Collection, unreadable
from arena.errors import PluginError
from arena.installed import find_program, is_installed, is_interpreter, is_system, script_words
from arena_plugins.program import CMD, is_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER = "folder"
"""The option that names a folder with all files of a program; words of the command are relative to it."""


class Placed(NamedTuple):
    """Where the program and the arguments of a command are found after its files were copied."""

    copies: dict[int, str]
    """For each argument of the command that was copied, by its index: its path in the content."""
    runtime: str = ""
    """Path of the program if it belongs to this machine; empty if the first word is the bot's own."""


def place_words(collection: Collection, words: Sequence[str], folder: Path | None) -> Placed:
    """Add the files and folders that a command names to a collection.

    Args:
        collection: receives the files.
        words: program and arguments.
        folder: the folder that words are relative to, which is copied as a whole; None for the working
            directory of this process, from which only the named files are copied.

    Raises:
        PluginError: the program cannot be started, a file cannot be read, or a limit is exceeded.
    """
    base = Path.cwd() if folder is None else folder
    if folder is not None:
        collection.add_tree(FOLDER, folder)
    named = {number: place for number, word in enumerate(words) if (place := _named(base, word)) is not None}
    first = named.get(0)
    found = None if first is not None else find_program(words[0]) if words else None
    program = first or found
    if words and (program is None or not _is_executable(program)):
        command = f"{collection.what}:{CMD}={shlex.join(words)}"
        raise PluginError(f"{command}: {_why_not(words, program, base)}")
    runtime = ""
    if program is not None and _is_runtime(program, has_more=any(number > 0 for number in named)):
        # The path of the machine is kept and not copied: an interpreter is useless without its installation.
        runtime = str(program)
        named.pop(0, None)
    else:
        if program is not None:
            _check_first_line(collection.what, program)
        if found is not None:
            # A program found on PATH that is no runtime is the bot itself, so its bytes are part of the
            # content.
            named[0] = found
    copies = {number: _place(collection, number, place, folder) for number, place in sorted(named.items())}
    return Placed(copies, runtime)


def _named(base: Path, word: str) -> Path | None:
    """Return the file or folder that a word names, by the same rules as for options, or None."""
    if not word or word.startswith("-"):
        return None
    # Words may be any text; system calls fail for those that are longer than a path can be.
    place = Path(os.path.abspath(base / word)) if len(word) < os.pathconf("/", "PC_PATH_MAX") else None  # noqa: PTH100 - behind a link a program may be another one
    if place is None or "\0" in word:
        return None
    return place if is_file(str(place)) or place.is_dir() else None


def _is_executable(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)


def _why_not(words: Sequence[str], program: Path | None, base: Path) -> str:
    """Return why the first word of a command cannot be started, and what to do about it.

    Args:
        words: program and arguments.
        program: the file or folder that the first word names, or None.
        base: the folder that words are relative to.
    """
    word = words[0]
    if program is None:
        if "/" in word:
            return f"there is no file {base / word}; name the program by its path"
        return f"there is no program {word} on PATH; install it, or name the program by its path"
    if program.is_dir():
        return f"{program} is a folder; name the program to start, and write folder={word} to take all of it"
    runner = shlex.join(["sh" if program.suffix in {"", ".sh"} else "PROGRAM", *words])
    return f"{program} is not executable; run chmod +x {shlex.quote(str(program))}, or write {CMD}={runner}"


def _check_first_line(what: str, program: Path) -> None:
    """Check that the interpreter of a bot's script exists.

    Raises:
        PluginError: it does not.
    """
    words = script_words(program)
    if not words:
        return
    line = f"{what}: the first line of {program}, #!{' '.join(words)},"
    # The kernel takes the carriage return as part of the interpreter's name and reports a missing file.
    if words[-1].endswith("\r"):
        raise PluginError(
            f"{line[:-2]}, ends in a carriage return, as on Windows; save the file with Unix line ends"
        )
    by_name = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if words[0].startswith("/") and not is_file(words[0]):
        raise PluginError(
            f"{line} names {words[0]}, which does not exist; install it, or name another program"
        )
    if (
        Path(words[0]).name == "env"
        and by_name
        and "/" not in by_name[0]
        and find_program(by_name[0]) is None
    ):
        raise PluginError(
            f"{line} names {by_name[0]}, which is not on PATH; install it, or name another program"
        )


def _is_runtime(program: Path, *, has_more: bool) -> bool:
    """Return whether a program is a runtime of this machine that runs the bot's files.

    Interpreters are recognised by name if they are installed, because a file of the bot may have such a name,
    too. Other programs of the system count as runtimes if the command names files of the bot; an engine
    outside of the system is the bot itself, with or without further files.
    """
    if is_interpreter(program.name):
        real = Path(os.path.realpath(program))
        # The link of a virtual environment points out of it, so it is recognised by the file next to its bin.
        is_env = (program.parent.parent / "pyvenv.cfg").is_file()
        is_known = is_env or not has_more or is_interpreter(real.name) or is_system(real)
        return is_known and is_installed(program)
    return has_more and is_system(program)


def _place(collection: Collection, number: int, place: Path, folder: Path | None) -> str:
    """Add the file or folder that an argument names; return its path in the content."""
    if folder is not None and place.is_relative_to(folder):
        return str(PurePosixPath(FOLDER, place.relative_to(folder).as_posix()))
    path = f"{CMD}/{place.name}"
    if collection.covers(path) and collection.files.get(path) != Path(os.path.realpath(place)):
        # Two arguments may name files of the same name in different folders.
        path = f"{CMD}/{number}/{place.name}"
    if place.is_dir():
        collection.add_tree(path, place)
    else:
        collection.add_file(path, place)
    return path


_INFO = (".dist-info", ".egg-info")
_CACHE = "__pycache__"


def add_environment(collection: Collection, program: str) -> None:
    """Record the content of an interpreter's virtual environment, if any, in the collection's `needs`.

    Distributions count by name and version, like those that a package requires. Modules that belong to no
    distribution count by their bytes: they are the bot's own code.

    Raises:
        PluginError: such a module cannot be read, or a limit is exceeded.
    """
    prefix = Path(program).parent.parent
    if not (prefix / "pyvenv.cfg").is_file():
        return
    # Imported here, because most bots have no environment.
    from packaging.utils import canonicalize_name

    for site in sorted(prefix.glob("lib/python*/site-packages")):
        recorded = {_CACHE}
        for distribution in importlib.metadata.distributions(path=[str(site)]):
            metadata = distribution.metadata
            name = canonicalize_name(str(metadata["Name"]))
            collection.needs[f"environment {name}"] = metadata["Version"]
            recorded |= _top_names(distribution)
        for place in _others(collection, site, recorded):
            collection.needs[f"environment {place.name}"] = _hash(collection.what, place)


def _top_names(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the first part of the path of each file that a distribution has installed.

    An environment for machine learning has 80,000 files: `Distribution.files` makes a path of each, which
    took a second.
    """
    record = distribution.read_text("RECORD")
    if record is None:
        return {file.parts[0] for file in distribution.files or ()}
    return {row[0].partition("/")[0] for row in csv.reader(record.splitlines()) if row}


def _others(collection: Collection, site: Path, recorded: set[str]) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(site))  # noqa: PTH208 - must raise for a folder that cannot be read
    except OSError as error:
        raise unreadable(collection.what, site, error) from error
    for name in names:
        if name not in recorded and not name.endswith(_INFO):
            yield site / name


def _hash(what: str, place: Path) -> str:
    """Return a SHA-256 over the paths and bytes of a file, or of all files below a folder."""
    own = Collection(what)
    if place.is_dir():
        own.add_tree("", place)
    else:
        own.add_file(place.name, place)
    total = hashlib.sha256()
    for path, source in sorted(own.files.items()):
        with source.open("rb") as file:
            # NUL occurs in no path, so no two trees are hashed as the same bytes.
            total.update(f"{path}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode())
    return total.hexdigest()
