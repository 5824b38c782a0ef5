"""The canaries distinguish a successful attack from a failed one, even if every tier blocks the attack."""

from __future__ import annotations

import gc
import itertools
import mmap
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from arena.sandbox.canaries import bait, held, tier_trial
from arena.sandbox.canaries.bait import DEVICE, set_out
from arena.sandbox.canaries.held import Amounts, fills_scratch, hides_memory, misleads_removal
from arena.sandbox.canaries.signs import Signs
from arena.sandbox.canaries.tier_trial import ALLOWED_S, idle_cpu_s, try_attacks, try_own
from arena.sandbox.process import Process
from arena.sandbox.scratch import ScratchFolder
from arena.sandbox.tier import Tier, tiers_to_try

TIERS = sorted(tiers_to_try())
STRONG = [tier for tier in TIERS if tier > Tier.T1]
FULL = Amounts(folders=5_000, files=20_000, num_bytes=300 << 20)
PAUSE_S = 2.0
SWAP_S = 10.0


@pytest.mark.parametrize("tier", TIERS)
def test_a_scratch_folder_is_filled_in_vain(tier: Tier) -> None:
    assert not fills_scratch(tier, FULL)


def test_full_folders_that_nobody_notices_are_an_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    def ignore(_: Process, __: float = 1.0) -> str:
        return ""

    monkeypatch.setattr(Process, "scratch_excess", ignore)
    assert not fills_scratch(Tier.T1)
    if Tier.T2 in TIERS:
        assert fills_scratch(Tier.T2)


@pytest.mark.parametrize("lifted", ["scratch_bytes", "scratch_entries", "scratch_depth"])
def test_each_way_to_fill_a_folder_counts(lifted: str) -> None:
    resources = held.QUICK_AMOUNTS.resources
    fields = {"folders": "scratch_depth", "files": "scratch_entries", "num_bytes": "scratch_bytes"}
    # The allowed amount of every resource except one, which is unlimited.
    bounds = {field: getattr(resources, name) // 8 for field, name in fields.items()}
    amounts = Amounts(**bounds, resources=resources)
    assert not any(fills_scratch(tier, amounts) for tier in TIERS[:1])
    wide = msgspec.structs.replace(resources, **{lifted: 1 << 30})
    if Tier.T2 in TIERS:
        assert fills_scratch(Tier.T2, held.QUICK_AMOUNTS._replace(folders=100, resources=wide))


def test_a_folder_that_is_left_is_an_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Path] = []

    def leave(scratch: ScratchFolder) -> None:
        left.append(scratch.root)

    monkeypatch.setattr(ScratchFolder, "remove", leave)
    assert fills_scratch(TIERS[-1])
    for folder in left:
        shutil.rmtree(folder)


def test_removal_is_not_misled() -> None:
    assert not misleads_removal(Tier.T1, SWAP_S)


def test_removal_that_follows_links_is_misled(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_up(scratch: ScratchFolder) -> None:
        # As the arena once did: by path, whose meaning can change between two calls.
        for folder, names, _ in os.walk(scratch.home):
            for name in names:
                path = Path(folder, name)
                with suppress(OSError):
                    if path.is_dir() and not path.is_symlink():
                        path.chmod(0o700)
        shutil.rmtree(scratch.home, ignore_errors=True)

    monkeypatch.setattr(ScratchFolder, "remove", open_up)
    assert any(misleads_removal(Tier.T1, 1.0) for _ in range(20))


@pytest.mark.parametrize("tier", TIERS)
def test_memory_outside_the_resident_size_is_bounded(tier: Tier) -> None:
    if tier is Tier.T1:
        # The pipes of a user share a limit, so another attacker at the same time may leave too little.
        assert any(hides_memory(tier) for _ in range(5))
    else:
        assert not hides_memory(tier)


@pytest.mark.parametrize("tier", STRONG)
def test_more_than_the_bound_is_an_attack(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pipes and sockets alone can hold some megabytes in every tier.
    monkeypatch.setattr(held, "MEMORY_BYTES", 1 << 20)

    def ignore(_: held.Watch) -> None:
        return

    monkeypatch.setattr(held.Watch, "look", ignore)
    monkeypatch.setattr(held.Watch, "__call__", ignore)
    assert hides_memory(tier)


@pytest.mark.parametrize("tier", STRONG)
def test_a_stopped_bot_does_not_think(tier: Tier) -> None:
    used = idle_cpu_s(tier, PAUSE_S)
    assert used is not None
    assert used <= ALLOWED_S


def test_a_bot_that_is_not_stopped_thinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_trial, "STOP", signal.SIGURG)  # a signal that it ignores
    used = idle_cpu_s(TIERS[-1], 0.5)
    assert used is not None
    assert used > ALLOWED_S


def test_memory_of_processes_is_found() -> None:
    pid = os.getpid()
    before = held.memory_file_bytes(pid)
    file = os.memfd_create("arena-test")
    os.write(file, bytes(1 << 20))
    assert held.memory_file_bytes(pid) == before + (1 << 20)
    os.close(file)
    assert held.peak_bytes(pid) > 1 << 20
    assert held.peak_bytes(-1) == held.memory_file_bytes(-1) == held.shared_map_bytes(-1) == 0
    assert held.segment_bytes(held.draw_key()) == 0


def test_maps_count_if_they_are_shared_and_have_no_file() -> None:
    pid, size = os.getpid(), 64 << 20
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS):
        assert held.shared_map_bytes(pid) < size
    with Path("/dev/zero").open("r+b") as zero, mmap.mmap(zero.fileno(), size, mmap.MAP_PRIVATE):
        assert held.shared_map_bytes(pid) < size
    with mmap.mmap(-1, size, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS):
        assert held.shared_map_bytes(pid) == size


@pytest.mark.parametrize("tier", TIERS)
def test_some_files_outside_are_the_attackers_own(tier: Tier) -> None:
    # Otherwise another owner would protect the files, not the sandbox.
    with set_out(tier) as there:
        user = os.geteuid() if there.attacker.user is None else there.attacker.user
        names = ("own_file", "own_program", "own_folder")
        assert {Path(there.targets["folder"], name).stat().st_uid for name in names} == {user}


def test_a_trial_that_cannot_be_set_up_leaves_no_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deep = tmp_path / ("long" * 30)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    # The socket stays in that folder; its path is too long for a socket address.
    monkeypatch.setattr(bait, "_MAX_FOLDER", 1_000)
    with pytest.raises(OSError, match="too long"), set_out(TIERS[0]):
        pass
    gc.collect()  # an open socket would be a ResourceWarning, which is an error


OWN = """
import os, signal, socket
def attack_send(targets):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.sendto(b"x", ("127.0.0.1", targets["udp"]))
def attack_kill(targets):
    os.kill(targets["opponent"], signal.SIGKILL)
def attack_exit(targets):
    os._exit(0)
def attack_chmod(targets):
    os.chmod(targets["own_file"], 0o777)
def attack_nice(targets):
    os.setpriority(os.PRIO_PROCESS, targets["opponent"], 19)
def attack_word(targets):
    return [targets["text"]]
def attack_device(targets):
    os.utime(targets["device"])
"""


@pytest.mark.parametrize("tier", TIERS)
def test_own_attacks_are_judged_by_canaries_or_their_word(tier: Tier, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    names = ["attack_send", "attack_kill", "attack_exit", "attack_chmod", "attack_nice", "attack_word"]
    names.append("attack_device")
    found = try_own(tier, file, dict.fromkeys(names, ""))
    is_open = tier is Tier.T1
    assert found == dict.fromkeys(names, is_open) | {"attack_exit": False, "attack_word": True}


@pytest.fixture
def neighbour(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Change the shared device as another program would, during the trials whose numbers are in the list."""
    during, end, number = [0], Signs.end, itertools.count()

    def touch_and_end(signs: Signs) -> None:
        if next(number) in during:
            os.utime(DEVICE)
        end(signs)

    monkeypatch.setattr(Signs, "end", touch_and_end)
    return during


def test_another_program_that_changes_a_device_is_no_attack(tmp_path: Path, neighbour: list[int]) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    assert try_own(TIERS[-1], file, {"attack_exit": ""}) == {"attack_exit": False}
    neighbour[:] = range(10)
    assert try_own(TIERS[-1], file, {"attack_exit": ""}) == {"attack_exit": True}


@pytest.mark.parametrize("tier", STRONG)
@pytest.mark.usefixtures("neighbour")
def test_a_refused_attack_on_a_device_is_none_whoever_else_changes_it(tier: Tier) -> None:
    assert 37 not in try_attacks(tier).worked


@pytest.mark.parametrize("tier", TIERS)
def test_the_attacks_are_made_however_long_the_path_of_temporary_files_is(
    tier: Tier, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        deep = Path(folder, "deep" * 25)
        deep.mkdir()
        # An attacker with a user of its own must be able to enter the folder.
        for place in (Path(folder), deep):
            place.chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", str(deep))
        # Only this attack needs a socket; the attack on the opponent's core may or may not succeed in a
        # trial.
        assert (30 in try_attacks(tier).worked) == (tier is Tier.T1)
        assert not list(deep.iterdir())


def test_a_tier_that_is_not_there_tries_nothing(tmp_path: Path) -> None:
    assert try_own(Tier.T0, tmp_path / "own.py", {"attack_x": ""}) == {}
