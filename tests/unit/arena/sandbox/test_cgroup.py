"""Control groups of the kernel if this machine allows them; otherwise the refusal is tested."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arena.sandbox.limits import cgroup
from arena.sandbox.limits.cgroup import (
    CONTROLLERS,
    MAIN,
    Leaf,
    NoSubtreeError,
    Subtree,
    enter,
    own_cgroup,
)
from groups import new_group, words

if TYPE_CHECKING:
    from collections.abc import Iterator

GIGABYTE = 1 << 30
V2 = "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = (
    "30 1 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)
INSIDE = "40 1 0:26 /docker/4f2a /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
BLANK = "40 1 0:26 / /mnt/my\\040groups rw - cgroup2 cgroup rw\n"


@pytest.fixture
def group() -> Iterator[Path | None]:
    with new_group() as made:
        yield made


def refuses(group: Path | None) -> bool:
    """Return whether no group can be made; assert that it is then refused."""
    if group is None:
        with pytest.raises(NoSubtreeError):
            enter(())
    return group is None


def run(group: Path, script: str, *, controllers: tuple[str, ...] = (), user: int | None = None) -> Any:  # noqa: ANN401 - JSON
    """Run a script whose process is alone in a group; return its output."""
    # Another user may be unable to read the library, so the needed part is imported before.
    code = (
        "import encodings.ascii, json, os, subprocess, sys\n"
        "from pathlib import Path\n"
        "from arena.sandbox.limits.cgroup import NoSubtreeError, enter\n"
        "group = Path(sys.argv[1])\n"
        "controllers, user = map(json.loads, sys.argv[2:])\n"
        "(group / 'cgroup.procs').write_text('0')\n"
        "if user is not None:\n"
        "    os.setgroups([])\n"
        "    os.setresgid(user, user, user)\n"
        "    os.setresuid(user, user, user)\n"
        f"{script}"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code, str(group), json.dumps(controllers), json.dumps(user)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def proc_of(folder: Path, groups: str, mounts: str) -> Path:
    (folder / "self").mkdir()
    (folder / "self" / "cgroup").write_text(groups)
    (folder / "self" / "mountinfo").write_text(mounts)
    return folder


@pytest.mark.parametrize(
    ("groups", "mounts", "expected"),
    [
        ("0::/user.slice/run-1.scope\n", V2, ("/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/run-1.scope")),
        ("8:pids:/\n4:memory:/a/b\n0::/\n", HYBRID, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified")),
        ("0::/docker/4f2a/x\n", INSIDE, ("/sys/fs/cgroup", "/sys/fs/cgroup/x")),
        ("0::/a b\n", BLANK, ("/mnt/my groups", "/mnt/my groups/a b")),
        ("0::/docker/4f2ab\n", INSIDE, None),
        ("8:pids:/\n4:memory:/\n", HYBRID, None),
        ("0::/\n", "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n", None),
    ],
)
def test_the_own_group_is_found(
    groups: str, mounts: str, expected: tuple[str, str] | None, tmp_path: Path
) -> None:
    proc = proc_of(tmp_path, groups, mounts)
    if expected is None:
        with pytest.raises(NoSubtreeError) as caught:
            own_cgroup(proc)
        assert not caught.value.is_delegable
    else:
        assert tuple(map(str, own_cgroup(proc))) == expected


def test_a_system_without_proc_has_no_groups(tmp_path: Path) -> None:
    with pytest.raises(NoSubtreeError, match="No such file"):
        own_cgroup(tmp_path)


@pytest.mark.parametrize(
    ("at_root", "here", "missing", "is_delegable"),
    [
        ("hugetlb", "hugetlb", "memory and pids", False),
        ("cpu memory pids", "cpu pids", "memory", True),
        ("cpu memory pids", "", "memory and pids", True),
    ],
)
def test_missing_controllers_are_named(
    at_root: str, here: str, missing: str, *, is_delegable: bool, tmp_path: Path
) -> None:
    mount = tmp_path / "mount"
    own = mount / "scope"
    own.mkdir(parents=True)
    (mount / "cgroup.controllers").write_text(f"{at_root}\n")
    (own / "cgroup.controllers").write_text(f"{here}\n")
    mounts = f"30 1 0:26 / {mount} rw - cgroup2 cgroup2 rw\n"
    with pytest.raises(NoSubtreeError, match=rf"cgroup.controllers lacks {missing}$") as caught:
        enter(proc=proc_of(tmp_path, "0::/scope\n", mounts))
    assert caught.value.is_delegable == is_delegable
    assert [path.name for path in own.iterdir()] == ["cgroup.controllers"]


def test_this_machine_gives_all_controllers_or_says_which_it_lacks(group: Path | None) -> None:
    if refuses(group):
        return
    assert group is not None
    told = run(
        group,
        "try:\n"
        "    found = str(enter().root)\n"
        "except NoSubtreeError as error:\n"
        "    found = str(error)\n"
        "print(json.dumps(found))\n",
    )
    here = words(group / "cgroup.controllers")
    missing = [name for name in CONTROLLERS if name not in here]
    assert told == str(group) if not missing else told.endswith(f"lacks {' and '.join(missing)}")


DIVIDE = """
child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
root = enter(controllers).root
code = "from arena.sandbox.limits.cgroup import enter; print(enter(()).root)"
worker = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
print(json.dumps({
    "root": str(root), "worker": worker.stdout.strip() or worker.stderr, "pids": [os.getpid(), child.pid],
    "main": (root / "arena-main/cgroup.procs").read_text().split(),
    "rest": (root / "cgroup.procs").read_text().split(),
    "enabled": (root / "cgroup.subtree_control").read_text().split(),
    "leaves": [path.name for path in root.glob("arena-bot-*")],
}))
child.kill()
"""


@pytest.mark.parametrize("user", [None, 65534] if os.geteuid() == 0 else [None])
def test_the_arena_makes_room_in_its_own_group(group: Path | None, user: int | None) -> None:
    if refuses(group):
        return
    assert group is not None
    if user is not None:
        # As systemd does with Delegate=yes.
        for path in (group, *(group / f"cgroup.{name}" for name in ("procs", "subtree_control", "threads"))):
            os.chown(path, user, user)
    # All controllers that a group can have here; with cgroup v2 alone, memory and pids are among them.
    controllers = tuple(words(group / "cgroup.controllers"))
    told = run(group, DIVIDE if user is None else AS_USER, controllers=controllers, user=user)
    assert told["root"] == told["worker"] == str(group)
    assert sorted(told["main"]) == sorted(map(str, told["pids"]))
    assert told["rest"] == told["leaves"] == []
    assert sorted(told["enabled"]) == sorted(controllers)


# Another user may be unable to start this interpreter.
AS_USER = DIVIDE.replace(
    'worker = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)',
    'worker = subprocess.run(["echo", str(enter(()).root)], capture_output=True, text=True)',
)


def test_a_group_that_is_not_delegated_is_left_alone(group: Path | None) -> None:
    if refuses(group) or os.geteuid() != 0:
        return
    assert group is not None
    told = run(
        group,
        "try:\n    enter(())\nexcept NoSubtreeError as error:\n    print(json.dumps(str(error)))\n",
        user=65534,
    )
    assert told == f"{group} cannot be written: this cgroup is not delegated to the arena"
    assert [path for path in group.iterdir() if path.is_dir()] == []


def test_a_group_with_others_in_it_is_left_alone(group: Path | None) -> None:
    if refuses(group):
        return
    assert group is not None
    with subprocess.Popen(["/bin/sleep", "600"]) as stranger:
        (group / "cgroup.procs").write_text(str(stranger.pid))
        told = run(
            group, "try:\n    enter(())\nexcept NoSubtreeError as error:\n    print(json.dumps(str(error)))\n"
        )
        stranger.kill()
    assert told == f"{group} also holds process {stranger.pid} (sleep), which the arena did not start"
    assert [path for path in group.iterdir() if path.is_dir()] == []


def test_groups_of_killed_arenas_go_and_others_stay(group: Path | None) -> None:
    if refuses(group):
        return
    assert group is not None
    subtree = Subtree(group, ())
    own = subtree.make_leaf(GIGABYTE, 1)
    with subprocess.Popen(["/bin/sleep", "600"]) as left:
        abandoned = group / f"arena-bot-{os.getpid()}-1-0"  # this number, another start
        ended = group / "arena-bot-4194305-77-3"  # a number beyond the largest
        other = group / "somebody"
        for folder in (abandoned, ended, other):
            folder.mkdir()
        (ended / "cgroup.procs").write_text(str(left.pid))
        subtree.sweep()
        assert left.wait() == -signal.SIGKILL
    # A group whose processes are still ending is removed by the next start.
    subtree.sweep()
    assert not abandoned.exists()
    assert not ended.exists()
    assert other.exists()
    assert Path(own.path).exists()
    assert own.remove()
    assert not Path(own.path).exists()
    assert own.remove()


def busy_in(leaf: Leaf) -> subprocess.Popen[bytes]:
    """Start a process in a group that computes for ever."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"], start_new_session=True)
    (Path(leaf.path) / "cgroup.procs").write_text(str(process.pid))
    return process


def test_no_signal_undoes_the_freezer(group: Path | None) -> None:
    if refuses(group):
        return
    assert group is not None
    leaf = Subtree(group, ()).make_leaf(GIGABYTE, 1)
    with busy_in(leaf) as process:
        before = leaf.cpu_s()
        while leaf.cpu_s() < before + 0.02:
            pass
        leaf.freeze()
        while "frozen 0" in (Path(leaf.path) / "cgroup.events").read_text():
            pass
        frozen = leaf.cpu_s()
        process.send_signal(signal.SIGCONT)
        here = sum(os.times()[:2])
        while sum(os.times()[:2]) < here + 0.1:
            pass
        assert leaf.cpu_s() <= frozen + 0.001
        leaf.thaw()
        while leaf.cpu_s() < frozen + 0.02:
            pass
        leaf.freeze()
        leaf.kill()
        assert process.wait() == -signal.SIGKILL
    assert leaf.remove()
    used = leaf.cpu_s()
    assert used >= frozen + 0.02
    leaf.freeze()
    leaf.thaw()
    leaf.kill()
    assert leaf.cpu_s() == used


def test_a_group_with_a_living_process_is_not_removed(group: Path | None) -> None:
    if refuses(group):
        return
    assert group is not None
    leaf = Subtree(group, ()).make_leaf(GIGABYTE, 1)
    with busy_in(leaf) as process:
        assert not leaf.remove()
        process.kill()


def test_a_group_that_cannot_be_limited_is_not_left_behind(group: Path | None) -> None:
    if refuses(group):
        return
    assert group is not None
    # A group without controllers has none of their files.
    with pytest.raises(FileNotFoundError) as caught:
        Subtree(group).make_leaf(GIGABYTE, 1)
    assert caught.value.filename.endswith("/memory.max")
    assert list(group.glob("arena-bot-*")) == []


def test_a_worker_finds_what_its_parent_divided(tmp_path: Path) -> None:
    root = tmp_path / "scope"
    (root / MAIN).mkdir(parents=True)
    mounts = f"30 1 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw\n"
    # A simulated group has no files of the kernel: the first group that is made shows it.
    with pytest.raises(NoSubtreeError, match=r"cgroup.freeze: No such file"):
        enter(proc=proc_of(tmp_path, f"0::/scope/{MAIN}\n", mounts))
    assert [path.name for path in root.iterdir()] == [MAIN]
    assert cgroup.MAIN == MAIN
