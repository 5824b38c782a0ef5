"""Collects the files of a competitor, within limits, as a map from paths in its content to source files."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from arena.content.archives import MAX_SHOWN
from arena.content.trusted_links import follow
from arena.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_BYTES = 2 << 30
"""Maximum number of bytes of all files, which are hashed and copied before a bot's first match."""
MAX_FILES = 20_000
"""Maximum number of files and folders together."""
MAX_DEPTH = 32
"""Maximum number of folders above a file."""
_SKIPPED = frozenset(
    {
        *("__pycache__", "__MACOSX", ".git", ".hg", ".svn", ".jj", ".bzr", ".venv", ".tox", ".nox"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
    }
)
"""Folders written by tools, which change although the bot does not."""
_LITTER = re.compile(r"\.DS_Store|\._.*|Thumbs\.db|\..*\.sw[a-p]|.*~|\.#.*|#.*#")
"""Files left by editors and file managers."""
_VENV = "pyvenv.cfg"
_WAY_OUT = "name a smaller folder, or only the files the bot needs"


class Collection:
    """The files of one competitor, by their paths in its content."""

    def __init__(self, what: str) -> None:
        """Start without files; `what` names the competitor in messages."""
        self.what = what
        self.files: dict[str, Path] = {}
        """From the path in the content, with `/` as separator, to the file to copy."""
        self.needs: dict[str, str] = {}
        """Distributions that the files belong to or use, with their versions."""
        self.roots: tuple[str, ...] = ()
        """Folders of the content that come first on the bot's `sys.path`."""
        self._bytes: Counter[str] = Counter()
        self._entries: Counter[str] = Counter()

    def add_file(self, path: str, source: Path) -> None:
        """Add a file; a link is replaced by its target. If the path is taken, the first file stays.

        Raises:
            PluginError: the file is missing, unreadable or not a regular file, is reached through a link that
                `follow` refuses, or exceeds a limit.
        """
        self._add(path, follow(self.what, source))

    def add_tree(
        self,
        prefix: str,
        folder: Path,
        *,
        keeps: Callable[[str], bool] = lambda _: True,
        within: Path | None = None,
    ) -> None:
        """Add all files below a folder, except version control, virtual environments and caches of tools.

        A link is copied as its target, which must be in `within`.

        Args:
            prefix: path of the folder in the content; empty for the content itself.
            folder: the folder on this machine.
            keeps: called with each path relative to `folder`; False leaves that file or folder out.
            within: a folder above `folder`; None for `folder` itself.

        Raises:
            PluginError: a file is unreadable, a device or a link that leads out, or a limit is exceeded.
        """
        root = follow(self.what, folder)
        inside = root if within is None else follow(self.what, within)
        above = f"{PurePosixPath(prefix)}/" if prefix else ""
        waiting = [("", root)]
        while waiting:
            below, place = waiting.pop()
            for entry in self._children(place):
                # A stack instead of recursion: folders of an attacker may be nested deeper than Python
                # recurses.
                path = f"{below}{entry.name}"
                source = self._within(entry, inside) if entry.is_symlink() else Path(entry.path)
                if not keeps(path):
                    continue
                # An entry knows without a look at the file whether it is a folder, unless it is a link.
                if source.is_dir() if entry.is_symlink() else entry.is_dir():
                    # Recognised by its content, because a virtual environment may have any name; it would be
                    # thousands of files.
                    if entry.name not in _SKIPPED and not (source / _VENV).is_file():
                        self._count(f"{above}{path}", 0)
                        waiting.append((f"{path}/", source))
                elif not (_is_compiled(source) or _LITTER.fullmatch(entry.name)):
                    self._add(f"{above}{path}", source)

    def covers(self, path: str) -> bool:
        """Return whether a path of the content is one of its files or a folder that contains one."""
        return path in self.files or any(file.startswith(f"{path}/") for file in self.files)

    def _children(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                # In a fixed order, so that a limit always names the same file, whatever the file system lists
                # first.
                yield from sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise unreadable(self.what, folder, error) from error

    def _within(self, link: os.DirEntry[str], inside: Path) -> Path:
        # All links of the path are resolved, or a link to a link could lead out in its second step.
        target = Path(os.path.realpath(link.path))
        if not target.is_relative_to(inside):
            raise PluginError(
                f"{self.what}: {link.path} is a link that leads out of {inside}, to {target}; "
                "put a copy of the file in its place"
            )
        return target

    def _add(self, path: str, source: Path) -> None:
        if path in self.files:
            return
        try:
            found = source.lstat()
        except OSError as error:
            raise unreadable(self.what, source, error) from error
        if not stat.S_ISREG(found.st_mode):
            raise PluginError(f"{self.what}: {source} is neither a file nor a folder; leave it out")
        try:
            # Python keeps bytes that are not UTF-8 as surrogates; they would fail only when the manifest is
            # hashed.
            path.encode()
        except UnicodeEncodeError as error:
            raise PluginError(f"{self.what}: the name {source!a} is not UTF-8; rename the file") from error
        self._count(path, found.st_size)
        self.files[path] = source

    def _count(self, path: str, size: int) -> None:
        # Counted by the outer two folders, which the message names, so that the user can decide what to leave
        # out.
        top = "/".join(path.split("/")[:2])
        self._entries[top] += 1
        self._bytes[top] += size
        if path.count("/") > MAX_DEPTH:
            raise PluginError(
                f"{self.what} has folders more than {MAX_DEPTH} deep, as {path[:MAX_SHOWN]}; {_WAY_OUT}"
            )
        if self._entries.total() > MAX_FILES:
            largest, number = self._entries.most_common(1)[0]
            raise PluginError(
                f"{self.what} has more than {MAX_FILES:,} files and folders, {number:,} of them in "
                f"{largest}; {_WAY_OUT}"
            )
        if self._bytes.total() > MAX_BYTES:
            largest, number = self._bytes.most_common(1)[0]
            raise PluginError(
                f"{self.what} has more than {MAX_BYTES >> 30} GiB, {number / (1 << 30):.2f} GiB of it in "
                f"{largest}; {_WAY_OUT}"
            )


def unreadable(what: str, path: Path, error: OSError) -> PluginError:
    """Make the error for a competitor's file that cannot be read."""
    return PluginError(
        f"{what}: {path} cannot be read ({error.strerror}), so its identity is unknown; "
        "restore the file or its permissions, or install the bot again"
    )


def _is_compiled(file: Path) -> bool:
    """Return whether a file is the bytecode of a source file beside it."""
    return file.suffix == ".pyc" and file.with_suffix(".py").exists()
