"""A slot that sends invalid results; a program whose argument is the setup of the slot."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from arena.executor.cluster.key_files import find_place
from arena.executor.cluster.messages import ResultPart, RunShard, ShardPart
from arena.executor.cluster.setups import SlotSetup
from arena.executor.cluster.slot import Jobs
from arena.executor.cluster.slot_link import SlotLink
from arena.executor.worker import SlotCallbacks, make_control, play_batch

if TYPE_CHECKING:
    from arena_db.records import MatchRecord


VICES = ("opening", "seed", "action", "tournament", "garbage", "twice", "flood")
"""The faults in the answers to successive batches."""


def lie(vice: str, record: MatchRecord) -> MatchRecord:
    """Return the invalid record that is sent instead of `record`."""
    changes: dict[str, dict[str, Any]] = {
        "opening": {"num_opening": record.num_opening + 1},
        "seed": {"seed_first": record.seed_first + 1},
        "action": {"actions": (*record.actions[:-1], 99)},
        "tournament": {"tournament": record.tournament + 1},
    }
    return dataclasses.replace(record, **changes.get(vice, {}))


def lie_about(shard: RunShard, link: SlotLink) -> None:
    """Answer a shard with a wrong hash or missing parts, as its data say."""
    if shard.task.data == b"hash":
        link.deliver_shard(b"a result")
        link.finish_shard(sha256="0" * 64)
    else:
        link.say(ShardPart(shard.run, shard.batch, 1, b"the second part"))
        link.finish_shard()


def main() -> None:
    """Join the cluster, and answer each batch with another fault."""
    setup = msgspec.json.decode(sys.argv[1], type=SlotSetup)
    place = find_place(setup.address, Path(setup.keys))
    link = SlotLink(setup.slot, place, setup.facts, Path(setup.folder))
    link.start()
    jobs = Jobs(link, setup.quota, None)
    control = make_control(SlotCallbacks(setup.slot))
    vices = iter(VICES)
    while (play := link.next_work()) is not None:
        if isinstance(play, RunShard):
            lie_about(play, link)
            continue
        vice = next(vices)
        records = [lie(vice, record) for record in play_batch(jobs.of(play), control)]
        if vice in {"garbage", "flood"}:
            size = 100 << 20 if vice == "flood" else 100
            link.say(ResultPart(play.run, play.batch, 0, 1, b"\xc1" * size))
        else:
            link.deliver(records * (1 + (vice == "twice")))
        if vice != "flood":
            link.finish()


if __name__ == "__main__":
    main()
