"""Asks the hub for the machines of a cluster."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Final

from arena.errors import ArenaError
from arena.executor.cluster.gpus import describe_gpus
from arena.executor.cluster.link import CoordinatorLink
from arena.executor.cluster.messages import AskStatus, Status

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
