"""Cuts the power of a simulated disk while a store is written, and counts the losses of each sync mode."""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from bisect import bisect
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from simulated.cup import add_cup, match
from simulated.driver import driver
from simulated.images import Disk
from simulated.recorder import Mark, Op, Recorder, Sync

from arena_db.access import Access
from arena_db.backend.sqlite.engine import FileSettings
from arena_db.backend.sqlite.opening import prepare
from arena_db.errors import DatabaseError
from arena_db.records import LiveEvent
from arena_db.store import Store

MATCHES = 2500
ROUNDS = 4
"""Number of times that the store is opened, written and closed; closing checkpoints and removes its log."""
BATCHES = (1, 1, 2, 3, 5, 50)
"""Matches of one transaction."""


class Recording(NamedTuple):
    """The operations requested of the disk while a store was written."""

    start: dict[str, bytes]
    """Contents of the files before the recording."""
    ops: list[Op]
    ends: list[int]
    """Number of matches stored after each transaction."""


def main() -> None:
    """Simulate the requested number of power cuts and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000, help="cuts per mode")
    parser.add_argument("--matches", type=int, default=MATCHES)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    figures: dict[str, object] = {"images": arguments.images, "matches": arguments.matches}
    for mode in ("full", "normal", "lying_disk"):
        with tempfile.TemporaryDirectory() as folder:
            recording = record(Path(folder), arguments.matches, arguments.seed, fast=mode == "normal")
        if mode == "lying_disk":
            # The control: if syncs are ignored, these cuts must damage stores.
            recording = recording._replace(ops=[op for op in recording.ops if not isinstance(op, Sync)])
        figures[mode] = cut_often(recording, arguments.images, arguments.seed)
    print(json.dumps({**figures, "wall_s": round(time.monotonic() - began, 1)}))


def record(folder: Path, num_matches: int, seed: int, *, fast: bool) -> Recording:
    """Write a store over a recording disk, in transactions of several sizes."""
    path, disk = folder / "arena.db", Recorder("recorder")
    settings = FileSettings(place=path, fast=fast, driver=driver("recorder"))
    prepare(settings, create=True)
    with Store(Access(settings)) as store:
        entrants, plan, tournament = add_cup(store, num_matches)
    start = {file.name: file.read_bytes() for file in folder.iterdir()}
    disk.ops.clear()
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    sizes: list[int] = []
    while sum(sizes) < num_matches:
        sizes.append(min(chance.choice(BATCHES), num_matches - sum(sizes)))
    ends = [0, *accumulate(sizes)]
    store = Store(Access(settings))
    for index, (first, last) in enumerate(pairwise(ends), 1):
        if index % (len(sizes) // ROUNDS) == 0:
            store.close()
            store = Store(Access(settings))
        store.tournaments.set_state(tournament, "running")
        # Events are written without a sync: the durability of a match must not depend on them.
        store.events.append([LiveEvent(tournament=tournament, number=ends[index], kind="move", t=0.0)])
        store.matches.save([match(tournament, planned, entrants) for planned in plan[first:last]])
        disk.ops.append(Mark(index))
    store.close()
    disk.unregister()
    return Recording(start, disk.ops, ends)


def cut_often(recording: Recording, num_images: int, seed: int) -> dict[str, int]:
    """Cut the power at points spread over the recording; count what went wrong."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    cuts = sorted(chance.randrange(len(recording.ops) + 1) for _ in range(num_images))
    figures: dict[str, int] = dict.fromkeys(
        ("acknowledged", "lost", "most_lost", "images_with_loss", "not_a_prefix", "corrupt"), 0
    )
    disk, played, acknowledged = Disk(recording.start), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arena.db")
        for cut in cuts:
            for op in recording.ops[played:cut]:
                disk.play(op)
                acknowledged = op.num if isinstance(op, Mark) else acknowledged
            played = cut
            for name, content in disk.cut(chance).items():
                path.with_name(name).write_bytes(content)
            _judge(path, recording.ends, recording.ends[acknowledged], figures)
            for file in path.parent.iterdir():
                file.unlink()
    return figures


def _judge(path: Path, ends: list[int], acknowledged: int, figures: dict[str, int]) -> None:
    """Open the remaining files as any program would and count what is missing."""
    figures["acknowledged"] += acknowledged
    try:
        with Store.open(path, create=False) as store:
            numbers = [found.number for found in store.matches.of_tournament(1)]
            is_sound = not store.integrity.check()
    except DatabaseError:
        figures["corrupt"] += 1
        return
    figures["corrupt"] += not is_sound
    figures["not_a_prefix"] += numbers != list(range(1, ends[bisect(ends, len(numbers)) - 1] + 1))
    lost = max(0, acknowledged - len(numbers))
    figures["lost"] += lost
    figures["most_lost"] = max(figures["most_lost"], lost)
    figures["images_with_loss"] += lost > 0


if __name__ == "__main__":
    main()
