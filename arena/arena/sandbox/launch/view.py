"""The private root of a container: read-only views of some host files, one scratch folder, five devices.

It is built in a mount namespace of its own. Numbers: linux/mount.h.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from typing import TYPE_CHECKING

from arena.sandbox.launch.kernel import mount, pivot_root, restrict_mounts
from arena.sandbox.launch.places import (
    COMPILED,
    FILL_INODES,
    FILL_SPACE,
    NO_PROCFS,
    SCRATCH,
    SHM,
    WHOLE_PROCFS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Recipe = Mapping[str, Sequence[str]]

DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
_DEVICE_LINKS = {"shm": SHM, "fd": "/proc/self/fd"} | {
    name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))
}
_EMPTY_FOLDER, _EMPTY_FILE = "/.empty", "/.nothing"
"""They are mounted over what is hidden inside a folder that is shown."""
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
"""The same for `mount` and `mount_setattr`."""
_BIND, _PRIVATE, _RECURSIVE = 1 << 12, 1 << 18, 1 << 14
_ROOT_BYTES = 1 << 20


def enter(recipe: Recipe, user: int) -> int:
    """Make the root of the recipe this process's, and return an O_PATH descriptor of the scratch folder.

    Args:
        recipe: `base`, an empty host folder that becomes the root; `from` and `to`, host paths and where they
            are shown; `link` and `at`, links and where they are; `hide`, paths that look empty; `scratch` and
            `inodes`, the bounds of the scratch folder; `compiled`, a host folder whose copy goes into it;
            `fill`, which of the bounds is reached from the start; `procfs`, what /proc shows.
        user: number of the owner of the scratch folder, and of its group.

    Raises:
        OSError: the kernel refused.
    """
    (base,) = recipe["base"]
    mount("none", "/", "", _PRIVATE | _RECURSIVE)
    mount("tmpfs", base, "tmpfs", _NOSUID | _NODEV, f"size={_ROOT_BYTES},mode=755")
    _make_places(base)
    for source, target in zip(recipe["from"], recipe["to"], strict=True):
        _bind(source, base + target)
    for target, place in zip(recipe.get("link", ()), recipe.get("at", ()), strict=True):
        os.makedirs(os.path.dirname(base + place), exist_ok=True)
        os.symlink(target, base + place)
    for place in recipe.get("hide", ()):
        _hide(base, place)
    # One call for the root and all that is bound below it; it can only take rights away.
    restrict_mounts(base, _RDONLY | _NOSUID | _NODEV)
    for device in DEVICES:
        mount(device, base + device, "", _BIND)
        # A device can be written to all the same, but its mode and its times cannot be changed.
        restrict_mounts(base + device, _RDONLY | _NOSUID | _NOEXEC)
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
    """Show a host file or folder; one that does not exist is passed over."""
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
    """Write to a file until nothing is left of the file system it is in."""
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
    """Make empty files until the file system has no entry left."""
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
    """Copy the files in the folders of a folder; what cannot be copied is compiled anew."""
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
    """Show the processes inside, as far as the kernel allows a new procfs here."""
    try:
        mount("proc", f"{base}/proc", "proc", _NOSUID | _NODEV | _NOEXEC, options)
    except OSError:
        # Where a procfs is partly covered, as in many containers, the kernel allows no other; bots need none.
        return
