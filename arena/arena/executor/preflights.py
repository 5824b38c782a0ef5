"""Preflights of many bots in parallel, so that one that hangs does not delay all others by its start time."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from arena.entrants import Competitor
from arena.executor.job import cached_game
from arena.executor.local import LocalPool
from arena.executor.preflight import preflight
from arena.executor.workspace import workspace
from arena.referee.timecontrol import TimeControl
from arena.sandbox.resources import num_cores
from arena.sandbox.tier import Tier
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from arena.referee.seats import Forfeit

_WORTH_IT = 3
"""Minimum number of bots for which workers are started: starting them takes as long as two quick preflights.
"""

_LOST = "two worker processes died while they tried it; --isolation T2 keeps a bot from killing them"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One bot to be tried; its fields are the arguments of `preflight`."""

    competitor: Competitor
    game: str
    """Spec of the game."""
    limit: TimeControl
    tier: str
    init_s: float
    opening: tuple[int, ...]


def run_preflights(entries: Sequence[Candidate], num_workers: int) -> Generator[Forfeit | Exception | None]:
    """Try all bots; yield each result in order: a fault, the exception that was raised, or None for a pass.

    If a bot would run in this process, all bots are tried one after the other. A bot whose worker died is
    tried once more in a new worker; the others continue. When the caller stops iterating, running preflights
    are aborted.

    Args:
        entries: the bots.
        num_workers: maximum number tried at once; limited to the number of cores, since bots that share cores
            make each other late.
    """
    at_once = min(num_workers, num_cores(), len(entries))
    if at_once == 1 or len(entries) < _WORTH_IT or any(each.tier == Tier.T0 for each in entries):
        yield from map(_try, entries)
        return
    with workspace() as folder, closing(LocalPool(at_once, folder)) as pool:
        futures = {pool.call(_try, each): number for number, each in enumerate(entries)}
        found: dict[int, Forfeit | Exception | None] = {}
        is_again: set[int] = set()
        try:
            for number in range(len(entries)):
                while number not in found:
                    for future in wait(futures, return_when=FIRST_COMPLETED).done:
                        tried = futures.pop(future)
                        try:
                            found[tried] = future.result()
                        except BrokenExecutor:
                            pool.rebuild()
                            if tried in is_again:
                                # A third try would have to run in this process, which the bot might kill.
                                found[tried] = PluginError(_LOST)
                            else:
                                is_again.add(tried)
                                futures[pool.call(_try, entries[tried])] = tried
                yield found.pop(number)
        finally:
            if futures:
                pool.abort()


def _try(entry: Candidate) -> Forfeit | Exception | None:
    try:
        return preflight(
            entry.competitor,
            cached_game(entry.game),
            entry.limit,
            tier=entry.tier,
            init_s=entry.init_s,
            opening=entry.opening,
        )
    except Exception as error:  # noqa: BLE001 - raised by the caller, who knows whose bot it is
        return error
