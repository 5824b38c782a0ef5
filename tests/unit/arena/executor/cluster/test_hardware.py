"""GPUs of a worker: the driver's list, which slot sees which GPU, and the messages for users.

No machine of the tests has a GPU; a program in place of the driver's lists some.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.executor.cluster.coordinator_link import status_row
from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.hardware import describe_gpus, find_gpus
from arena.executor.cluster.messages import MachineState
from arena.executor.cluster.supervisor import describe, gpu_environment
from command_line import CommandLine

if TYPE_CHECKING:
    from pathlib import Path

LISTED = """0, GPU-aa-01, NVIDIA H100
1, GPU-bb-02, NVIDIA H100
2, GPU-cc-03, NVIDIA A40, 48 GB
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{LISTED}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program


@pytest.mark.usefixtures("driver")
def test_gpus_are_found_by_index_and_by_uuid() -> None:
    assert find_gpus(()) == ()
    assert find_gpus(("1", "0")) == ("NVIDIA H100", "NVIDIA H100")
    assert find_gpus(("GPU-cc-03",)) == ("NVIDIA A40, 48 GB",)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (("3",), r"--gpu 3: nvidia-smi lists no such GPU here \(GPUs: 0, 1, 2\)"),
        (("",), "write different indices or uuids, such as --gpu 0,1"),
        (("0", "0"), "write different indices"),
        (("-1",), "write different indices"),
    ],
)
def test_other_ids_are_refused(ids: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        find_gpus(ids)


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 9\n", "#!/bin/sh\necho nonsense\n", "no program"])
def test_a_driver_that_lists_nothing_has_no_gpus(driver: Path, text: str) -> None:
    driver.write_text(text)
    with pytest.raises(ConfigError, match=r"\(GPUs: none\)"):
        find_gpus(("0",))


def test_without_a_driver_there_are_no_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"\(GPUs: none\)"):
        find_gpus(("0",))


def test_each_of_the_first_slots_sees_its_own_gpu() -> None:
    assert [gpu_environment(("1", "GPU-a"), number) for number in range(3)] == [
        {"CUDA_VISIBLE_DEVICES": "1"},
        {"CUDA_VISIBLE_DEVICES": "GPU-a"},
        {"CUDA_VISIBLE_DEVICES": ""},
    ]
    assert gpu_environment((), 0) == {}, "without --gpu nothing changes"


def test_gpus_are_told_in_a_few_words() -> None:
    assert describe_gpus(()) == ""
    assert describe_gpus(("A",)) == "1 GPU (A)"
    assert describe_gpus(("A", "A")) == "2 GPUs (A)"
    assert describe_gpus(("A", "B", "A")) == "3 GPUs (2 A, 1 B)"
    assert "2 slots, 1 GPU (A), tiers" in describe(find_facts(2, 1.0, ("A",)))
    state = MachineState(
        machine="1",
        name="pc",
        state="idle",
        slots=2,
        tier="T2",
        speed=1.0,
        matches_per_min=0.0,
        lost=0,
        note="",
    )
    row = status_row(state)
    assert (row["gpus"], row["matches_per_min"]) == (None, None), "programs read None, not a dash"


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--gpu", "7"), "--gpu 7: nvidia-smi lists no such GPU here"),
        (("--gpu", "0,1", "--slots", "1"), "--slots 1 is fewer than the 2 GPUs of --gpu"),
        (("--gpu", "0,"), "write different indices or uuids"),
    ],
)
def test_a_worker_is_refused_gpus_that_it_does_not_have(
    tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    arena = CommandLine(tmp_path)
    said = arena("worker", "tcp://127.0.0.1:1", *words, status=2).stderr
    assert complaint in " ".join(said.split())
