"""Transfers contents of bots to worker machines, in pieces, and checks what bots need besides them there."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import sys
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec

from arena.content.collect import MAX_BYTES, Collection
from arena.content.manifest import Inventory
from arena.content.store import content_folder, find_content, keep_content, make_room, work_folder
from arena.errors import ArenaError
from arena.executor.cluster.messages import PIECE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena.content.store import Content
    from arena.entrants import Competitor

INVENTORY: Final = -1
"""Piece number that stands for the list of files."""
QUOTA: Final = 20 << 30
"""Bytes of contents that a worker machine keeps."""
_CHUNK: Final = 1 << 20
"""Bytes of a file that are in memory at once while it is split."""
_TRIES: Final = 2
"""Number of attempts to fetch a content; the second one bypasses the hub's cache."""
_FILE: Final = "file"
"""The option by which an adapter's bot names the Python file, or its folder, that is executed."""
_MAINS: Final = ("bot.py", "main.py")
"""Names of the file that is executed, if the option names a folder; the first one that exists is used."""
_NEXT: Final = "install it there, then start arena worker again"


class BotLackError(ArenaError):
    """This machine cannot play a bot, for a reason that is not the bot's fault."""


class SpoiltError(ArenaError):
    """A content differs from what was sent."""


def read_piece(content: str, piece: int) -> bytes:
    """Return a piece of a kept content: its inventory as JSON, or bytes of its concatenated files.

    Raises:
        ArenaError: the content is not kept, or has no such piece.
    """
    found = find_content(content)
    if found is None:
        raise ArenaError(f"the coordinator no longer keeps content {content[:8]}")
    if piece == INVENTORY:
        return msgspec.json.encode(found.inventory)
    start, data = piece * PIECE, bytearray()
    for entry in found.inventory.files:
        if start < entry.size and len(data) < PIECE:
            with (Path(found.folder) / entry.path).open("rb") as file:
                file.seek(start)
                data += file.read(PIECE - len(data))
        start = max(0, start - entry.size)
    # A content without bytes has one piece, which is empty.
    if not data and piece:
        raise ArenaError(f"content {content[:8]} has no piece {piece}")
    return bytes(data)


def fetch_content(
    content: str, ask: Callable[[int], bytes], *, spoilt: Callable[[], None], quota: int = QUOTA
) -> Content:
    """Return a content; fetch it first if it is not kept here. Concurrent processes wait for one fetch.

    Args:
        content: its hash.
        ask: returns a piece, as `read_piece` does.
        spoilt: called before the second attempt if the first one received damaged data.
        quota: bytes of contents that are kept here.

    Raises:
        ArenaError: it cannot be fetched or stored; received pieces are kept for the next attempt.
    """
    with _one_at_a_time(content):
        for attempt in range(_TRIES):
            # Another process may have fetched it while this one waited for the lock.
            found = find_content(content)
            if found is not None:
                return found
            try:
                return _fetch(content, ask, quota)
            except SpoiltError:
                if attempt == _TRIES - 1:
                    raise
                spoilt()
    raise ArenaError(f"content {content[:8]} cannot be fetched")


def _fetch(content: str, ask: Callable[[int], bytes], quota: int) -> Content:
    try:
        inventory = msgspec.json.decode(ask(INVENTORY), type=Inventory)
    except msgspec.MsgspecError as error:
        raise SpoiltError(f"the list of files of content {content[:8]} was damaged in transit") from error
    # The paths come from another machine and are written to below, so they are checked before that.
    if inventory.tree_hash != content or not all(_is_inside(entry.path) for entry in inventory.files):
        raise SpoiltError(f"the list of files of content {content[:8]} was damaged in transit")
    size = inventory.num_bytes
    if size > min(MAX_BYTES, quota):
        raise ArenaError(
            f"content {content[:8]} has {size >> 20} MiB, but this machine keeps {quota >> 20} MiB"
        )
    # Before the transfer: a full disk would be noticed only after gigabytes were received.
    make_room(quota - size)
    part = content_folder() / f".part-{content}"
    _receive(part, size, ask)
    with work_folder() as work:
        try:
            _split(part, inventory, work / "files")
        finally:
            part.unlink(missing_ok=True)
        collection = Collection(f"content {content[:8]}")
        collection.needs = inventory.needs
        collection.files = {entry.path: work / "files" / entry.path for entry in inventory.files}
        kept = keep_content(collection)
    # The hash over all files, computed here, decides; the checks before it only find damage earlier.
    if kept.hash != content:
        raise SpoiltError(f"content {content[:8]} was damaged in transit")
    return kept


def _receive(part: Path, size: int, ask: Callable[[int], bytes]) -> None:
    """Append the pieces that a file lacks, in order."""
    # A killed process may have left part of a piece, which is fetched again.
    done = part.stat().st_size // PIECE if part.exists() else 0
    with part.open("r+b" if done else "wb") as file:
        file.seek(done * PIECE)
        file.truncate()
        for piece in range(done, -(-size // PIECE)):
            data = ask(piece)
            if len(data) != min(PIECE, size - piece * PIECE):
                raise SpoiltError(f"piece {piece} of a content has {len(data)} bytes")
            file.write(data)
            # Flushed, so that this piece need not be fetched again if this process is killed.
            file.flush()


def _split(part: Path, inventory: Inventory, folder: Path) -> None:
    """Split concatenated files into single files, and verify each one's SHA-256."""
    with part.open("rb") as source:
        for entry in inventory.files:
            target = folder / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            digest, left = hashlib.sha256(), entry.size
            # "x" fails if the file exists: an inventory that names a path twice is damaged, too.
            with target.open("xb") as file:
                while left and (data := source.read(min(_CHUNK, left))):
                    digest.update(data)
                    file.write(data)
                    left -= len(data)
            if left or digest.hexdigest() != entry.sha256:
                raise SpoiltError(f"{entry.path} was damaged in transit")
            target.chmod(0o755 if entry.is_executable else 0o644)


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not path.startswith("/") and "\0" not in path


@contextmanager
def _one_at_a_time(content: str) -> Generator[None]:
    """Lock a content while one process of this machine fetches it; a killed process frees the lock."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    content_folder().mkdir(mode=0o711, parents=True, exist_ok=True)
    # The file is not removed here, since another process may wait for its lock; `prune` removes it.
    descriptor = os.open(content_folder() / f".lock-{content}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def check_needs(bot: Competitor, content: Content) -> None:
    """Check that the packages used by a bot are installed here as they are where it was entered.

    Raises:
        BotLackError: a package is missing, or has another version.
    """
    # A bot with a folder of its own brings its packages, and one with another runtime does not use those
    # here.
    if bot.folder or bot.runtime:
        return
    for name, version in content.inventory.needs.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = ""
        # Its own package was sent with its content, so the version that is installed here does not matter.
        if found != version and bot.record.distribution != name:
            has = f"{name} {found} is installed" if found else f"{name} is not installed"
            raise BotLackError(f"{bot.label} uses {name} {version}, and {has}; {_NEXT}")
    # A bot that is only a file declares nothing. Without this check it would lose all its matches on this
    # machine by `init_crash`, although it starts where it was entered.
    missing = _missing_import(bot, Path(content.folder))
    if missing:
        raise BotLackError(f"{bot.label} imports {missing}, which is not installed there; {_NEXT}")


def _missing_import(bot: Competitor, content: Path) -> str:
    """Return a module that the file of a bot needs in order to start and that is not installed; or ""."""
    given = bot.copies.get(_FILE)
    if given is None:
        return ""
    files = (content / given, *(content / given / name for name in _MAINS))
    # Only the first: the other one is not executed.
    queue = [file for file in files if file.suffix == ".py" and file.is_file()][:1]
    own: defaultdict[str, list[Path]] = defaultdict(list)
    for path in (content / copy for copy in bot.copies.values()):
        for file in [path] if path.is_file() else path.rglob("*"):
            # Folders, too: one is a package even without `__init__`. Compiled modules cannot be read, but are
            # there.
            module = file.parent.name if file.stem == "__init__" else file.name.partition(".")[0]
            own[module] += [file] if file.suffix == ".py" else []
    seen: set[str] = set()
    while queue:
        for name in _imported(queue.pop()):
            if name in seen:
                continue
            seen.add(name)
            if name in own:
                queue += own[name]
            elif not _is_installed(name):
                return name
    return ""


def _is_installed(name: str) -> bool:
    try:
        return name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None
    except ValueError:  # a module of this process that was not imported from a file
        return True


def _imported(file: Path) -> Generator[str]:
    """Yield the top-level names of modules without which a file cannot be executed.

    Imports in functions, in conditions and in `try` may be for features that this bot does not use.
    """
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # the bot's own fault, which its start shows
        return
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]
