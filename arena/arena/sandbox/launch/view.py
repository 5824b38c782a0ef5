"""The private root of a container: read-only views of host files, one scratch folder, five devices.

It is built in its own mount namespace. Numbers: linux/mount.h.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat

from arena.sandbox.launch.container_paths import (
    COMPILED,
    FILL_INODES,
    FILL_SPACE,
    NO_PROCFS,
    SCRATCH,
    SHM,
    WHOLE_PROCFS,
)
from arena.sandbox.launch.kernel import mount, pivot_root, restrict_mounts

TYPE_CHECKING = False  # importing typing would take a quarter of the time of a starter
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Recipe = Mapping[str, Sequence[str]]

DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
_DEVICE_LINKS = {"shm": SHM, "fd": "/proc/self/fd"} | {
    name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))
}
_EMPTY_FOLDER, _EMPTY_FILE = "/.empty", "/.nothing"
"""Mounted over the hidden paths inside a folder that is shown."""
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
"""Flags with the same values for `mount` and `mount_setattr`."""
_BIND, _PRIVATE, _RECURSIVE = 1 << 12, 1 << 18, 1 << 14
_ROOT_BYTES = 1 << 20
"""Maximum size of the root, 1 MiB: it holds only folders, links and the places for mounts, and no data."""


def enter(recipe: Recipe, user: int) -> int:
    """Make the recipe's root the root of this process; return an O_PATH descriptor of the scratch folder.

    Args:
        recipe: `base`, an empty host folder that becomes the root; `from` and `to`, host paths and where they
            appear; `link` and `at`, links and where they appear; `hide`, paths that appear empty; `scratch`
            and `inodes`, the limits of the scratch folder; `compiled`, a host folder that is copied into it;
            `fill`, the limits that are exhausted from the start; `procfs`, the content of /proc.
        user: user and group id of the scratch folder's owner.

    Raises:
        OSError: the kernel refused the call.
    """
    (base,) = recipe["base"]
    # First of all, because a new namespace inherits the host's propagation: the host would see these mounts.
    mount("none", "/", "", _PRIVATE | _RECURSIVE)
    mount("tmpfs", base, "tmpfs", _NOSUID | _NODEV, f"size={_ROOT_BYTES},mode=755")
    _make_places(base)
    for source, target in zip(recipe["from"], recipe["to"], strict=True):
        _bind(source, base + target)
    for target, place in zip(recipe.get("link", ()), recipe.get("at", ()), strict=True):
        os.makedirs(os.path.dirname(base + place), exist_ok=True)
        os.symlink(target, base + place)
    # After the folders they are in, and before the restriction, which thus holds for these mounts as well.
    for place in recipe.get("hide", ()):
        _hide(base, place)
    # One call for the root and everything that is bound below it; it can only remove rights.
    restrict_mounts(base, _RDONLY | _NOSUID | _NODEV)
    for device in DEVICES:
        mount(device, base + device, "", _BIND)
        # Read-only mounts allow writing to a device, but not changing its mode or times.
        restrict_mounts(base + device, _RDONLY | _NOSUID | _NOEXEC)
    # After the restriction, because it stays writable; before the change of root, because it reads the host.
    scratch = _make_scratch(base, recipe, user)
    (procfs,) = recipe["procfs"]
    if procfs != NO_PROCFS:
        _mount_processes(base, "" if procfs == WHOLE_PROCFS else "subset=pid")
    os.chdir(base)
    pivot_root()
    os.chdir(SCRATCH)
    return scratch


def _make_places(base: str) -> None:
    for folder in ("/dev", "/proc", SCRATCH, _EMPTY_FOLDER):
        os.mkdir(base + folder, 0o755)
    for file in (_EMPTY_FILE, *DEVICES):
        _touch(base + file)
    for name, target in _DEVICE_LINKS.items():
        os.symlink(target, f"{base}/dev/{name}")


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _bind(source: str, target: str) -> None:
    """Show a host file or folder in the container; one that does not exist is ignored."""
    try:
        if stat.S_ISDIR(os.stat(source).st_mode):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _touch(target)
        mount(source, target, "", _BIND | _RECURSIVE)
    except FileNotFoundError:
        return


def _hide(base: str, place: str) -> None:
    try:
        is_folder = stat.S_ISDIR(os.stat(base + place).st_mode)
    except FileNotFoundError:
        return
    mount(base + (_EMPTY_FOLDER if is_folder else _EMPTY_FILE), base + place, "", _BIND)


def _make_scratch(base: str, recipe: Recipe, user: int) -> int:
    (size,), (inodes,) = recipe["scratch"], recipe["inodes"]
    options = f"size={size},nr_inodes={inodes},mode=700,uid={user},gid={user}"
    mount("tmpfs", base + SCRATCH, "tmpfs", _NOSUID | _NODEV, options)
    for folder in (COMPILED, SHM):
        _make_folder(base + folder, user)
    for kept in recipe.get("compiled", ()):
        _copy_compiled(kept, base + COMPILED, user)
    fills = recipe.get("fill", ())
    if FILL_SPACE in fills:
        _use_up_space(f"{base}{SCRATCH}/.full")
    if FILL_INODES in fills:
        _use_up_inodes(f"{base}{SCRATCH}/.full")
    return os.open(base + SCRATCH, os.O_PATH | os.O_CLOEXEC)


def _use_up_space(file: str) -> None:
    """Write to a file until its file system has no space left."""
    piece = bytes(1 << 20)
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        while True:
            os.write(descriptor, piece)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    finally:
        os.close(descriptor)


def _use_up_inodes(prefix: str) -> None:
    """Create empty files until the file system has no inodes left."""
    try:
        for number in itertools.count():
            _touch(f"{prefix}-{number}")
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def _make_folder(folder: str, user: int) -> None:
    os.mkdir(folder, 0o700)
    os.chown(folder, user, user)


def _copy_compiled(kept: str, target: str, user: int) -> None:
    """Copy files from the subfolders of a folder; whatever cannot be copied is compiled again."""
    try:
        for folder in os.listdir(kept):
            _make_folder(f"{target}/{folder}", user)
            for name in os.listdir(f"{kept}/{folder}"):
                copy = f"{target}/{folder}/{name}"
                with open(f"{kept}/{folder}/{name}", "rb") as file, open(copy, "wb") as written:
                    written.write(file.read())
                os.chown(copy, user, user)
    except OSError:
        return


def _mount_processes(base: str, options: str) -> None:
    """Mount a procfs that shows the processes inside, if the kernel allows it."""
    try:
        mount("proc", f"{base}/proc", "proc", _NOSUID | _NODEV | _NOEXEC, options)
    except OSError:
        # If the visible procfs is partly covered, as in many containers, the kernel refuses a new one. Bots
        # do not need it.
        return
