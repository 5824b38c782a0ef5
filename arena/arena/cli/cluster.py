"""`arena cluster` and `arena worker`: machines that play the matches of tournaments run elsewhere."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup

from arena.cli.options import format_option
from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COLUMNS = {
    "machine": "MACHINE",
    "state": "STATE",
    "slots": "SLOTS",
    "tier": "TIER",
    "gpus": "GPUS",
    "speed": "SPEED",
    "matches_per_min": "MATCHES/MIN",
    "lost": "LOST",
    "note": "NOTE",
}
_NUMBER_OF_CORES = 0
"""Default of --slots; `num_workers` turns it into one fewer than there are cores."""
_MAX_DISK_GIB = 1 << 30
"""An exbibyte: larger than any disk, and small enough to count in bytes."""
_keys_option = click.option(
    "--keys", type=click.Path(path_type=Path), metavar="FILE", help="The key of this machine."
)


@click.group(cls=RichGroup)
def cluster() -> None:
    """Run tournaments on many machines: make keys, start the scheduler, list the machines."""


@cluster.command(cls=RichCommand)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--renew",
    is_flag=True,
    help="Make a new authority: all older keys are refused once every machine has a new one.",
)
def keys(names: tuple[str, ...], *, renew: bool) -> None:
    """Write a key file for each machine NAME into the current folder; all belong to one cluster.

    Anybody who has one of these files can run code on every machine of the cluster: they can start a
    scheduler or a worker, and send bots to all. Copy each file to its machine only, for example with scp. If
    a file is lost, make new ones for all machines with --renew, and restart the scheduler and the workers.
    """
    from arena.cli.output import say
    from arena.coordinator.machines import check_extra

    check_extra()
    from arena.executor.cluster.certificates import make_keys

    made = make_keys(Path(), names, renew=renew)
    files = ", ".join(str(file) for file in made.files)
    say(f"wrote {files} (valid until {made.until:%Y-%m-%d}); ca.key stays here")
    say("anybody who has one of these files can run code on every machine of this cluster")


@cluster.command(cls=RichCommand)
@click.option("--bind", required=True, metavar="HOST:PORT", help="Where the scheduler listens.")
@_keys_option
def start(*, bind: str, keys: Path | None) -> None:
    """Start the scheduler, which workers and tournaments connect to; Ctrl-C ends it.

    The scheduler only passes messages on, so it needs one core of any machine that all others can reach.
    Without --keys it listens on this machine only, as in --bind 127.0.0.1:8786.
    """
    from arena.cli.output import say
    from arena.coordinator.machines import check_extra

    check_extra()
    from arena.executor.cluster.key_files import check_bind, find_place, note_cluster
    from arena.executor.cluster.scheduler import run_scheduler

    check_bind(bind)
    place = find_place(f"{'tcp' if keys is None else 'tls'}://{bind}", keys)

    def tell(address: str) -> None:
        note_cluster(address, keys)
        with_keys = "" if keys is None else " --keys FILE"
        say(f"listening at {address}; on other machines: arena worker {address}{with_keys}")

    run_scheduler(place, tell)


@cluster.command(cls=RichCommand)
@click.argument("address", required=False, metavar="[ADDRESS]")
@_keys_option
@format_option
def status(address: str | None, *, keys: Path | None, form: str) -> None:
    """List the machines of a cluster (default: the one started here last) and what each of them lacks."""
    from arena.cli.output import emit, say
    from arena.coordinator.machines import check_extra

    check_extra()
    from arena.executor.cluster.coordinator_link import ask_status, status_row
    from arena.executor.cluster.key_files import find_place, known_cluster, try_place

    known = known_cluster()
    if address is None and known is None:
        raise ConfigError(
            "no cluster was started here; write arena cluster status tls://HOST:PORT --keys FILE"
        )
    if address is None and known is not None:
        address = known.address
    place = find_place(str(address), keys)
    try_place(place)
    rows = [status_row(machine) for machine in ask_status(place)]
    if not rows and form == "table":
        with_keys = "" if place.key is None else " --keys FILE"
        say(f"no worker machine is connected; on one, run: arena worker {address}{with_keys}", err=True)
        return
    if form == "table":
        print_machines(rows)
    else:
        emit("machine", rows, form, _COLUMNS)


def print_machines(rows: Sequence[Mapping[str, object]]) -> None:
    """Print a table of machines; on a terminal that is too narrow, their notes are below it."""
    from arena.cli.output import fit_columns, print_table, say

    rows = [{**row, "speed": _two_digits(row["speed"])} for row in rows]
    has_gpus = any(row["gpus"] for row in rows)
    columns = {key: header for key, header in _COLUMNS.items() if has_gpus or key != "gpus"}
    if sys.stdout.isatty():
        columns = fit_columns(rows, columns, ["note"], shutil.get_terminal_size().columns)
    print_table(rows, columns)
    if "note" not in columns:
        for row in rows:
            if row["note"]:
                say(f"{row['machine']}: {row['note']}")


def _two_digits(speed: object) -> str | None:
    return f"{speed:.2f}" if isinstance(speed, float) else None


@click.command(cls=RichCommand)
@click.argument("address", metavar="ADDRESS")
@_keys_option
@click.option(
    "--slots",
    type=int,
    metavar="N",
    help="Matches at once.  [default: cores - 1]",
)
@click.option(
    "--gpu",
    metavar="ID,…",
    help="GPUs for self-play, one slot each, as in --gpu 0,1; --slots then defaults to their number.",
)
@click.option(
    "--disk", type=float, default=20.0, show_default=True, metavar="GIB", help="Disk quota for bots."
)
def worker(address: str, *, keys: Path | None, slots: int | None, gpu: str | None, disk: float) -> None:
    """Work for the tournaments and trainings of the cluster at ADDRESS, tls://HOST:PORT, until Ctrl-C.

    This machine opens no port; it only needs to reach ADDRESS. Bots are sent to it, and run in the same
    sandbox as on any other machine (see arena doctor). The first Ctrl-C or SIGTERM lets running matches end;
    the second aborts them, and they are played again on other machines.
    """
    from arena.cli.output import say
    from arena.coordinator.machines import check_extra

    check_extra()
    from arena.executor.cluster.facts import find_facts
    from arena.executor.cluster.hardware import find_gpus
    from arena.executor.cluster.key_files import find_place, try_place
    from arena.executor.cluster.setups import SupervisorSetup
    from arena.executor.cluster.speed import Measurement
    from arena.executor.cluster.supervisor import Supervisor
    from arena.executor.cores import num_workers
    from arena.sandbox.resources import num_cores

    if slots is not None and slots < 1:
        raise ConfigError(f"--slots {slots} plays nothing; use 1 or more, or leave it out for cores - 1")
    if not 0 < disk < _MAX_DISK_GIB:  # false for NaN, too
        raise ConfigError(f"--disk {disk:g} is no room for bots; write GiB, such as --disk 20")
    ids = tuple(gpu.split(",")) if gpu is not None else ()
    gpus = find_gpus(ids)
    if slots is not None and slots < len(ids):
        raise ConfigError(
            f"--slots {slots} is fewer than the {len(ids)} GPUs of --gpu, which have a slot each"
        )
    place = find_place(address, keys)
    try_place(place)
    num = num_workers(slots or len(ids) or _NUMBER_OF_CORES, num_cores())
    setup = SupervisorSetup(
        address=place.address,
        keys="" if keys is None else str(keys.absolute()),
        facts=find_facts(num, Measurement(num).result(), gpus),
        gpus=ids,
        quota=round(disk * (1 << 30)),
    )
    Supervisor(setup, say).run()
