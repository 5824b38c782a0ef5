"""The private root of a container: read-only views of some host files, one scratch folder, five devices.

It is built in a mount namespace of its own. Numbers: linux/mount.h.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from arena.sandbox.launch.kernel import mount, pivot_root, restrict_mounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Recipe = Mapping[str, Sequence[str]]

SCRATCH = "/scratch"
COMPILED_NAME = ".numba"
COMPILED = f"{SCRATCH}/{COMPILED_NAME}"
_SHM = f"{SCRATCH}/.shm"
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
_DEVICE_LINKS = {"shm": _SHM, "fd": "/proc/self/fd"} | {
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
            `inodes`, the bounds of the scratch folder; `compiled`, a host folder whose copy goes into it.
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
        link = Path(base + place)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    for place in recipe.get("hide", ()):
        _hide(base, place)
    # One call for the root and all that is bound below it; it can only take rights away.
    restrict_mounts(base, _RDONLY | _NOSUID | _NODEV)
    for device in DEVICES:
        mount(device, base + device, "", _BIND)
        restrict_mounts(base + device, _NOSUID | _NOEXEC)
    scratch = _make_scratch(base, recipe, user)
    _mount_processes(base, "" if "procfs" in recipe else "subset=pid")
    os.chdir(base)
    pivot_root()
    os.chdir(SCRATCH)
    return scratch


def _make_places(base: str) -> None:
    for folder in ("/dev", "/proc", SCRATCH, _EMPTY_FOLDER):
        Path(base + folder).mkdir(mode=0o755)
    for file in (_EMPTY_FILE, *DEVICES):
        Path(base + file).touch()
    for name, target in _DEVICE_LINKS.items():
        Path(f"{base}/dev/{name}").symlink_to(target)


def _bind(source: str, target: str) -> None:
    """Show a host file or folder; one that does not exist is passed over."""
    place = Path(target)
    try:
        is_folder = Path(source).is_dir()
        if is_folder:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        mount(source, target, "", _BIND | _RECURSIVE)
    except FileNotFoundError:
        return


def _hide(base: str, place: str) -> None:
    hidden = Path(base + place)
    if hidden.exists():
        mount(base + (_EMPTY_FOLDER if hidden.is_dir() else _EMPTY_FILE), str(hidden), "", _BIND)


def _make_scratch(base: str, recipe: Recipe, user: int) -> int:
    (size,), (inodes,) = recipe["scratch"], recipe["inodes"]
    options = f"size={size},nr_inodes={inodes},mode=700,uid={user},gid={user}"
    mount("tmpfs", base + SCRATCH, "tmpfs", _NOSUID | _NODEV, options)
    for folder in (COMPILED, _SHM):
        _make_folder(Path(base + folder), user)
    for kept in recipe.get("compiled", ()):
        _copy_compiled(Path(kept), Path(base + COMPILED), user)
    return os.open(base + SCRATCH, os.O_PATH | os.O_CLOEXEC)


def _make_folder(folder: Path, user: int) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, user, user)


def _copy_compiled(kept: Path, target: Path, user: int) -> None:
    """Copy the files in the folders of a folder; what cannot be copied is compiled anew."""
    try:
        for folder in kept.iterdir():
            _make_folder(target / folder.name, user)
            for file in folder.iterdir():
                copy = target / folder.name / file.name
                copy.write_bytes(file.read_bytes())
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
