"""Chooses where a tournament or a training runs: on this machine, or on worker machines."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from arena.coordinator.config import DASK
from arena.errors import ConfigError
from arena.executor.pools import make_pool
from arena.executor.shard_pools import LocalShards

if TYPE_CHECKING:
    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.plan import Plan
    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.pools import Pool
    from arena.executor.shard_pools import ShardPool
    from arena.executor.slots import SpeedRule

_LOCAL: Final = "local:"
_NEEDED: Final = ("distributed", "cryptography")


class MachineOptions(Protocol):
    """The options that choose machines, as a tournament's configuration or a training has them."""

    @property
    def executor(self) -> str:
        """`local`, `inline`, or `dask:` and the address of a scheduler."""
        ...

    @property
    def cluster(self) -> str | None:
        """`local:N` for a scheduler and N slots on this machine; None without."""
        ...

    @property
    def keys(self) -> str | None:
        """The key file of this machine."""
        ...

    @property
    def concurrency(self) -> int:
        """Number of concurrent matches on this machine; 0 for the default."""
        ...


class TrainingMachines(NamedTuple):
    """Where the shards of a training are computed; implements `MachineOptions`."""

    executor: str = "local"
    cluster: str | None = None
    keys: str | None = None
    concurrency: int = 0

    @property
    def is_chosen(self) -> bool:
        """Whether the user chose another place than worker processes of this machine."""
        return self.executor != "local" or self.cluster is not None


class Machines(NamedTuple):
    """Worker machines, or local processes that act as such."""

    place: SchedulerPlace | None
    """Address of their scheduler; None for a scheduler that this run starts."""
    num_slots: int
    """Number of slots that this run starts; 0 if the machines have their own."""


def has_machines(config: MachineOptions) -> bool:
    """Return whether matches are played through a scheduler, on other machines or on this one."""
    return config.cluster is not None or config.executor.startswith(DASK)


def find_machines(config: MachineOptions) -> Machines:
    """Return the worker machines that a configuration names; nothing is connected.

    Raises:
        ConfigError: the option is not valid, the extra is missing, or the key is not usable.
    """
    if config.cluster is not None and config.executor.startswith(DASK):
        raise ConfigError("--cluster local:N and --executor dask:… name two clusters; omit one of them")
    check_extra()
    if config.cluster is not None:
        num = config.cluster.removeprefix(_LOCAL)
        if not config.cluster.startswith(_LOCAL) or not num.isdigit() or int(num) < 1:
            raise ConfigError(f"--cluster {config.cluster} is not valid; write local:N, such as local:2")
        return Machines(None, int(num))
    if config.concurrency:
        raise ConfigError(
            "--concurrency is for matches on this machine; arena worker --slots N sets how many a worker "
            "machine plays at once"
        )
    from arena.executor.cluster.key_files import find_place

    return Machines(
        find_place(config.executor.removeprefix(DASK), Path(config.keys) if config.keys else None), 0
    )


def check_extra() -> None:
    """Check that the dependencies of worker machines are installed.

    Raises:
        ConfigError: they are not.
    """
    # Without importing them, which takes long.
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        raise ConfigError("worker machines need an extra of the arena; pip install 'bot-arena[cluster]'")


def check_machines(config: MachineOptions) -> None:
    """Check that the scheduler of the worker machines answers, if there is one; waits at most 4 s.

    Raises:
        ConfigError: as `find_machines`, the scheduler does not answer, or a key is given without a scheduler.
    """
    if config.keys is not None and not config.executor.startswith(DASK):
        # Refused, because the matches would be played here by a user who believes that machines play them.
        raise ConfigError("--keys is for worker machines; add --executor dask:tls://HOST:PORT, or omit it")
    if not has_machines(config):
        return
    place = find_machines(config).place
    if place is not None:
        from arena.executor.cluster.key_files import try_place

        try_place(place)


def open_pool(plan: Plan, num_workers: int, folder: Path) -> Pool:
    """Return the pool that plays a plan.

    Args:
        plan: what is played.
        num_workers: number of concurrent matches on this machine.
        folder: for temporary files.

    Raises:
        ConfigError: as `find_machines`.
        ArenaError: the cluster of this run does not start.
    """
    config = plan.config
    if not has_machines(config):
        return make_pool(config.executor, num_workers, folder)
    machines = find_machines(config)
    # Imported here and below: these modules need an extra that may be missing, and take long to import.
    from arena.executor.cluster.facts import wanted_of
    from arena.executor.cluster.pool import ClusterPool
    from arena.executor.cluster.private import PrivateCluster

    wanted = wanted_of(plan.tier, config.game, speed_rule(plan))
    if machines.place is not None:
        return ClusterPool(machines.place, wanted)
    # `num_workers` instead of `num_slots`: the caller lowers it if fewer matches are left to play.
    cluster = PrivateCluster(num_workers, folder)
    return ClusterPool(cluster.place, wanted, cluster=cluster, expected=num_workers)


class ShardPlan(NamedTuple):
    """What a training computes in slots."""

    machines: TrainingMachines
    """Where the shards are computed."""
    trainer: str
    """Name of the trainer."""
    game: str
    """Spec of the game."""
    run: str
    """Name of the run."""


def open_shards(plan: ShardPlan, device: str, folder: Path) -> ShardPool:
    """Return the pool that computes the shards of a training.

    Args:
        plan: what is computed.
        device: cpu, cuda or any.
        folder: for temporary files.

    Raises:
        ConfigError: as `find_machines`.
        ArenaError: the cluster of this run does not start.
    """
    if not has_machines(plan.machines):
        return LocalShards(folder)
    machines = find_machines(plan.machines)
    from arena.executor.cluster.facts import wanted_of_shards
    from arena.executor.cluster.private import PrivateCluster
    from arena.executor.cluster.shard_run import ClusterShards

    wanted = wanted_of_shards(plan.trainer, plan.game, device)
    command = f"arena train --resume {plan.run}"
    if machines.place is not None:
        return ClusterShards(machines.place, wanted, resume_command=command)
    cluster = PrivateCluster(machines.num_slots, folder)
    return ClusterShards(
        cluster.place, wanted, resume_command=command, cluster=cluster, expected=machines.num_slots
    )


def speed_rule(plan: Plan) -> SpeedRule:
    """Return the rule for machines of different speed; by default `pin` if the limit of a bot is a time."""
    if plan.config.speed is not None:
        return plan.config.speed
    limits = [bot.limit or plan.limit for bot in plan.competitors]
    # A number of nodes is the same search on any machine, a time is not.
    return "ignore" if all(limit.is_nodes_alone for limit in limits) else "pin"


def check_speed(config: TournamentConfig) -> None:
    """Check that there are machines whose speeds can differ, if times are to be scaled.

    Raises:
        ConfigError: there are none.
    """
    if config.speed == "scale" and not config.executor.startswith(DASK):
        raise ConfigError(
            "--speed scale is about worker machines; add --executor dask:tls://HOST:PORT, or omit it"
        )
