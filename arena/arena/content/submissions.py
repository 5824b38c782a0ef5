"""Kaggle submissions: a file, a folder and an archive with the same files result in the same content."""

from __future__ import annotations

import gzip
import os
import tarfile
import zipfile
import zlib
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from arena.content.archives import (
    MAX_SHOWN,
    Bounds,
    MemberNames,
    check_bytes,
    check_size,
    check_zip,
    is_executable,
)
from arena.content.programs import FOLDER
from arena.content.store import work_folder
from arena.content.trusted_links import follow
from arena.errors import OptionError, PluginError
from arena_plugins.regular import open_regular
from arena_plugins.submission import FILE, KAGGLE, MAIN

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from arena.content.collect import Collection

_AGENT = "agent"
"""The folder of a content that contains the files of a submission."""


@contextmanager
def added_submission(
    collection: Collection, name: str, options: Mapping[str, str]
) -> Generator[tuple[dict[str, Path], dict[str, str]]]:
    """Add the files of the submission that a bot's options name; an archive stays unpacked within the block.

    Yields:
        The path of the submission on this machine, and the path of its `main.py` in the content, each by
        option. Both are empty for other bots, and if the option `folder` names the agent's files.

    Raises:
        OptionError: there is no such file or folder.
        PluginError: it has no `main.py`, cannot be read, or exceeds a limit.
        StoreError: there is no space to unpack it.
    """
    if name != KAGGLE or FILE not in options or FOLDER in options:
        yield {}, {}
        return
    path = _submission(collection.what, options[FILE])
    found = {FILE: path}, {FILE: f"{_AGENT}/{MAIN}"}
    if path.is_dir():
        _add_folder(collection, path, path)
        yield found
    elif archive_kind(path):
        with work_folder() as folder:
            unpack(path, folder)
            _add_folder(collection, folder, path)
            yield found
    else:
        # Kaggle does the same, so a single file and a folder with only that file are one competitor.
        collection.add_file(f"{_AGENT}/{MAIN}", path)
        yield found


def _submission(what: str, text: str) -> Path:
    """Return the file or folder that an option names.

    Raises:
        OptionError: it does not exist.
        PluginError: it is reached through a link that `follow` refuses.
    """
    try:
        path = follow(what, Path(text))
        is_there = path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, contains a NUL, or a loop of links
        path, is_there = Path(), False
    if not text or not is_there:
        raise OptionError(
            f'{KAGGLE}: there is no file "{text}"; write {KAGGLE}:{FILE}=AGENT.py, a folder with a {MAIN}, '
            "or its archive (.tar.gz, .zip)"
        )
    return path


def _add_folder(collection: Collection, folder: Path, submission: Path) -> None:
    """Add the files of a folder, which is the submission or its unpacked archive."""
    collection.add_tree(_AGENT, folder)
    if f"{_AGENT}/{MAIN}" in collection.files:
        return
    inner = min((path for path in collection.files if path.endswith(f"/{MAIN}")), key=len, default="")
    others = sorted(
        path for path in collection.files if path.startswith(f"{_AGENT}/") and path.endswith(".py")
    )
    if inner:
        place = inner.removeprefix(f"{_AGENT}/").removesuffix(f"/{MAIN}")
        advice = f"it is in {place}; pack what is in that folder, or name the folder"
    elif others:
        names = ", ".join(path.removeprefix(f"{_AGENT}/") for path in others[:5])
        advice = f"its modules are {names}; call the one with the agent {MAIN}"
    else:
        advice = "it has no module at all"
    raise PluginError(f"{KAGGLE}: {submission.name} has no {MAIN} at its top: {advice}")


BOUNDS = Bounds(max_bytes=512 << 20, max_files=10_000)
_CHUNK = 1 << 18
_MAX_HEADERS = 1 << 17
"""Maximum size in bytes of the headers of one tar member, which tarfile reads whole, such as a long name."""
_MAX_END = 1 << 20
"""Maximum number of bytes after the last member of a tar file; tar itself pads to 10 KiB."""
_MAGIC_AT = 257
"""Offset of the magic number in a tar header."""
_MAGIC_BYTES = 8
"""Length of the magic number in a tar header and of the version after it."""
_ZIP, _TAR, _GZIP = "zip", "tar", "gzip"
# A zip file begins with a member, or, if it has none, with the end record.
_KINDS = (
    (0, b"PK\x03\x04", _ZIP),
    (0, b"PK\x05\x06", _ZIP),
    (0, b"\x1f\x8b", _GZIP),
    (_MAGIC_AT, b"ustar", _TAR),
)
_ENDS = {".zip": _ZIP, ".tar": _TAR, ".tgz": _GZIP, ".gz": _GZIP}
_OTHERS = (
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
)
_DAMAGED = (
    *(ValueError, TypeError, KeyError, IndexError, OSError, EOFError, RuntimeError, OverflowError),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error),
)
"""Exceptions raised for a file that is not an archive or is damaged; RuntimeError means a password."""


class _Member(NamedTuple):
    path: str
    is_executable: bool
    content: IO[bytes] | None
    """The content; None for a folder."""


def archive_kind(path: Path) -> str:
    """Return the archive type of a file by its first bytes, else by its name; empty if it is not an archive.

    Raises:
        PluginError: it is an archive of an unsupported type, or cannot be read.
    """
    try:
        with open_regular(path) as file:
            start = file.read(_MAGIC_AT + _MAGIC_BYTES)
    except OSError as error:
        raise PluginError(f"{path.name} cannot be read ({error.strerror})") from error
    # Reported before the file name is trusted: a bzip2 file called .gz would otherwise be reported as
    # damaged.
    if other := next((name for magic, name in _OTHERS if start.startswith(magic)), ""):
        raise PluginError(f"{path.name} is packed with {other}; pack it as .tar.gz or .zip")
    found = (kind for at, magic, kind in _KINDS if start[at:].startswith(magic))
    return next(found, _ENDS.get(path.suffix.lower(), ""))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip file or a tar file, which may be compressed with gzip.

    Nothing is written before the whole archive has been read and found to be within `BOUNDS`.

    Args:
        archive: the archive file.
        folder: an empty folder.

    Raises:
        PluginError: the archive is damaged, exceeds a limit, or contains anything other than files and
            folders with distinct relative paths.
        OSError: the folder cannot be written.
    """
    kind = archive_kind(archive)
    try:
        if kind == _ZIP:
            check_zip(archive, BOUNDS)
        else:
            # The first pass only reads: a bomb or a damaged end is found before anything is written.
            for member in _tar_members(archive, kind):
                _drain(member.content)
    except RecursionError as error:
        raise _damaged(archive, "its headers form a loop") from error
    except _DAMAGED as error:
        raise _damaged(archive, str(error) or type(error).__name__) from error
    # Closed at once, also when a member is refused: a generator would keep the file open until it is
    # collected.
    with closing(_zip_members(archive) if kind == _ZIP else _tar_members(archive, kind)) as members:
        for member in members:
            _write(member, folder)


def _damaged(archive: Path, why: str) -> PluginError:
    return PluginError(
        f"{archive.name} cannot be unpacked: {why[:MAX_SHOWN]}; pack it again as .tar.gz or .zip"
    )


def _drain(content: IO[bytes] | None) -> None:
    while content is not None and content.read(_CHUNK):
        pass


def _write(member: _Member, folder: Path) -> None:
    target = folder / member.path
    if member.content is None:
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # The folder is new and has no links; O_EXCL refuses existing files and links alike.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(target, flags, 0o700 if member.is_executable else 0o600), "wb") as file:
        while chunk := member.content.read(_CHUNK):
            file.write(chunk)


def _zip_members(path: Path) -> Generator[_Member]:
    """Yield the members of a zip file that has already been checked."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.is_dir():
                yield _Member(member.filename, is_executable=False, content=None)
                continue
            with archive.open(member) as content:
                yield _Member(member.filename, is_executable(member), content)


def _tar_members(path: Path, kind: str) -> Generator[_Member]:
    """Yield the members of a tar file, checking each one first; contents must be read in order.

    Raises:
        PluginError: the archive must not be unpacked.
        OSError, ValueError, EOFError, tarfile.TarError, zlib.error: it is damaged.
    """
    size = path.stat().st_size
    check_size(path, size, BOUNDS)
    # Refuses two members of one name, of which the later would replace the one that was checked.
    names = MemberNames(path.name, BOUNDS.max_files)
    total, largest = 0, (0, "")
    with ExitStack() as opened:
        file: IO[bytes] = opened.enter_context(open_regular(path))
        if kind == _GZIP:
            file = cast("IO[bytes]", opened.enter_context(gzip.GzipFile(fileobj=file)))
        stream = _TarInput(file)
        # `r:` never decompresses: the bytes of an archive within the archive would not be counted.
        archive = opened.enter_context(tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:"))
        while (member := archive.next()) is not None:
            # tarfile keeps every member in memory, with copies of the global headers.
            cast("Any", archive).members.clear()
            name = _relative(member.name)
            if not name and member.isdir():
                continue
            if member.issparse():
                raise PluginError(
                    f"{path.name} is refused: {name[:MAX_SHOWN]!a} is a sparse file; pack it without --sparse"
                )
            if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE}:
                raise PluginError(f"{path.name} is refused: {name[:MAX_SHOWN]!a} is a link or a device")
            checked = names.add(name, is_folder=member.isdir())
            if member.isdir():
                yield _Member(checked, is_executable=False, content=None)
                continue
            # Unlike in a zip file the size is no mere claim: the next header follows after that many bytes.
            total += member.size
            largest = max(largest, (member.size, checked))
            check_bytes(path.name, total, size, BOUNDS, largest[1])
            with stream.content():
                yield _Member(checked, bool(member.mode & 0o111), archive.extractfile(member))
        stream.finish()


class _TarInput:
    """The input of tarfile: it can only move forward, and limits the size of headers."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._at = 0
        self._left = _MAX_HEADERS
        self._last = b""
        """The bytes read last, which are a header at the end of the archive."""

    def tell(self) -> int:
        return self._at

    def seek(self, position: int) -> None:
        """Skip to a later position.

        Raises:
            tarfile.ReadError: the position is an earlier one, or the skipped part is too large.
        """
        if position < self._at:
            raise tarfile.ReadError("a header has a size below zero")
        self.read(position - self._at)

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes.

        Raises:
            tarfile.ReadError: `size` exceeds the limit for headers.
        """
        if not 0 <= size <= self._left:
            raise tarfile.ReadError(f"a header has {size} bytes")
        self._last = self._file.read(size)
        self._at += len(self._last)
        self._left -= len(self._last)
        return self._last

    @contextmanager
    def content(self) -> Generator[None]:
        """Allow reading the content of a member, whose size has been checked, within a `with` block."""
        self._left = BOUNDS.max_bytes
        yield
        self._left = _MAX_HEADERS

    def finish(self) -> None:
        """Read the rest after the last member, which must be zeros.

        Raises:
            tarfile.ReadError: it contains other bytes, as after a damaged header, or is too long.
        """
        chunk, total = self._last, 0
        while not any(chunk) and total <= _MAX_END:
            chunk = self._file.read(_CHUNK)
            total += len(chunk)
            if not chunk:
                return
        raise tarfile.ReadError("a header is damaged, or something follows the last file")


def _relative(name: str) -> str:
    """Return a name without the leading `./` that tar writes for files in the current folder."""
    while name.startswith("./"):
        name = name[2:]
    return "" if name == "." else name
