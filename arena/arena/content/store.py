"""The folders of contents: `content/HASH` holds the files, `content/HASH.json` what is known of them.

A folder is written under another name and renamed when it is whole, so processes may write the same content
at the same time. Bots start from these folders alone.
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
from arena.content.copying import copy_collection, hash_collection, seal_folder
from arena.content.manifest import Inventory
from arena.errors import StoreError
from arena.home import home
from arena.removal import remove

if TYPE_CHECKING:
    from collections.abc import Collection as Container
    from collections.abc import Generator

_WORK = ".work-"
"""How the name of a folder begins that is not ready yet, or no longer wanted."""
_ENTERED = "entered"
_STALE_S = 86_400.0
"""Seconds after which a work folder was left by a process that was killed."""
_TOUCH_S = 3600.0
"""A content in use is stamped at most this often."""
KEEP_S = 30 * 86_400.0
"""Seconds a content is kept after its last use."""


class Content(NamedTuple):
    """The content of a competitor, kept or only hashed."""

    inventory: Inventory
    hash: str
    """SHA-256 in hex."""
    folder: str = ""
    """Where it is kept; empty if it was only hashed."""
    state: str = ""
    """What `state_of` returned for the folder when its files had this hash."""


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a kept content."""

    inventory: Inventory
    state: str


class Pruned(NamedTuple):
    """What `prune` removed."""

    num_contents: int
    num_bytes: int


def content_folder() -> Path:
    """Return the folder that holds all contents; it may not exist."""
    return home().absolute() / "content"


def hash_content(collection: Collection) -> Content:
    """Hash a collection without keeping it; files of unchanged status are hashed once per process.

    Raises:
        PluginError: a file cannot be read.
    """
    inventory = hash_collection(collection, remembers=True)
    return Content(inventory, inventory.tree_hash)


def keep_content(collection: Collection) -> Content:
    """Hash a collection and copy it if no such content is kept yet; the hash is that of the copy.

    A kept folder whose files were changed is replaced.

    Raises:
        PluginError: a file cannot be read.
        StoreError: the content cannot be written.
    """
    inventory = hash_collection(collection)
    found = find_content(inventory.tree_hash)
    return _copy(collection) if found is None else found


@contextmanager
def work_folder() -> Generator[Path]:
    """Make an empty folder beside the contents, which is removed at the end.

    One that a killed process left is removed by `prune`.

    Raises:
        StoreError: something cannot be written.
    """
    base = content_folder()
    work = base / f"{_WORK}{secrets.token_hex(8)}"
    try:
        # Bots of other users pass here to their own content, whose name they are told; nobody else finds any.
        base.mkdir(mode=0o711, parents=True, exist_ok=True)
        work.mkdir()
        yield work
    except OSError as error:
        raise StoreError(
            f"cannot write {content_folder()} ({error.strerror}), and bots start from there; free some space "
            "(arena bots prune removes what is no longer used), or set ARENA_HOME to another folder"
        ) from error
    finally:
        remove(work)


def find_content(tree_hash: str) -> Content | None:
    """Return a kept content if its files are still those of its hash, and stamp it as used."""
    folder = content_folder() / tree_hash
    stamp = _stamp(tree_hash)
    with suppress(OSError):
        os.utime(stamp)
    try:
        known = msgspec.json.decode(stamp.read_bytes(), type=_Kept)
    except (OSError, msgspec.DecodeError):
        return None
    if known.inventory.tree_hash != tree_hash:
        return None
    state = state_of(str(folder))
    if not state:
        return None
    if state != known.state:
        # Moved to another disk, or changed: only its bytes tell.
        if not _is_whole(folder, known.inventory):
            return None
        _write_stamp(tree_hash, _Kept(inventory=known.inventory, state=state))
    return Content(known.inventory, tree_hash, str(folder), state)


def state_of(folder: str) -> str:
    """Digest the status (inode, size, mode, times) of all files below a folder, without reading them.

    Every change of a file changes it: nobody but the kernel sets the time of the last change of status. It is
    empty where there is no such folder.
    """
    digest = hashlib.blake2b(digest_size=20)
    waiting = [("", folder)]
    try:
        while waiting:
            below, place = waiting.pop()
            with os.scandir(place) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    status = entry.stat(follow_symlinks=False)
                    path = f"{below}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
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
    """Note that a content is in use, so that `prune` lets it stay."""
    stamp = _stamp(tree_hash)
    with suppress(OSError):
        if time.time() - stamp.stat().st_mtime > _TOUCH_S:
            os.utime(stamp)


def write_entered(identity: str, data: bytes) -> None:
    """Keep what starts the competitor of this identity again; a full disk keeps nothing and stops nobody."""
    path = content_folder() / _ENTERED / f"{identity}.json"
    with suppress(OSError):
        if not path.exists() or path.read_bytes() != data:
            _write(path, data)


def read_entered(identity: str) -> bytes | None:
    """Return what `write_entered` kept; None if there is nothing."""
    try:
        return (content_folder() / _ENTERED / f"{identity}.json").read_bytes()
    except OSError:
        return None


def prune(needed: Container[str] = (), *, unused_s: float = KEEP_S) -> Pruned:
    """Remove contents that nothing has used for a time; those in use are stamped at every start of a bot.

    Args:
        needed: hashes of contents that stay in any case.
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
            f"cannot remove contents from {base} ({error.strerror}); mend its permissions, then prune again"
        ) from error
    return Pruned(num_contents, num_bytes)


def make_room(quota: int, *, unused_s: float = 2 * _TOUCH_S) -> None:
    """Remove contents, the least recently used ones first, until all others have at most `quota` bytes.

    What was used lately stays in any case: a bot may be started from it.

    Args:
        quota: bytes.
        unused_s: seconds since the last use of what may go.

    Raises:
        StoreError: they have more.
    """
    base = content_folder()
    kept = [path for path in base.iterdir() if path.is_dir() and _is_content(path)] if base.is_dir() else []
    sizes = {path: _num_bytes(path) for path in sorted(kept, key=_age_s, reverse=True)}
    total = sum(sizes.values())
    for path, size in sizes.items():
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
        _write_stamp(tree_hash, _Kept(inventory=inventory, state=state_of(str(work))))
        with suppress(OSError):
            work.rename(folder)
        found = find_content(tree_hash)
        if found is None:
            # What had the name already is not this content any more.
            _discard(folder)
            work.rename(folder)
            found = find_content(tree_hash)
        if found is None:
            raise StoreError(f"{folder} is changed while it is written; stop what does that, then try again")
        return found


def _is_whole(folder: Path, inventory: Inventory) -> bool:
    collection = Collection(f"content {folder.name[:8]}")
    collection.needs = inventory.needs
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for path in (Path(parent, name) for name in (*names, *links)):
            # No copy is a link, and reading one fails.
            collection.files[path.relative_to(folder).as_posix()] = path
    try:
        return hash_collection(collection).tree_hash == inventory.tree_hash
    except Exception:  # noqa: BLE001 - whatever cannot be hashed is not what was kept
        return False


def _stamp(tree_hash: str) -> Path:
    return content_folder() / f"{tree_hash}.json"


def _write_stamp(tree_hash: str, kept: _Kept) -> None:
    _write(_stamp(tree_hash), msgspec.json.encode(kept))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_name(f"{_WORK}{secrets.token_hex(8)}")
    try:
        work.write_bytes(data)
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def _age_s(path: Path) -> float:
    """Return the seconds since the last use of a content or, of anything else, since it was written."""
    for file in (_stamp(path.name), path):
        with suppress(OSError):
            return time.time() - file.lstat().st_mtime
    return 0.0


def _content_of(entered: Path) -> str:
    """Return the hash of the content a kept competitor starts from; one that cannot be read has none."""
    with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
        found = msgspec.json.decode(entered.read_bytes(), type=dict[str, object]).get("content")
        if isinstance(found, str) and found:
            return found
    return "-"


def _discard(folder: Path) -> None:
    """Rename a folder away at once, then remove it; do nothing if there is none."""
    old = folder.with_name(f"{_WORK}{secrets.token_hex(8)}")
    with suppress(FileNotFoundError):
        folder.rename(old)
        remove(old)
