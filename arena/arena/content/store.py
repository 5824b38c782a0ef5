"""The folders of contents: `content/HASH` contains the files, `content/HASH.json` the metadata.

A folder is written under a temporary name and renamed when complete, so processes can write the same content
at the same time. Bots are started only from these folders.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.content.collect import Collection
from arena.content.manifest import Inventory, copy_collection, hash_collection, seal_folder
from arena.errors import StoreError
from arena.home import home
from arena.removal import remove

if TYPE_CHECKING:
    from collections.abc import Collection as Container
    from collections.abc import Generator

_WORK = ".work-"
"""Name prefix of folders that are not complete yet or are being removed."""
_RANDOM_BYTES = 8
"""Random bytes in the name of a work folder: two processes never choose the same."""
_STATE_BYTES = 20
"""Bytes of the digest of a folder's state; with 160 bits, no two states have the same one by chance."""
_ENTERED = "entered"
_STALE_S = 86_400.0
"""Seconds after which a work folder must have been left by a killed process: no copy takes a day."""
_TOUCH_S = 3600.0
"""Minimum seconds between two updates of the last use: each start of a bot would write to the disk."""
KEEP_S = 30 * 86_400.0
"""Seconds for which a content is kept after its last use: 30 days."""


class Content(NamedTuple):
    """The content of a competitor, either kept or only hashed."""

    inventory: Inventory
    hash: str
    """SHA-256 in hex."""
    folder: str = ""
    """The folder where it is kept; empty if it was only hashed."""
    state: str = ""
    """The result of `state_of` for the folder at the time when its files had this hash."""


class _StoredContent(msgspec.Struct, frozen=True, kw_only=True):
    """The stored metadata of a kept content."""

    inventory: Inventory
    state: str


class Pruned(NamedTuple):
    """The contents that `prune` removed."""

    num_contents: int
    num_bytes: int


def content_folder() -> Path:
    """Return the folder that contains all contents; it may not exist."""
    return home().absolute() / "content"


def hash_content(collection: Collection) -> Content:
    """Hash a collection without keeping it; files with unchanged status are hashed once per process.

    Raises:
        PluginError: a file cannot be read.
    """
    inventory = hash_collection(collection, remembers=True)
    return Content(inventory, inventory.tree_hash)


def keep_content(collection: Collection) -> Content:
    """Hash a collection, and copy it unless this content is already kept; the hash is that of the copy.

    A kept folder whose files were modified is replaced.

    Raises:
        PluginError: a file cannot be read.
        StoreError: the content cannot be written.
    """
    inventory = hash_collection(collection)
    found = find_content(inventory.tree_hash)
    return _copy(collection) if found is None else found


@contextmanager
def work_folder() -> Generator[Path]:
    """Make an empty temporary folder beside the contents; remove it at the end of the block.

    If the process is killed, `prune` removes the folder later.

    Raises:
        StoreError: the folder cannot be written.
    """
    base = content_folder()
    work = base / f"{_WORK}{secrets.token_hex(_RANDOM_BYTES)}"
    try:
        # 0o711: bots with other users can enter the folder whose name they are told, but nobody can list
        # them.
        base.mkdir(mode=0o711, parents=True, exist_ok=True)
        work.mkdir()
        yield work
    except OSError as error:
        raise StoreError(
            f"cannot write {content_folder()} ({error.strerror}), the folder that bots start from; free some "
            "space (arena bots prune removes what is no longer used), or set ARENA_HOME to another folder"
        ) from error
    finally:
        # After a rename nothing has this name any more, and nothing is removed.
        remove(work)


def find_content(tree_hash: str) -> Content | None:
    """Return a kept content if its files still have the hash, and record its use; otherwise None."""
    folder = content_folder() / tree_hash
    stamp = _stamp(tree_hash)
    # The use is recorded first, so that a `prune` in another process keeps what is about to be started.
    with suppress(OSError):
        os.utime(stamp)
    try:
        known = msgspec.json.decode(stamp.read_bytes(), type=_StoredContent)
    except (OSError, msgspec.DecodeError):
        return None
    # The metadata could be damaged or of another content: they count only if they have this hash.
    if known.inventory.tree_hash != tree_hash:
        return None
    state = state_of(str(folder))
    if not state:
        return None
    if state != known.state:
        # The status differs, as after a move to another disk or a modification: only the bytes can tell.
        if not _is_whole(folder, known.inventory):
            return None
        _write_stamp(tree_hash, _StoredContent(inventory=known.inventory, state=state))
    return Content(known.inventory, tree_hash, str(folder), state)


def state_of(folder: str) -> str:
    """Return a digest of the status (inode, size, mode, times) of all files below a folder.

    Files are not read. Any change of a file changes the digest, because only the kernel can set the time of
    its last status change (ctime). The digest is empty if there is no such folder.
    """
    digest = hashlib.blake2b(digest_size=_STATE_BYTES)
    waiting = [("", folder)]
    try:
        while waiting:
            below, place = waiting.pop()
            with os.scandir(place) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    status = entry.stat(follow_symlinks=False)
                    path = f"{below}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        # Neither `/` nor NUL occurs in a name, so no two trees are digested as the same
                        # bytes. Names may be any bytes, hence the surrogates.
                        digest.update(f"{path}/\0".encode(errors="surrogateescape"))
                        waiting.append((f"{path}/", entry.path))
                        continue
                    row = (
                        status.st_ino,
                        status.st_size,
                        status.st_mode,
                        status.st_mtime_ns,
                        status.st_ctime_ns,
                    )
                    digest.update(f"{path}\0{row}".encode(errors="surrogateescape"))
    except OSError:
        return ""
    return digest.hexdigest()


def stamp_used(tree_hash: str) -> None:
    """Record that a content is in use, so that `prune` keeps it."""
    stamp = _stamp(tree_hash)
    with suppress(OSError):
        if time.time() - stamp.stat().st_mtime > _TOUCH_S:
            os.utime(stamp)


def write_entered(identity: str, data: bytes) -> None:
    """Store the data needed to start a competitor again; a failure, such as a full disk, is ignored."""
    path = content_folder() / _ENTERED / f"{identity}.json"
    with suppress(OSError):
        if not path.exists() or path.read_bytes() != data:
            _write(path, data)


def read_entered(identity: str) -> bytes | None:
    """Return what `write_entered` stored, or None."""
    try:
        return (content_folder() / _ENTERED / f"{identity}.json").read_bytes()
    except OSError:
        return None


def prune(needed: Container[str] = (), *, unused_s: float = KEEP_S) -> Pruned:
    """Remove contents that have been unused for a time; each start of a bot stamps its content.

    Args:
        needed: hashes of contents to keep in any case.
        unused_s: seconds since the last use.

    Raises:
        StoreError: the folder cannot be read or written.
    """
    base = content_folder()
    num_contents = num_bytes = 0
    try:
        for path in sorted(base.iterdir()) if base.is_dir() else ():
            age_s = _age_s(path)
            if path.name.startswith("."):
                # A work folder, or a part of a content that came from another machine.
                if age_s > _STALE_S:
                    remove(path) if path.is_dir() else path.unlink(missing_ok=True)
            elif path.is_dir() and path.name not in (_ENTERED, *needed) and age_s >= unused_s:
                num_bytes += _num_bytes(path)
                num_contents += 1
                _discard(path)
                _stamp(path.name).unlink(missing_ok=True)
        for entered in (base / _ENTERED).glob("*.json"):
            if not (base / _content_of(entered)).is_dir():
                entered.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot remove contents from {base} ({error.strerror}); fix its permissions, then prune again"
        ) from error
    return Pruned(num_contents, num_bytes)


def make_room(quota: int, *, unused_s: float = 2 * _TOUCH_S) -> None:
    """Remove contents, the least recently used ones first, until all others have at most `quota` bytes.

    Recently used contents are always kept, because a bot may be starting from one.

    Args:
        quota: bytes.
        unused_s: minimum seconds since the last use of a content that may be removed.

    Raises:
        StoreError: the recently used contents are larger than that.
    """
    base = content_folder()
    kept = [path for path in base.iterdir() if path.is_dir() and _is_content(path)] if base.is_dir() else []
    sizes = {path: _num_bytes(path) for path in sorted(kept, key=_age_s, reverse=True)}
    total = sum(sizes.values())
    for path, size in sizes.items():
        # All following ones were used later. The age is read again, because a bot may have started from it
        # since they were sorted.
        if total <= quota or _age_s(path) < unused_s:
            break
        _discard(path)
        _stamp(path.name).unlink(missing_ok=True)
        total -= size
    if total > max(0, quota):
        raise StoreError(
            f"contents of bots in {base} have {total >> 20} MiB that are in use, and there is room for "
            f"{max(0, quota) >> 20}"
        )


def _is_content(path: Path) -> bool:
    return path.name != _ENTERED and not path.name.startswith(".")


def _num_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _copy(collection: Collection) -> Content:
    with work_folder() as work:
        inventory = copy_collection(collection, work)
        seal_folder(work)
        tree_hash = inventory.tree_hash
        folder = work.with_name(tree_hash)
        # Before the rename, which leaves the status of the files as it is: no folder exists without a stamp.
        _write_stamp(tree_hash, _StoredContent(inventory=inventory, state=state_of(str(work))))
        # Fails if the folder exists: another process was first, and its copy is as good. The stamp then has
        # another state than the folder, so its bytes are read once more.
        with suppress(OSError):
            work.rename(folder)
        found = find_content(tree_hash)
        if found is None:
            # Any existing folder of this name no longer has this content.
            _discard(folder)
            work.rename(folder)
            found = find_content(tree_hash)
        if found is None:
            raise StoreError(
                f"{folder} was changed by another program while it was being written; stop that program, "
                "then try again"
            )
        return found


def _is_whole(folder: Path, inventory: Inventory) -> bool:
    collection = Collection(f"content {folder.name[:8]}")
    collection.needs = inventory.needs
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for path in (Path(parent, name) for name in (*names, *links)):
            # Copies contain no links, so a link makes hashing fail.
            collection.files[path.relative_to(folder).as_posix()] = path
    try:
        return hash_collection(collection).tree_hash == inventory.tree_hash
    except Exception:  # noqa: BLE001 - whatever cannot be hashed differs from what was kept
        return False


def _stamp(tree_hash: str) -> Path:
    return content_folder() / f"{tree_hash}.json"


def _write_stamp(tree_hash: str, kept: _StoredContent) -> None:
    _write(_stamp(tree_hash), msgspec.json.encode(kept))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_name(f"{_WORK}{secrets.token_hex(_RANDOM_BYTES)}")
    try:
        # A reader sees the old file or the new one, never a part.
        work.write_bytes(data)
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def _age_s(path: Path) -> float:
    """Return the seconds since the last use of a content; for other files, since they were written."""
    for file in (_stamp(path.name), path):
        with suppress(OSError):
            # The stamp is touched at each start; a folder itself keeps the time of its copies.
            return time.time() - file.lstat().st_mtime
    return 0.0


def _content_of(entered: Path) -> str:
    """Return the hash of the content that a stored competitor starts from; "-" if it cannot be read."""
    with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
        found = msgspec.json.decode(entered.read_bytes(), type=dict[str, object]).get("content")
        if isinstance(found, str) and found:
            return found
    # Not the empty text: that would name the folder of all contents, which exists, so the file would stay.
    return "-"


def _discard(folder: Path) -> None:
    """Rename a folder away at once, then remove it; do nothing if it does not exist."""
    old = folder.with_name(f"{_WORK}{secrets.token_hex(_RANDOM_BYTES)}")
    with suppress(FileNotFoundError):
        folder.rename(old)
        remove(old)
