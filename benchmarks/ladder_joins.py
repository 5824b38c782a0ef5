"""Joins 50 bots to a running ladder within ten seconds, and measures how soon each of them plays.

The bots are those of `ladder_hour.py`: small agents, each in a process of its own. Two workers cannot play 50
matches at once. So the trial measures how long a worker was idle while a bot that had joined waited for its
first match, and how many pairs without such a bot were played before. It prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from ladder_hour import FAILURES, LadderHour
from simulated.ladder_facts import LadderFacts

from arena.coordinator import joining
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulated.ladder_facts import Played

_WORKERS = 2
_WITHIN_S = 10.0
_MOST_IDLE_S = 1.0
_BEFORE_S = 10.0
"""Seconds that the ladder plays before the first bot joins."""
_DEADLINE_S = 3000.0
"""Timeout in seconds: long enough for a busy machine, so that only a hang exceeds it."""


def main() -> None:
    """Print the figures; fail if one that must be 0 is not, or if a worker waited too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bots", type=int, default=50, help="that join")
    parser.add_argument("--seed", type=int, default=1, help="of how well they play")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ladder = LadderJoins(Path(folder), arguments.seed)
        try:
            figures = ladder.joined_by(arguments.bots)
        finally:
            ladder.end()
    print(json.dumps(figures))
    is_late = figures["joins_took_s"] > _WITHIN_S or figures["longest_idle_s"] > _MOST_IDLE_S
    sys.exit(is_late or any(figures[key] for key in FAILURES))


class LadderJoins(LadderHour):
    """A ladder that many bots join at once."""

    def joined_by(self, num: int) -> dict[str, float]:
        """Join `num` bots, and stop the ladder once each of them has played."""
        # Newcomers must be kept in the home of the coordinator.
        os.environ.update(self.environment())
        self.begin()
        time.sleep(_BEFORE_S)
        labels = [self.write(100 + number) for number in range(num)]
        took = self._join_all(labels)
        self._await_first_matches(set(labels))
        self.stop()
        figures = self.judge()
        with Store.open(self.store, read_only=True) as store:
            facts = LadderFacts.of(store, self.name)
        seats = {one.seat for one in facts.entrants if one.joined}
        waits = [each.wait_s for each in facts.first_matches(())]
        firsts = {seat: min(one.began for one in facts.played if seat in one.seats) for seat in seats}
        began = min(each.made_at for each in facts.changes if each.kind == "join")
        found = {
            "joined": len(seats),
            "joins_took_s": round(took, 2),
            "first_wait_s": round(min(waits), 2),
            "last_wait_s": round(max(waits), 2),
            "longest_idle_s": round(longest_idle(facts.played, began, max(firsts.values()), _WORKERS), 3),
            "pairs_before": pairs_before(facts.played, firsts, began),
        }
        return found | {key: float(str(figures[key])) for key in ("matches", *FAILURES)}

    def _join_all(self, labels: Sequence[str]) -> float:
        """Join bots at even intervals, as `arena ladder join` does; return the seconds it took."""
        began = time.monotonic()
        for number, label in enumerate(labels):
            time.sleep(max(0.0, began + number * _WITHIN_S / (len(labels) + 5) - time.monotonic()))
            with Store.open(self.store) as store:
                record = joining.find_open_ladder(store, self.name)
                rest = joining.plan_join(store, record, self.specs[label])
                joining.join(store, record, rest, reason="in a crowd")
        return time.monotonic() - began

    def _await_first_matches(self, labels: set[str]) -> None:
        """Wait until each of these bots has played a pair."""
        deadline = time.monotonic() + _DEADLINE_S
        while time.monotonic() < deadline:
            with Store.open(self.store, read_only=True) as store:
                facts = LadderFacts.of(store, self.name)
            seats = {one.seat for one in facts.entrants if one.label in labels}
            if all(sum(seat in one.seats for one in facts.played) > 1 for seat in seats):
                return
            time.sleep(1.0)
        raise RuntimeError("a bot that joined does not play")


def longest_idle(played: Sequence[Played], begin: float, end: float, num_workers: int) -> float:
    """Return the longest time, in seconds, that a worker was idle.

    The store does not say which worker played a match; the one that was free longest is assumed.

    Args:
        played: matches with a result.
        begin: when the first bot joined, seconds since the epoch.
        end: when the last of them began to play.
        num_workers: matches at once.
    """
    free = deque([begin] * num_workers)
    idle, num_owed = [0.0], 0
    # Of the same moment, ends come first.
    for at, is_start in sorted([(one.ended, 0) for one in played] + [(one.began, 1) for one in played]):
        if at > end:
            break
        if is_start and free:
            idle.append(at - free.popleft())
        elif is_start:
            num_owed += 1
        elif num_owed:
            # Clocks of two processes differ a little: one more match than workers seemed to be played.
            num_owed -= 1
        else:
            free.append(max(at, begin))
    return max(*idle, *(end - since for since in free))


def pairs_before(played: Sequence[Played], firsts: dict[int, float], begin: float) -> int:
    """Return how many pairs began without a bot that had not played, while such a bot waited.

    Pairs that were planned before count, too: those being played end first.
    """
    last = max(firsts.values())
    pairs: dict[int, tuple[float, bool]] = {}
    for one in played:
        began, is_first = pairs.get((one.number - 1) // 2, (one.began, False))
        is_first |= any(firsts.get(seat, 0.0) == one.began for seat in one.seats)
        pairs[(one.number - 1) // 2] = min(began, one.began), is_first
    return sum(begin < at < last and not is_first for at, is_first in pairs.values())


if __name__ == "__main__":
    main()
