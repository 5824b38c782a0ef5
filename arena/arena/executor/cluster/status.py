"""The machines of a cluster, and the cluster last started on this machine, which needs no address."""

from __future__ import annotations

import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ArenaError
from arena.executor.cluster.hardware import describe_gpus
from arena.executor.cluster.link import CoordinatorLink
from arena.executor.cluster.messages import AskStatus, Status
from arena.home import home

if TYPE_CHECKING:
    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.cluster.messages import HubTellsCoordinator, MachineState

_ANSWER_S: Final = 5.0


def ask_status(place: SchedulerPlace) -> tuple[MachineState, ...]:
    """Return the machines of a cluster, sorted by name; waits at most `_ANSWER_S` seconds.

    Raises:
        ArenaError: the scheduler does not answer.
    """
    found: list[Status] = []
    has_come = threading.Event()

    def hear(message: HubTellsCoordinator) -> None:
        if isinstance(message, Status):
            found.append(message)
            has_come.set()

    def ask() -> None:
        link.send(AskStatus())

    with closing(CoordinatorLink(place, hear=hear, up=ask, down=lambda: None)) as link:
        has_come.wait(_ANSWER_S)
    if not found:
        raise ArenaError(
            f"the scheduler at {place.address} does not answer; was it started by arena cluster start?"
        )
    return found[0].machines


def status_row(machine: MachineState) -> dict[str, object]:
    """Return a machine as a row of a table."""
    return {
        "machine": machine.name,
        "state": machine.state,
        "slots": machine.slots,
        "tier": machine.tier,
        "gpus": describe_gpus(machine.gpus) or "-",
        "speed": f"{machine.speed:.2f}" if machine.speed else "-",
        "matches_per_min": round(machine.matches_per_min) if machine.state == "playing" else "-",
        "lost": machine.lost,
        "note": machine.note,
    }


class KnownCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a scheduler and the path of its key file; the key itself is not copied."""

    address: str
    keys: Path | None


def note_cluster(address: str, keys: Path | None) -> None:
    """Store the address of a scheduler started on this machine; errors of the file system are ignored."""
    known = KnownCluster(address=address, keys=None if keys is None else keys.absolute())
    with suppress(OSError):
        home().mkdir(parents=True, exist_ok=True)
        _file().write_bytes(msgspec.json.encode(known, enc_hook=str))


def known_cluster() -> KnownCluster | None:
    """Return the cluster that was stored last; None if there is none."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(
            _file().read_bytes(), type=KnownCluster, dec_hook=lambda _, text: Path(text)
        )
    return None


def _file() -> Path:
    return home() / "cluster.json"
